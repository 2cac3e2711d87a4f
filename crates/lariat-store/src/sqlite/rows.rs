//! Reads rows: sessions, the location of their events, records and blobs.
//!
//! Maps a position in a journal to a row of `events`, through the ancestors of a fork and their runs. This module only
//! reads; wrap several calls in a transaction to make them consistent.
//! Invariant: a returned record belongs to the requested session and position; otherwise it is reported as missing.

use std::ops::Range;

use lariat_core::event::EventRecord;
use lariat_core::id::SessionId;
use lariat_core::store::{BlobHash, StoreError};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::fault::{SqliteFault, is_damage};
use crate::content;
use crate::record::{self, Chain, SealedRecord};

/// Converts a number for SQLite. Positions never come near the limit.
pub(super) fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Converts a number from SQLite.
pub(super) fn uint(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// A row of `sessions`.
#[derive(Clone, Debug)]
pub(super) struct SessionRow {
    pub(super) no: i64,
    pub(super) epoch: u64,
    pub(super) fork_of: Option<i64>,
    pub(super) fork_seq: u64,
    pub(super) base: Chain,
    /// `None` while the session exists.
    pub(super) kept: Option<u64>,
    /// As of the last settling.
    pub(super) head: u64,
    /// As of the last settling.
    pub(super) chain: Chain,
    pub(super) unsettled: bool,
    pub(super) folded: u64,
}

const BY_ID: &str = "SELECT no, epoch, fork_of, fork_seq, base, kept, head, chain, unsettled, folded
     FROM sessions WHERE id = ?";
const BY_NO: &str = "SELECT no, epoch, fork_of, fork_seq, base, kept, head, chain, unsettled, folded
     FROM sessions WHERE no = ?";

impl SessionRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            no: row.get(0)?,
            epoch: uint(row.get(1)?),
            fork_of: row.get(2)?,
            fork_seq: uint(row.get(3)?),
            base: Chain::from_bytes(row.get(4)?),
            kept: row.get::<_, Option<i64>>(5)?.map(uint),
            head: uint(row.get(6)?),
            chain: Chain::from_bytes(row.get(7)?),
            unsettled: row.get(8)?,
            folded: uint(row.get(9)?),
        })
    }

    /// Returns the session with this id, even if it was deleted.
    pub(super) fn of(connection: &Connection, session_id: &SessionId) -> Result<Option<Self>, SqliteFault> {
        let mut statement = connection.prepare_cached(BY_ID)?;
        Ok(statement.query_row([session_id.as_str()], Self::read).optional()?)
    }

    /// Returns the session with this id, unless it was deleted.
    pub(super) fn existing(
        connection: &Connection,
        session_id: &SessionId,
    ) -> Result<Option<Self>, SqliteFault> {
        Ok(Self::of(connection, session_id)?.filter(|row| row.kept.is_none()))
    }

    /// Returns the session with this number.
    pub(super) fn at(connection: &Connection, no: i64) -> Result<Self, SqliteFault> {
        let mut statement = connection.prepare_cached(BY_NO)?;
        let row = statement.query_row([no], Self::read).optional()?;
        row.ok_or_else(|| {
            SqliteFault::Refused(StoreError::Damaged(format!("session number {no} is missing")))
        })
    }
}

/// The end of a journal.
#[derive(Clone, Copy, Debug)]
pub(super) struct JournalEnd {
    /// Number of events.
    pub(super) head: u64,
    /// The chain after the last event.
    pub(super) chain: Chain,
    /// Row of the last own event, if the search passed it.
    pub(super) place: Option<i64>,
}

impl JournalEnd {
    /// Searches from where the session was last settled: few events can follow.
    pub(super) fn of(connection: &Connection, session: &SessionRow) -> Result<Self, SqliteFault> {
        let mut tail = Self { head: session.head, chain: session.chain, place: None };
        if !session.unsettled {
            return Ok(tail);
        }
        let mut last_run = connection
            .prepare_cached("SELECT seq, place FROM runs WHERE no = ? ORDER BY seq DESC LIMIT 1")?;
        let run = last_run.query_row([session.no], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)));
        let Some((seq, place)) = run.optional()? else { return Ok(tail) };
        let settled_own = int(session.head).saturating_sub(1).max(seq);
        let mut rows = connection
            .prepare_cached("SELECT place, no, seq, chain FROM events WHERE place >= ? ORDER BY place")?;
        let mut rows = rows.query([place + (settled_own - seq)])?;
        while let Some(row) = rows.next()? {
            let (at, own): (i64, i64) = (row.get(0)?, row.get::<_, i64>(2)?);
            if row.get::<_, i64>(1)? != session.no || own - seq != at - place {
                break;
            }
            tail.place = Some(at);
            if uint(own) >= tail.head {
                tail.head = uint(own) + 1;
                tail.chain = Chain::from_bytes(row.get(3)?);
            }
        }
        Ok(tail)
    }
}

