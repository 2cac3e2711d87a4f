//! Repairs a damaged journal.
//!
//! Starting at the first damage, the repair writes every record again with a valid chain, and [`AgentEvent::EventLost`] in
//! place of each unreadable record. The damaged rows go to `quarantine`. The repair also reseals forks that share a
//! repaired part. It reads on a connection of its own, because SQLite rolls back a transaction that meets a damaged page.
//! Invariant: the repair never gives up a record that is whole and readable.

use lariat_core::event::{AgentEvent, Event, EventRecord, FORMAT_VERSION};
use lariat_core::id::{EventId, SessionId};
use lariat_core::store::StoreError;
use lariat_core::time::Timestamp;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params};

use super::append;
use super::check;
use super::fault::{SqliteFault, is_damage, no_session};
use super::list;
use super::projection;
use super::rows::{self, JournalEnd, RecordSlot, SessionRow, int, uint};
use super::settle;
use super::transaction::WriteTransaction;
use crate::content;
use crate::record::{Chain, SealedRecord};

/// Whether SQLite can read all of its pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageHealth {
    /// It can.
    Sound,
    /// It cannot. The repair does not touch the old rows and only stops referencing them.
    Damaged,
}

/// Repairs a journal as `source` sees it: a connection that reads committed data, or the writer's own.
pub(super) fn repair(
    transaction: &mut WriteTransaction<'_>,
    source: &Connection,
    session_id: &SessionId,
    pages: PageHealth,
) -> Result<(), SqliteFault> {
    let verdict = check::journal(source, session_id)?;
    let Some(first) = verdict.damage.iter().filter_map(|damage| damage.seq).min() else {
        return Ok(());
    };
    let session = SessionRow::existing(source, session_id)?.ok_or_else(|| no_session(session_id))?;
    // The session that wrote the first damaged event. All other affected sessions are forks of it.
    let segments = rows::segments(source, &session, first + 1)?;
    let Some(segment) = segments.last() else { return Ok(()) };
    let mut before = SessionRow::at(source, segment.no)?.base;
    if first > segment.seqs.start {
        rows::walk(source, &segments, &(first - 1..first), |found| {
            before = found.record.map_or(before, |record| record.chain);
            Ok(())
        })?;
    }
    transaction.forget_all();
    let mut waiting = vec![ResealRange { no: segment.no, from: first, before }];
    while let Some(range) = waiting.pop() {
        waiting.extend(reseal(transaction, source, &range, pages)?);
    }
    Ok(())
}

/// The own events of a session from a position on, and the chain before them.
struct ResealRange {
    no: i64,
    from: u64,
    before: Chain,
}

/// Writes the events of a range again. Returns the ranges of forks that must follow.
fn reseal(
    transaction: &mut WriteTransaction<'_>,
    source: &Connection,
    range: &ResealRange,
    pages: PageHealth,
) -> Result<Vec<ResealRange>, SqliteFault> {
    let (connection, no, from) = (transaction.connection, range.no, range.from);
    let session = SessionRow::at(source, no)?;
    let tail = JournalEnd::of(source, &session)?;
    let now = SessionRow::at(connection, no)?;
    if (now.head, now.epoch, now.kept) != (session.head, session.epoch, session.kept) || transaction.wrote(no)
    {
        let what = format!("session number {no} changed during the repair; try again");
        return Err(StoreError::Unavailable(what).into());
    }
    // Of a deleted session, only the events that forks share.
    let seqs = from..session.kept.unwrap_or(tail.head).max(from);
    let mut forks = forks(source, no, from)?;
    clear(connection, no, from)?;
    let (mut chain, mut at, mut first) = (range.before, Timestamp::from_millis(0), None);
    let own = [rows::JournalSegment { no, seqs: seqs.clone() }];
    rows::walk(source, &own, &seqs, |found| {
        let (seq, place) = (found.seq, found.place);
        let (body, event) = match read_intact(source, found)? {
            Some(kept) => kept,
            None => {
                quarantine(connection, source, (no, seq), place)?;
                lost_event(seq, at)?
            }
        };
        let record = SealedRecord::new(seq, chain, body);
        (chain, at) = (record.chain, at.max(event.timestamp));
        forks.iter_mut().filter(|fork| fork.from == seq + 1).for_each(|fork| fork.before = chain);
        let place = transaction.next_position()?;
        first.get_or_insert(place);
        append::insert(connection, place, no, &record)?;
        let hashes: Vec<_> = content::mentions(&record.body).iter().filter_map(content::hash_of).collect();
        append::mention(connection, no, seq, &hashes)?;
        projection::project(connection, no, &event)
    })?;
    if pages == PageHealth::Sound {
        for (place, count) in rows::places(source, no, &(from..tail.head.max(from)))? {
            connection
                .prepare_cached("DELETE FROM events WHERE place >= ? AND place < ? AND no = ?")?
                .execute([place, place + int(count), no])?;
        }
    }
    connection.prepare_cached("DELETE FROM runs WHERE no = ? AND seq >= ?")?.execute([no, int(from)])?;
    if let Some(place) = first {
        connection.prepare_cached("INSERT INTO runs VALUES (?, ?, ?)")?.execute([no, int(from), place])?;
    }
    let base = if from == session.fork_seq { range.before } else { session.base };
    reset_row(connection, &session, base, seqs.end, chain)?;
    Ok(forks)
}

