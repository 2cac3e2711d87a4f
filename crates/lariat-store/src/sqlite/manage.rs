//! Forks and deletes sessions, collects garbage and stores snapshots.
//!
//! A fork references the session that wrote the event before its first own one. A deleted session records in `kept` how
//! many of its events such forks still need. Invariant: `kept` is exact after every deletion, so garbage collection does
//! not have to compute it.

use std::time::Duration;

use lariat_core::archive::{GarbageReport, SessionSummary};
use lariat_core::id::SessionId;
use lariat_core::store::{Snapshot, StoreError};
use rusqlite::{Connection, OptionalExtension, params};

use super::fault::{SqliteFault, no_session};
use super::list;
use super::projection;
use super::rows::{self, SessionRow, int, uint};
use super::settle;
use super::transaction::{NewSession, WriteTransaction};
use crate::record::Chain;

/// Number of snapshots kept per session.
const SNAPSHOTS: i64 = 4;

/// Creates a session that shares the first `at_seq` events of another.
pub(super) fn fork(
    transaction: &mut WriteTransaction<'_>,
    from: &SessionId,
    at_seq: u64,
    to: &SessionId,
) -> Result<(), SqliteFault> {
    let connection = transaction.connection;
    let parent = SessionRow::existing(connection, from)?.ok_or_else(|| no_session(from))?;
    let session = transaction.session(from)?;
    let (head, summary) = (session.head, session.summary.clone());
    if at_seq > head {
        return Err(StoreError::Conflict { expected: at_seq, actual: head }.into());
    }
    match SessionRow::of(connection, to)? {
        Some(there) if there.kept.is_some() => return Err(no_session(to)),
        Some(_) => return Err(StoreError::Conflict { expected: 0, actual: transaction.head(to)? }.into()),
        None => {}
    }
    let (fork_of, base) = match at_seq.checked_sub(1) {
        Some(last) => owner_and_chain(connection, &parent, last)?,
        None => (None, root(connection, parent.clone())?.base),
    };
    let mut summary = match summary.events <= at_seq {
        true => summary,
        false => settle::stored_fold(connection, &parent, at_seq)?
            .unwrap_or_else(|| SessionSummary::new(to.clone())),
    };
    summary.session_id = to.clone();
    summary.parent = Some(from.clone());
    transaction.create(&NewSession {
        session_id: to,
        epoch: 0,
        fork_of,
        fork_seq: at_seq,
        base,
        summary: &summary,
    })?;
    transaction.changes.push((to.clone(), Some(at_seq)));
    Ok(())
}

/// Returns the session that wrote this event, and the chain after the event.
fn owner_and_chain(
    connection: &Connection,
    session: &SessionRow,
    seq: u64,
) -> Result<(Option<i64>, Chain), SqliteFault> {
    let segments = rows::segments(connection, session, seq + 1)?;
    let mut chain = None;
    rows::walk(connection, &segments, &(seq..seq + 1), |found| {
        chain = found.record.filter(crate::record::SealedRecord::is_whole).map(|record| record.chain);
        Ok(())
    })?;
    let damaged = || StoreError::Damaged(format!("event {seq} is missing or damaged"));
    Ok((segments.last().map(|segment| segment.no), chain.ok_or_else(damaged)?))
}

fn root(connection: &Connection, mut session: SessionRow) -> Result<SessionRow, SqliteFault> {
    while let Some(parent) = session.fork_of {
        session = SessionRow::at(connection, parent)?;
    }
    Ok(session)
}

/// Deletes a session. The events that forks share stay until no fork needs them.
pub(super) fn delete(
    transaction: &mut WriteTransaction<'_>,
    session_id: &SessionId,
) -> Result<(), SqliteFault> {
    let connection = transaction.connection;
    let session = transaction.session(session_id)?;
    let (no, head, chain) = (session.no, session.head, session.chain);
    transaction.forget(session_id);
    let kept = needed_length(connection, no)?;
    connection
        .prepare_cached("UPDATE sessions SET kept = ?2, head = ?3, chain = ?4, unsettled = 0 WHERE no = ?1")?
        .execute(params![no, int(kept), int(head), chain.as_bytes()])?;
    release(connection, SessionRow::at(connection, no)?.fork_of)?;
    transaction.unlock(no);
    transaction.changes.push((session_id.clone(), None));
    Ok(())
}

/// Updates `kept` of the deleted ancestors, because a fork needs fewer of their events now.
fn release(connection: &Connection, mut above: Option<i64>) -> Result<(), SqliteFault> {
    while let Some(no) = above {
        let session = SessionRow::at(connection, no)?;
        let kept = needed_length(connection, no)?;
        if session.kept.is_none_or(|before| before == kept) {
            break;
        }
        connection.prepare_cached("UPDATE sessions SET kept = ? WHERE no = ?")?.execute([int(kept), no])?;
        above = session.fork_of;
    }
    Ok(())
}

/// Returns how many events of a session its forks need: existing forks, and deleted forks that are needed themselves.
fn needed_length(connection: &Connection, no: i64) -> Result<u64, SqliteFault> {
    let mut statement = connection.prepare_cached(
        "SELECT coalesce(max(min(fork_seq, coalesce(kept, fork_seq))), 0) FROM sessions WHERE fork_of = ?",
    )?;
    Ok(uint(statement.query_row([no], |row| row.get(0))?))
}

