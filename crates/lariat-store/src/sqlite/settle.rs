//! Keeps the summaries in `sessions` up to date.
//!
//! A row of `sessions` has the fold of its session with everything that a listing needs. Appends update the fold in
//! memory only. The row is written ("settled") with the first append, every [`SETTLE_INTERVAL`] events, before a
//! listing and at the end.
//! Invariant: a row that is not marked `unsettled` includes all events of its session.

use lariat_core::archive::SessionSummary;
use lariat_core::id::SessionId;
use lariat_core::store::StoreError;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::fault::SqliteFault;
use super::rows::{self, JournalEnd, SessionRow, int};
use super::transaction::{CachedSession, WriteTransaction};
use crate::SUMMARY_INTERVAL;
use crate::record::Chain;

/// Number of events after which a row is written again. After a crash, at most this many events are folded again and
/// searched for the end of the journal. Adds one page write per 256 events.
pub(super) const SETTLE_INTERVAL: u64 = 256;

/// What happens to a session after it was settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SettleMode {
    /// More events may follow: the row stays marked as unsettled, so that they need not mark it again.
    KeepOpen,
    /// The writer drops the session from its cache and clears the mark.
    Close,
}

/// Serializes a summary for its row.
pub(super) fn to_json(summary: &SessionSummary) -> Result<String, SqliteFault> {
    serde_json::to_string(summary)
        .map_err(|error| SqliteFault::Refused(StoreError::Damaged(error.to_string())))
}

/// Reads the summary of a session's row.
pub(super) fn summary(connection: &Connection, no: i64) -> Result<SessionSummary, SqliteFault> {
    let mut statement = connection.prepare_cached("SELECT id, parent, summary FROM sessions WHERE no = ?")?;
    Ok(statement.query_row([no], read)?)
}

/// Reads a summary from `id, parent, summary`. Treats an unreadable summary as empty, so that it is folded again.
pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<SessionSummary> {
    if let Ok(summary) = serde_json::from_slice(row.get_ref(2)?.as_bytes().unwrap_or_default()) {
        return Ok(summary);
    }
    let parent: Option<String> = row.get(1)?;
    Ok(empty(SessionId::from(row.get::<_, String>(0)?), parent.map(SessionId::from)))
}

/// Returns an empty summary that still names the parent of a fork.
pub(super) fn empty(session_id: SessionId, parent: Option<SessionId>) -> SessionSummary {
    let mut summary = SessionSummary::new(session_id);
    summary.parent = parent;
    summary
}

/// Folds the first `head` events of a session, starting from the summary in its row.
pub(super) fn fold(
    connection: &Connection,
    session: &SessionRow,
    head: u64,
) -> Result<SessionSummary, SqliteFault> {
    let mut summary = summary(connection, session.no)?;
    if summary.events < head {
        let segments = rows::segments(connection, session, head)?;
        let missing = summary.events..head;
        rows::walk(connection, &segments, &missing, |found| {
            match rows::event(connection, found) {
                Ok(event) => summary.apply(&event),
                // Include an unreadable event in the number of events.
                Err(SqliteFault::Refused(_)) => summary.events += 1,
                Err(failed) => return Err(failed),
            }
            Ok(())
        })?;
    }
    Ok(summary)
}

/// Stores the fold of a session if its number of events is one that forks start from.
pub(super) fn store_fold(connection: &Connection, session: &CachedSession) -> Result<(), SqliteFault> {
    let events = session.summary.events;
    if events.is_multiple_of(SUMMARY_INTERVAL) {
        connection
            .prepare_cached("INSERT OR REPLACE INTO folds (no, seq, summary) VALUES (?, ?, ?)")?
            .execute(params![session.no, int(events), to_json(&session.summary)?])?;
    }
    Ok(())
}

/// Returns the newest stored fold of at most `events` events, of a session or of its ancestors.
pub(super) fn stored_fold(
    connection: &Connection,
    session: &SessionRow,
    events: u64,
) -> Result<Option<SessionSummary>, SqliteFault> {
    let (mut at, mut at_most) = (session.clone(), events);
    loop {
        let mut statement = connection.prepare_cached(
            "SELECT summary FROM folds WHERE no = ? AND seq <= ? ORDER BY seq DESC LIMIT 1",
        )?;
        let kept: Option<String> = statement.query_row([at.no, int(at_most)], |row| row.get(0)).optional()?;
        // A session's own fold is newer than those of its ancestors. Treat an unreadable fold as missing.
        if let Some(kept) = kept {
            return Ok(serde_json::from_str(&kept).ok());
        }
        at_most = at_most.min(at.fork_seq);
        match at.fork_of {
            Some(parent) if at_most > 0 => at = SessionRow::at(connection, parent)?,
            _ => return Ok(None),
        }
    }
}