/// Removes everything derived from a session's events after this position.
fn clear(connection: &Connection, no: i64, from: u64) -> Result<(), SqliteFault> {
    projection::remove(connection, no, from)?;
    list::unindex(connection, no)?;
    connection.prepare_cached("DELETE FROM blob_refs WHERE no = ? AND seq >= ?")?.execute([no, int(from)])?;
    connection.prepare_cached("DELETE FROM snapshots WHERE no = ? AND seq > ?")?.execute([no, int(from)])?;
    connection.prepare_cached("DELETE FROM folds WHERE no = ? AND seq > ?")?.execute([no, int(from)])?;
    Ok(())
}

/// Updates a session's row after its events changed. The next listing folds its summary.
fn reset_row(
    connection: &Connection,
    session: &SessionRow,
    base: Chain,
    head: u64,
    chain: Chain,
) -> Result<(), SqliteFault> {
    let before = settle::summary(connection, session.no)?;
    let summary = settle::empty(before.session_id, before.parent);
    connection
        .prepare_cached(
            "UPDATE sessions SET base = ?2, head = ?3, chain = ?4, unsettled = kept IS NULL, folded = 0,
             summary = ?5 WHERE no = ?1",
        )?
        .execute(params![
            session.no,
            base.as_bytes(),
            int(head),
            chain.as_bytes(),
            settle::to_json(&summary)?
        ])?;
    Ok(())
}

/// Returns the forks that share events after this position.
fn forks(connection: &Connection, no: i64, from: u64) -> Result<Vec<ResealRange>, SqliteFault> {
    let mut statement = connection
        .prepare_cached("SELECT no, fork_seq, base FROM sessions WHERE fork_of = ? AND fork_seq > ?")?;
    let forks = statement.query_map([no, int(from)], |row| {
        Ok(ResealRange { no: row.get(0)?, from: uint(row.get(1)?), before: Chain::from_bytes(row.get(2)?) })
    })?;
    Ok(forks.collect::<rusqlite::Result<_>>()?)
}

/// Returns the body and event of a record that is whole and readable, including the blobs it needs.
fn read_intact(connection: &Connection, found: RecordSlot) -> Result<Option<(Vec<u8>, Event)>, SqliteFault> {
    let body = found.record.as_ref().map(|record| record.body.clone());
    match rows::event(connection, found) {
        Ok(event) => Ok(body.map(|body| (body, Event::new(event)))),
        Err(newer @ SqliteFault::Refused(StoreError::Newer { .. })) => Err(newer),
        Err(SqliteFault::Refused(_)) => Ok(None),
        Err(failed) => Err(failed),
    }
}

/// Copies the row of a record to `quarantine`, if it can be read at all.
fn quarantine(
    connection: &Connection,
    source: &Connection,
    (no, seq): (i64, u64),
    place: Option<i64>,
) -> Result<(), SqliteFault> {
    let mut select = source.prepare_cached("SELECT no, seq, chain, crc, body FROM events WHERE place = ?")?;
    let there = select.query_row([place], |row| {
        (0..5).map(|column| row.get::<_, Value>(column)).collect::<rusqlite::Result<Vec<_>>>()
    });
    let there = match there.optional() {
        Ok(Some(there)) => there,
        Ok(None) => return Ok(()),
        Err(error) if is_damage(&error) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let [their_no, their_seq, chain, crc, body] = there.as_slice() else { return Ok(()) };
    let note = format!("stored as {their_seq:?} of session number {their_no:?}");
    connection
        .prepare_cached("INSERT INTO quarantine (no, seq, chain, crc, body, note) VALUES (?, ?, ?, ?, ?, ?)")?
        .execute(params![no, int(seq), chain, crc, body, note])?;
    Ok(())
}

/// Returns the event that replaces a lost record.
fn lost_event(seq: u64, timestamp: Timestamp) -> Result<(Vec<u8>, Event), SqliteFault> {
    let event = EventRecord {
        v: FORMAT_VERSION,
        seq,
        id: EventId::new(uuid::Uuid::new_v4()),
        timestamp,
        loop_id: None,
        event: AgentEvent::EventLost { note: "the record was damaged or missing".to_owned() },
    };
    Ok((content::pack(&event)?.body, Event::new(event)))
}