/// Removes events and blobs that no session references.
pub(super) fn collect_garbage(
    transaction: &mut WriteTransaction<'_>,
    grace: Duration,
) -> Result<GarbageReport, SqliteFault> {
    let connection = transaction.connection;
    let mut freed = GarbageReport::default();
    let mut statement = connection
        .prepare_cached("SELECT no FROM sessions WHERE kept IS NOT NULL AND head > kept ORDER BY no")?;
    let deleted: Vec<i64> = statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    for no in deleted {
        let session = SessionRow::at(connection, no)?;
        let kept = session.kept.unwrap_or(session.head);
        freed.bytes += purge(connection, &session, kept)?;
        freed.sessions += u64::from(kept == 0);
    }
    let grace = i64::try_from(grace.as_secs()).unwrap_or(i64::MAX);
    // An append may soon reference a blob that was stored within the grace period.
    let unmentioned = "created <= unixepoch() - ? AND hash NOT IN (SELECT hash FROM blob_refs)";
    let (blobs, bytes): (i64, i64) = connection.query_row(
        &format!("SELECT count(*), coalesce(sum(length(bytes)), 0) FROM blobs WHERE {unmentioned}"),
        [grace],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    connection.execute(&format!("DELETE FROM blobs WHERE {unmentioned}"), [grace])?;
    freed.blobs = uint(blobs);
    freed.bytes += uint(bytes);
    Ok(freed)
}

/// Removes the events of a deleted session from position `kept` on. Returns the number of bytes of their bodies.
pub(super) fn purge(connection: &Connection, session: &SessionRow, kept: u64) -> Result<u64, SqliteFault> {
    let (no, from) = (session.no, kept.max(session.fork_seq));
    let mut bytes = 0;
    for (place, count) in rows::places(connection, no, &(from..session.head))? {
        let part = params![place, place + int(count), no];
        let condition = "place >= ? AND place < ? AND no = ?";
        let sum = format!("SELECT coalesce(sum(length(body)), 0) FROM events WHERE {condition}");
        bytes += uint(connection.prepare_cached(&sum)?.query_row(part, |row| row.get(0))?);
        connection.prepare_cached(&format!("DELETE FROM events WHERE {condition}"))?.execute(part)?;
    }
    for sql in [
        "DELETE FROM runs WHERE no = ? AND seq >= ?",
        "DELETE FROM blob_refs WHERE no = ? AND seq >= ?",
        "DELETE FROM snapshots WHERE no = ? AND seq > ?",
        "DELETE FROM folds WHERE no = ? AND seq > ?",
        "UPDATE sessions SET head = ?2 WHERE no = ?1",
    ] {
        connection.prepare_cached(sql)?.execute([no, int(kept)])?;
    }
    if kept == 0 {
        connection.prepare_cached("DELETE FROM quarantine WHERE no = ?")?.execute([no])?;
    }
    projection::remove(connection, no, kept)?;
    list::unindex(connection, no)?;
    Ok(bytes)
}

/// Stores a snapshot and removes all but the newest few.
pub(super) fn put_snapshot(
    transaction: &mut WriteTransaction<'_>,
    session_id: &SessionId,
    snapshot: &Snapshot,
) -> Result<(), SqliteFault> {
    let no = transaction.session(session_id)?.no;
    let connection = transaction.connection;
    connection
        .prepare_cached("INSERT OR REPLACE INTO snapshots (no, seq, state) VALUES (?, ?, ?)")?
        .execute(params![no, int(snapshot.seq), snapshot.state])?;
    connection
        .prepare_cached(
            "DELETE FROM snapshots WHERE no = ?1 AND seq NOT IN (
             SELECT seq FROM snapshots WHERE no = ?1 ORDER BY seq DESC LIMIT ?2)",
        )?
        .execute([no, SNAPSHOTS])?;
    Ok(())
}

/// Returns the newest snapshot of at most `seq` events, of a session or of the sessions it was forked from.
pub(super) fn snapshot(
    connection: &Connection,
    session_id: &SessionId,
    seq: u64,
) -> Result<Option<Snapshot>, SqliteFault> {
    let (mut best, mut at_most): (Option<Snapshot>, u64) = (None, seq);
    let mut above = SessionRow::existing(connection, session_id)?;
    while let Some(session) = above {
        let mut statement = connection.prepare_cached(
            "SELECT seq, state FROM snapshots WHERE no = ? AND seq <= ? ORDER BY seq DESC LIMIT 1",
        )?;
        let found = statement
            .query_row([session.no, int(at_most)], |row| Ok(Snapshot::new(uint(row.get(0)?), row.get(1)?)))
            .optional()?;
        if let Some(found) = found.filter(|found| best.as_ref().is_none_or(|best| best.seq < found.seq)) {
            best = Some(found);
        }
        at_most = at_most.min(session.fork_seq);
        above = session.fork_of.map(|no| SessionRow::at(connection, no)).transpose()?;
    }
    Ok(best)
}