/// Returns the number of events of a session, or 0 if it does not exist.
pub(super) fn head(connection: &Connection, session_id: &SessionId) -> Result<u64, SqliteFault> {
    match SessionRow::existing(connection, session_id)? {
        Some(session) => Ok(JournalEnd::of(connection, &session)?.head),
        None => Ok(0),
    }
}

/// A range of a journal and the session that wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JournalSegment {
    pub(super) no: i64,
    pub(super) seqs: Range<u64>,
}

/// Returns which session wrote which part of the first `head` events, oldest first.
pub(super) fn segments(
    connection: &Connection,
    session: &SessionRow,
    head: u64,
) -> Result<Vec<JournalSegment>, SqliteFault> {
    let mut segments = Vec::new();
    let (mut end, mut at) = (head, session.clone());
    loop {
        segments.push(JournalSegment { no: at.no, seqs: at.fork_seq.min(end)..end });
        end = end.min(at.fork_seq);
        match at.fork_of {
            Some(parent) if end > 0 => at = SessionRow::at(connection, parent)?,
            _ => break,
        }
    }
    segments.retain(|segment| !segment.seqs.is_empty());
    segments.reverse();
    Ok(segments)
}

/// A position of a journal and the record that was found there.
#[derive(Debug)]
pub(super) struct RecordSlot {
    pub(super) seq: u64,
    /// `None` if no run covers the position.
    pub(super) place: Option<i64>,
    /// `None` if the record is missing.
    pub(super) record: Option<SealedRecord>,
}

/// Calls `take` for every position of a range of a journal, in order.
pub(super) fn walk(
    connection: &Connection,
    segments: &[JournalSegment],
    seqs: &Range<u64>,
    mut take: impl FnMut(RecordSlot) -> Result<(), SqliteFault>,
) -> Result<(), SqliteFault> {
    for segment in segments {
        let wanted = segment.seqs.start.max(seqs.start)..segment.seqs.end.min(seqs.end);
        if wanted.is_empty() {
            continue;
        }
        let runs = runs(connection, segment.no, &wanted)?;
        // Positions before the first known run.
        let first = runs.first().map_or(wanted.end, |(seq, _)| *seq);
        for seq in wanted.start..first.min(wanted.end) {
            take(RecordSlot { seq, place: None, record: None })?;
        }
        let ends = runs.iter().skip(1).map(|(seq, _)| *seq).chain([wanted.end]);
        for ((start, place), end) in runs.iter().zip(ends) {
            let part = (*start).max(wanted.start)..end.min(wanted.end);
            walk_run(connection, segment.no, place + int(part.start - start), part, &mut take)?;
        }
    }
    Ok(())
}

