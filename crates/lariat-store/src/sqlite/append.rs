//! Appends a batch of events: checks it, writes its records and blobs, and updates the projections.
//!
//! All checks come before the first write, so a rejected batch leaves the shared transaction as it was. Invariant: one
//! transaction contains the records, the blobs they need and their projections.

use lariat_core::event::Event;
use lariat_core::id::SessionId;
use lariat_core::store::{Append, BlobHash, Epoch, StoreError};
use rusqlite::{Connection, params};

use super::fault::SqliteFault;
use super::projection;
use super::rows::int;
use super::settle::{self, SETTLE_INTERVAL, SettleMode};
use super::transaction::WriteTransaction;
use crate::content::{self, PackedEvent};
use crate::record::SealedRecord;

/// SQLite's default limit for one value (10^9 bytes), less room for the rest of a row.
const LARGEST_BYTES: usize = 999_000_000;

/// A batch to append, packed outside the writer.
#[derive(Debug)]
pub(super) struct Batch {
    session_id: SessionId,
    epoch: Epoch,
    expected_seq: u64,
    events: Vec<(Event, PackedEvent, Vec<[u8; 32]>)>,
    /// Bytes that the batch adds to a transaction.
    pub(super) bytes: usize,
}

impl Batch {
    /// Packs the events of an append.
    pub(super) fn new(append: &Append<'_>) -> Result<Self, StoreError> {
        let mut bytes = 0;
        let mut events = Vec::with_capacity(append.events.len());
        for event in append.events {
            let packed = content::pack(event)?;
            let blobs = packed.blobs.iter().map(|(_, bytes)| bytes.len());
            for size in blobs.chain([packed.body.len()]) {
                check_size(size)?;
                bytes += size;
            }
            let mentions = content::mentions(&packed.body).iter().filter_map(content::hash_of).collect();
            events.push((Event::clone(event), packed, mentions));
        }
        Ok(Self {
            session_id: append.session_id.clone(),
            epoch: append.epoch,
            expected_seq: append.expected_seq,
            events,
            bytes,
        })
    }

    /// Appends the batch. Returns the number of events in the journal afterwards.
    pub(super) fn append(&self, transaction: &mut WriteTransaction<'_>) -> Result<u64, SqliteFault> {
        self.check(transaction)?;
        if self.events.is_empty() {
            return Ok(self.expected_seq);
        }
        let connection = transaction.connection;
        for (event, packed, mentions) in &self.events {
            for (address, bytes) in &packed.blobs {
                put_blob(connection, address, bytes)?;
            }
            let place = transaction.next_position()?;
            let session = transaction.session(&self.session_id)?;
            if session.place.is_none_or(|last| last + 1 != place) {
                let mut run =
                    connection.prepare_cached("INSERT INTO runs (no, seq, place) VALUES (?, ?, ?)")?;
                run.execute([session.no, int(event.seq), place])?;
            }
            let record = SealedRecord::new(event.seq, session.chain, packed.body.clone());
            insert(connection, place, session.no, &record)?;
            mention(connection, session.no, event.seq, mentions)?;
            projection::project(connection, session.no, event)?;
            if session.summary.events == session.head {
                session.summary.apply(event);
                settle::store_fold(connection, session)?;
            }
            (session.head, session.chain, session.place) = (event.seq + 1, record.chain, Some(place));
        }
        let session = transaction.session(&self.session_id)?;
        if !session.unsettled || session.head >= session.settled + SETTLE_INTERVAL {
            session.unsettled = true;
            settle::settle(connection, session, SettleMode::KeepOpen)?;
        }
        let (no, head) = (session.no, session.head);
        transaction.appended.push(no);
        transaction.changes.push((self.session_id.clone(), Some(head)));
        Ok(head)
    }

    fn check(&self, transaction: &mut WriteTransaction<'_>) -> Result<(), SqliteFault> {
        let session = transaction.session(&self.session_id)?;
        if self.epoch.0 != session.epoch {
            return Err(StoreError::Fenced { current: Epoch(session.epoch) }.into());
        }
        if self.expected_seq != session.head {
            return Err(StoreError::Conflict { expected: self.expected_seq, actual: session.head }.into());
        }
        let misplaced = self.events.iter().zip(session.head..).find(|((event, ..), seq)| event.seq != *seq);
        match misplaced {
            Some(((event, ..), seq)) => Err(StoreError::Conflict { expected: event.seq, actual: seq }.into()),
            None => Ok(()),
        }
    }
}

/// Writes a record.
pub(super) fn insert(
    connection: &Connection,
    place: i64,
    no: i64,
    record: &SealedRecord,
) -> Result<(), SqliteFault> {
    let mut statement = connection
        .prepare_cached("INSERT INTO events (place, no, seq, chain, crc, body) VALUES (?, ?, ?, ?, ?, ?)")?;
    statement.execute(params![
        place,
        no,
        int(record.seq),
        record.chain.as_bytes(),
        record.check,
        record.body
    ])?;
    Ok(())
}

/// Records which blobs an event references.
pub(super) fn mention(
    connection: &Connection,
    no: i64,
    seq: u64,
    hashes: &[[u8; 32]],
) -> Result<(), SqliteFault> {
    for hash in hashes {
        let mut statement =
            connection.prepare_cached("INSERT OR IGNORE INTO blob_refs (no, seq, hash) VALUES (?, ?, ?)")?;
        statement.execute(params![no, int(seq), hash])?;
    }
    Ok(())
}

/// Stores bytes under their address. Updates the time of a blob that already exists.
pub(super) fn put_blob(connection: &Connection, address: &BlobHash, bytes: &[u8]) -> Result<(), SqliteFault> {
    let Some(hash) = content::hash_of(address) else { return Ok(()) };
    let mut statement = connection.prepare_cached(
        "INSERT INTO blobs (hash, created, bytes) VALUES (?, unixepoch(), ?)
         ON CONFLICT (hash) DO UPDATE SET created = excluded.created, bytes = excluded.bytes",
    )?;
    statement.execute(params![hash, bytes])?;
    Ok(())
}

/// Rejects a value that is too large for a row, before it fails a transaction that other tasks share.
pub(super) fn check_size(bytes: usize) -> Result<(), StoreError> {
    if bytes > LARGEST_BYTES {
        return Err(StoreError::Damaged(format!(
            "a value of {bytes} bytes exceeds the limit of {LARGEST_BYTES}"
        )));
    }
    Ok(())
}