/// Writes the cached state of a session to its row. Returns whether the row is complete.
pub(super) fn settle(
    connection: &Connection,
    session: &mut CachedSession,
    mode: SettleMode,
) -> Result<bool, SqliteFault> {
    let complete = session.summary.events == session.head;
    let marked = mode == SettleMode::KeepOpen && session.unsettled || !complete;
    let current = session.settled == session.head && session.folded == session.summary.events;
    if !current || session.unsettled != marked {
        write(connection, session.no, session.head, session.chain, &session.summary, marked)?;
        (session.settled, session.folded) = (session.head, session.summary.events);
        session.unsettled = marked;
    }
    Ok(complete)
}

fn write(
    connection: &Connection,
    no: i64,
    head: u64,
    chain: Chain,
    summary: &SessionSummary,
    unsettled: bool,
) -> Result<(), SqliteFault> {
    let mut statement = connection.prepare_cached(
        "UPDATE sessions SET head = ?2, chain = ?3, unsettled = ?4, folded = ?5, summary = ?6, last_active = ?7,
         cwd = ?8, parent = ?9 WHERE no = ?1",
    )?;
    statement.execute(params![
        no,
        int(head),
        chain.as_bytes(),
        unsettled,
        int(summary.events),
        to_json(summary)?,
        int(summary.last_active_at.as_millis()),
        summary.cwd,
        summary.parent.as_ref().map(SessionId::as_str),
    ])?;
    Ok(())
}

/// A summary that a reader folded and the writer has to store.
#[derive(Clone, Debug)]
pub(super) struct FoldedSummary {
    pub(super) no: i64,
    pub(super) summary: SessionSummary,
}

/// Folds the sessions whose rows may be outdated, except those that the writer has just settled.
pub(super) fn fold_unsettled(
    connection: &Connection,
    settled: &[i64],
) -> Result<Vec<FoldedSummary>, SqliteFault> {
    let mut statement =
        connection.prepare_cached("SELECT no FROM sessions WHERE unsettled AND kept IS NULL")?;
    let numbers: Vec<i64> = statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let mut folded = Vec::new();
    for no in numbers.into_iter().filter(|no| settled.binary_search(no).is_err()) {
        let session = SessionRow::at(connection, no)?;
        let head = JournalEnd::of(connection, &session)?.head;
        folded.push(FoldedSummary { no, summary: fold(connection, &session, head)? });
    }
    Ok(folded)
}

/// Writes summaries that a reader folded, unless their sessions have changed since.
pub(super) fn store(
    transaction: &mut WriteTransaction<'_>,
    folded: &[FoldedSummary],
) -> Result<(), SqliteFault> {
    for FoldedSummary { no, summary } in folded {
        let id = &summary.session_id;
        let session = match transaction.session(id) {
            Ok(session) => session,
            // Deleted meanwhile.
            Err(SqliteFault::Refused(StoreError::NotFound(_))) => continue,
            Err(other) => return Err(other),
        };
        if session.no == *no && session.head == summary.events {
            session.summary.clone_from(summary);
            let connection = transaction.connection;
            settle(connection, transaction.session(id)?, SettleMode::Close)?;
        }
    }
    Ok(())
}

/// Returns the summary of one session, folded up to its last event.
pub(super) fn current_summary(
    connection: &Connection,
    session_id: &SessionId,
) -> Result<Option<SessionSummary>, SqliteFault> {
    let Some(session) = SessionRow::existing(connection, session_id)? else { return Ok(None) };
    let head = JournalEnd::of(connection, &session)?.head;
    fold(connection, &session, head).map(Some)
}

/// Resets all summaries so that they are folded again. Keeps the parents of forks.
pub(super) fn reset(transaction: &mut WriteTransaction<'_>) -> Result<(), SqliteFault> {
    let connection = transaction.connection;
    transaction.forget_all();
    connection.execute_batch("DELETE FROM folds")?;
    let mut statement = connection.prepare("SELECT no FROM sessions WHERE kept IS NULL")?;
    let numbers: Vec<i64> = statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    for no in numbers {
        let session = SessionRow::at(connection, no)?;
        let JournalEnd { head, chain, .. } = JournalEnd::of(connection, &session)?;
        let before = summary(connection, no)?;
        write(connection, no, head, chain, &empty(before.session_id, before.parent), head > 0)?;
    }
    Ok(())
}
