//! The summaries in `sessions`, and when they are written.
//!
//! Owns the fold of a session as its row keeps it, with everything a listing asks for. Appends keep the fold in mind and
//! leave the row behind; it is written with the first append, every [`EVERY`] events, before a listing and at the end.
//! Invariant: a row that is not marked `unsettled` counts all events of its session.

use lariat_core::archive::SessionSummary;
use lariat_core::id::SessionId;
use lariat_core::store::StoreError;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::desk::{Desk, Session};
use super::fault::Fault;
use super::rows::{self, SessionRow, Tail, int};
use crate::FOLDED;
use crate::record::Chain;

/// Events after which a row is written again: so many at most are folded anew after a crash, and looked through to find
/// a journal's end. One page in 256.
pub(super) const EVERY: u64 = 256;

/// What becomes of a session after it was settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// More events may follow: it stays marked, so that they need not mark it again.
    GoOn,
    /// It is forgotten: the mark is taken away.
    Forget,
}

/// A summary as its row keeps it.
pub(super) fn written(summary: &SessionSummary) -> Result<String, Fault> {
    serde_json::to_string(summary).map_err(|error| Fault::Refused(StoreError::Damaged(error.to_string())))
}

/// The summary in a row.
pub(super) fn summary(connection: &Connection, no: i64) -> Result<SessionSummary, Fault> {
    let mut statement = connection.prepare_cached("SELECT id, parent, summary FROM sessions WHERE no = ?")?;
    Ok(statement.query_row([no], read)?)
}

/// A summary from `id, parent, summary`. One that cannot be read is as good as none: it is folded anew.
pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<SessionSummary> {
    if let Ok(summary) = serde_json::from_slice(row.get_ref(2)?.as_bytes().unwrap_or_default()) {
        return Ok(summary);
    }
    let parent: Option<String> = row.get(1)?;
    Ok(empty(SessionId::from(row.get::<_, String>(0)?), parent.map(SessionId::from)))
}

/// A summary of nothing, which still says where the session came from.
pub(super) fn empty(session_id: SessionId, parent: Option<SessionId>) -> SessionSummary {
    let mut summary = SessionSummary::new(session_id);
    summary.parent = parent;
    summary
}

/// The fold of the first `head` events of a session, from what its row has.
pub(super) fn fold(
    connection: &Connection,
    session: &SessionRow,
    head: u64,
) -> Result<SessionSummary, Fault> {
    let mut summary = summary(connection, session.no)?;
    if summary.events < head {
        let segments = rows::segments(connection, session, head)?;
        let missing = summary.events..head;
        rows::walk(connection, &segments, &missing, |found| {
            match rows::event(connection, found) {
                Ok(event) => summary.apply(&event),
                // What cannot be read says nothing, but it is an event.
                Err(Fault::Refused(_)) => summary.events += 1,
                Err(failed) => return Err(failed),
            }
            Ok(())
        })?;
    }
    Ok(summary)
}

/// Keeps the fold of a session, if it is one of those that forks begin with.
pub(super) fn keep_fold(connection: &Connection, session: &Session) -> Result<(), Fault> {
    let events = session.summary.events;
    if events.is_multiple_of(FOLDED) {
        connection
            .prepare_cached("INSERT OR REPLACE INTO folds (no, seq, summary) VALUES (?, ?, ?)")?
            .execute(params![session.no, int(events), written(&session.summary)?])?;
    }
    Ok(())
}

/// The newest fold of at most `events` events that was kept, of a session or of what it shares.
pub(super) fn kept_fold(
    connection: &Connection,
    session: &SessionRow,
    events: u64,
) -> Result<Option<SessionSummary>, Fault> {
    let (mut at, mut at_most) = (session.clone(), events);
    loop {
        let mut statement = connection.prepare_cached(
            "SELECT summary FROM folds WHERE no = ? AND seq <= ? ORDER BY seq DESC LIMIT 1",
        )?;
        let kept: Option<String> = statement.query_row([at.no, int(at_most)], |row| row.get(0)).optional()?;
        // What a session has itself is newer than what it shares. One that cannot be read is as good as none.
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

/// Writes what is in mind about a session into its row. True when the row is all there is to say.
pub(super) fn settle(connection: &Connection, session: &mut Session, then: Then) -> Result<bool, Fault> {
    let complete = session.summary.events == session.head;
    let marked = then == Then::GoOn && session.unsettled || !complete;
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
) -> Result<(), Fault> {
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
        written(summary)?,
        int(summary.last_active_at.as_millis()),
        summary.cwd,
        summary.parent.as_ref().map(SessionId::as_str),
    ])?;
    Ok(())
}

/// A summary that a reader folded, to be written.
#[derive(Clone, Debug)]
pub(super) struct Folded {
    pub(super) no: i64,
    pub(super) summary: SessionSummary,
}

/// Sessions whose rows may be behind, folded; but for those that the writer has settled.
pub(super) fn fold_unsettled(connection: &Connection, settled: &[i64]) -> Result<Vec<Folded>, Fault> {
    let mut statement =
        connection.prepare_cached("SELECT no FROM sessions WHERE unsettled AND kept IS NULL")?;
    let numbers: Vec<i64> = statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let mut folded = Vec::new();
    for no in numbers.into_iter().filter(|no| settled.binary_search(no).is_err()) {
        let session = SessionRow::at(connection, no)?;
        let head = Tail::of(connection, &session)?.head;
        folded.push(Folded { no, summary: fold(connection, &session, head)? });
    }
    Ok(folded)
}

/// Writes summaries that were folded by a reader, as far as they are still news.
pub(super) fn store(desk: &mut Desk<'_>, folded: &[Folded]) -> Result<(), Fault> {
    for Folded { no, summary } in folded {
        let id = &summary.session_id;
        let session = match desk.session(id) {
            Ok(session) => session,
            // Deleted meanwhile.
            Err(Fault::Refused(StoreError::NotFound(_))) => continue,
            Err(other) => return Err(other),
        };
        if session.no == *no && session.head == summary.events {
            session.summary.clone_from(summary);
            let connection = desk.connection;
            settle(connection, desk.session(id)?, Then::Forget)?;
        }
    }
    Ok(())
}

/// The summary of one session, from its row or folded.
pub(super) fn of(connection: &Connection, session_id: &SessionId) -> Result<Option<SessionSummary>, Fault> {
    let Some(session) = SessionRow::existing(connection, session_id)? else { return Ok(None) };
    let head = Tail::of(connection, &session)?.head;
    fold(connection, &session, head).map(Some)
}

/// Takes all summaries away, to be folded anew. What says where a fork came from stays.
pub(super) fn reset(desk: &mut Desk<'_>) -> Result<(), Fault> {
    let connection = desk.connection;
    desk.forget_all();
    connection.execute_batch("DELETE FROM folds")?;
    let mut statement = connection.prepare("SELECT no FROM sessions WHERE kept IS NULL")?;
    let numbers: Vec<i64> = statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    for no in numbers {
        let session = SessionRow::at(connection, no)?;
        let Tail { head, chain, .. } = Tail::of(connection, &session)?;
        let before = summary(connection, no)?;
        write(connection, no, head, chain, &empty(before.session_id, before.parent), head > 0)?;
    }
    Ok(())
}