/// Returns the runs that cover these positions, as pairs of first position and first row.
fn runs(connection: &Connection, no: i64, seqs: &Range<u64>) -> Result<Vec<(u64, i64)>, SqliteFault> {
    let mut statement = connection.prepare_cached(
        "SELECT seq, place FROM runs WHERE no = ?1 AND seq < ?3
         AND seq >= coalesce((SELECT max(seq) FROM runs WHERE no = ?1 AND seq <= ?2), 0) ORDER BY seq",
    )?;
    let rows = statement
        .query_map(params![no, int(seqs.start), int(seqs.end)], |row| Ok((uint(row.get(0)?), row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the rows of a session's own events at these positions, as pairs of first row and count.
pub(super) fn places(
    connection: &Connection,
    no: i64,
    seqs: &Range<u64>,
) -> Result<Vec<(i64, u64)>, SqliteFault> {
    let runs = runs(connection, no, seqs)?;
    let ends = runs.iter().skip(1).map(|(seq, _)| *seq).chain([seqs.end]);
    let parts = runs.iter().zip(ends).map(|((start, place), end)| {
        let from = (*start).max(seqs.start);
        (place + int(from - start), end.min(seqs.end).saturating_sub(from))
    });
    Ok(parts.collect())
}

fn walk_run(
    connection: &Connection,
    no: i64,
    place: i64,
    seqs: Range<u64>,
    take: &mut impl FnMut(RecordSlot) -> Result<(), SqliteFault>,
) -> Result<(), SqliteFault> {
    let mut statement = connection.prepare_cached(
        "SELECT place, no, seq, chain, crc, body FROM events WHERE place >= ?1 AND place < ?2 ORDER BY place
         LIMIT ?2 - ?1",
    )?;
    let end = place + int(seqs.end - seqs.start);
    // The limit keeps SQLite from reading the following row, which may be on an unreadable page.
    let mut rows = statement.query([place, end])?;
    let found = |at: i64, record| RecordSlot { seq: seqs.start + uint(at - place), place: Some(at), record };
    // Everything up to the first row that is missing, out of order or on an unreadable page.
    let mut next = place;
    while next < end {
        match rows.next() {
            Ok(Some(row)) if row.get_ref(0)?.as_i64() == Ok(next) => {
                take(found(next, record_from_row(row, no, found(next, None).seq)?))?;
                next += 1;
            }
            Err(error) if !is_damage(&error) => return Err(error.into()),
            _ => break,
        }
    }
    // A damaged page can also hide the rows after it from a search for several. Each may still be found by itself.
    for at in next..end {
        take(found(at, single(connection, no, at, found(at, None).seq)?))?;
    }
    Ok(())
}

/// Returns one record, if its page can be read.
fn single(
    connection: &Connection,
    no: i64,
    place: i64,
    seq: u64,
) -> Result<Option<SealedRecord>, SqliteFault> {
    let mut statement =
        connection.prepare_cached("SELECT place, no, seq, chain, crc, body FROM events WHERE place = ?")?;
    match statement.query_row([place], |row| record_from_row(row, no, seq)) {
        Ok(record) => Ok(record),
        Err(rusqlite::Error::QueryReturnedNoRows) => Ok(None),
        Err(error) if is_damage(&error) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns the record in a row if it belongs to this session and position. Columns with unexpected content make its
/// checksum fail.
fn record_from_row(row: &Row<'_>, no: i64, seq: u64) -> rusqlite::Result<Option<SealedRecord>> {
    if integer(row, 1)? != Some(no) || integer(row, 2)? != Some(int(seq)) {
        return Ok(None);
    }
    let chain = Chain::from_bytes(bytes(row, 3)?.try_into().unwrap_or_default());
    let check = integer(row, 4)?.and_then(|check| u32::try_from(check).ok());
    let body = bytes(row, 5)?.to_vec();
    // A checksum that is not a number must fail like a wrong one.
    let check = check.unwrap_or_else(|| !record::checksum(seq, chain, &body));
    Ok(Some(SealedRecord { seq, chain, check, body }))
}

fn integer(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<i64>> {
    Ok(row.get_ref(column)?.as_i64().ok())
}

fn bytes<'a>(row: &'a Row<'_>, column: usize) -> rusqlite::Result<&'a [u8]> {
    Ok(match row.get_ref(column)? {
        ValueRef::Blob(bytes) | ValueRef::Text(bytes) => bytes,
        _ => &[],
    })
}

/// Returns the event of a record, which must exist and be whole.
pub(super) fn event(connection: &Connection, found: RecordSlot) -> Result<EventRecord, SqliteFault> {
    let RecordSlot { seq, record, .. } = found;
    let damaged = |what: &str| SqliteFault::Refused(StoreError::Damaged(format!("event {seq} {what}")));
    let record = record.ok_or_else(|| damaged("is missing"))?;
    if !record.is_whole() {
        return Err(damaged("is damaged (checksum mismatch)"));
    }
    let unpacked = content::unpack(&record.body, |address| match blob(connection, address) {
        Err(SqliteFault::Refused(StoreError::NotFound(what))) => {
            Err(StoreError::Damaged(format!("event {seq}: {what} is missing")))
        }
        other => Ok(other?),
    })?;
    Ok(record::event_of(seq, unpacked.as_deref().unwrap_or(&record.body))?)
}

/// Returns the bytes of a blob and verifies their hash.
pub(super) fn blob(connection: &Connection, address: &BlobHash) -> Result<Vec<u8>, SqliteFault> {
    let missing = || SqliteFault::Refused(StoreError::NotFound(format!("blob {}", address.0)));
    let hash = content::hash_of(address).ok_or_else(missing)?;
    let mut statement = connection.prepare_cached("SELECT bytes FROM blobs WHERE hash = ?")?;
    let bytes: Vec<u8> =
        statement.query_row([hash], |row| Ok(bytes(row, 0)?.to_vec())).optional()?.ok_or_else(missing)?;
    if content::address(&bytes) != *address {
        let what = format!("blob {} does not match its hash", address.0);
        return Err(SqliteFault::Refused(StoreError::Damaged(what)));
    }
    Ok(bytes)
}
