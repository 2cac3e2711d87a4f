//! Reads a journal, including the events that a fork shares with its ancestors.
//!
//! Invariant: returned events were verified and follow each other without a gap.

use deadpool_postgres::GenericClient;
use lariat_core::event::{Event, EventRecord};
use lariat_core::id::SessionId;
use lariat_core::store::StoreError;
use std::collections::HashMap;
use std::sync::Arc;
use tokio_postgres::Row;

use super::connection::{column, number, position, query};
use super::{blobs, session_row};
use crate::content;
use crate::record::{self, Chain, SealedRecord};

/// The sessions whose events make up a session, newest first, each with its range of positions.
macro_rules! line {
    () => {
        "WITH RECURSIVE line (no, fork_of, low, high, depth, base) AS ( \
         SELECT no, fork_of, fork_seq, head, 0, base FROM lariat.sessions WHERE id = $1 AND NOT deleted \
         UNION ALL \
         SELECT p.no, p.fork_of, p.fork_seq, l.low, l.depth + 1, p.base \
         FROM line l JOIN lariat.sessions p ON p.no = l.fork_of) "
    };
}
pub(super) use line;

const SEGMENTS: &str = concat!(line!(), "SELECT no, low, high, base FROM line ORDER BY depth DESC");

/// The session's length with each of its events; one row without an event if the range is empty. `LATERAL` and `OFFSET 0`
/// force the planner to use the primary key of one partition.
const READ: &str = concat!(
    line!(),
    "SELECT h.high, e.seq, e.crc, e.chain, e.body FROM line h LEFT JOIN LATERAL ( \
     SELECT r.* FROM line l CROSS JOIN LATERAL ( \
     SELECT seq, crc, chain, body FROM lariat.events \
     WHERE session = l.no AND seq >= greatest(l.low, $2) AND seq < least(l.high, $3) OFFSET 0) r \
     ) e ON true WHERE h.depth = 0 ORDER BY e.seq"
);

/// A part of a journal that one session owns.
#[derive(Clone, Copy, Debug)]
pub(super) struct JournalSegment {
    pub(super) no: i64,
    pub(super) low: u64,
    pub(super) high: u64,
    pub(super) base: Chain,
}

/// Returns the parts of a journal, oldest first; none if the session does not exist.
pub(super) async fn segments(
    client: &impl GenericClient,
    session_id: &SessionId,
) -> Result<Vec<JournalSegment>, StoreError> {
    let rows = query(client, SEGMENTS, &[&session_row::id(session_id)]).await?;
    let segment = |row: &Row| {
        Ok(JournalSegment {
            no: column(row, 0)?,
            low: position(column(row, 1)?),
            high: position(column(row, 2)?),
            base: session_row::chain(column(row, 3)?)?,
        })
    };
    rows.iter().map(segment).collect()
}

/// Returns the verified events of a range; none if the session does not exist.
pub(super) async fn events(
    client: &impl GenericClient,
    session_id: &SessionId,
    from: u64,
    to: u64,
) -> Result<Vec<Event>, StoreError> {
    let (head, records) = records(client, session_id, from, to).await?;
    let expected = from..to.min(head).max(from);
    for (place, seq) in expected.enumerate() {
        match records.get(place) {
            Some(record) if record.seq == seq && record.is_whole() => {}
            Some(record) if record.seq == seq => {
                return Err(StoreError::Damaged(format!("event {seq}: the checksum does not match")));
            }
            _ => return Err(StoreError::Damaged(format!("event {seq} is missing"))),
        }
    }
    unpack_all(client, &records).await?.into_iter().collect()
}

/// Returns the length of a journal and the records of a range as stored.
pub(super) async fn records(
    client: &impl GenericClient,
    session_id: &SessionId,
    from: u64,
    to: u64,
) -> Result<(u64, Vec<SealedRecord>), StoreError> {
    let rows = query(client, READ, &[&session_row::id(session_id), &number(from), &number(to)]).await?;
    let Some(first) = rows.first() else { return Ok((0, Vec::new())) };
    let head = position(column(first, 0)?);
    let begun = column::<Option<i64>>(first, 1)?.is_some();
    let records =
        rows.iter().filter(|_| begun).map(|row| record_from_row(row, 1)).collect::<Result<_, _>>()?;
    Ok((head, records))
}

/// Reads a record from position, checksum, chain and body, in this order. A malformed record fails its checksum.
pub(super) fn record_from_row(row: &Row, first: usize) -> Result<SealedRecord, StoreError> {
    let seq = position(column(row, first)?);
    let crc: i32 = column(row, first + 1)?;
    let body: Vec<u8> = column(row, first + 3)?;
    let Ok(chain) = <[u8; 16]>::try_from(column::<&[u8]>(row, first + 2)?).map(Chain::from_bytes) else {
        let chain = Chain::from_bytes([0; 16]);
        return Ok(SealedRecord { seq, chain, check: !record::checksum(seq, chain, &body), body });
    };
    Ok(SealedRecord { seq, chain, check: crc.cast_unsigned(), body })
}

/// Returns the events of records, with moved text restored.
pub(super) async fn unpack_all(
    client: &impl GenericClient,
    records: &[SealedRecord],
) -> Result<Vec<Result<Event, StoreError>>, StoreError> {
    let hashes = records.iter().flat_map(|record| content::moved_out(&record.body));
    let hashes: Vec<[u8; 32]> = hashes.filter_map(|hash| content::hash_of(&hash)).collect();
    let found = if hashes.is_empty() { HashMap::new() } else { blobs::fetch(client, &hashes).await? };
    Ok(records.iter().map(|record| unpack(record, &found).map(Arc::new)).collect())
}

fn unpack(record: &SealedRecord, found: &HashMap<[u8; 32], Vec<u8>>) -> Result<EventRecord, StoreError> {
    let whole = content::unpack(&record.body, |address| {
        let bytes = content::hash_of(address).and_then(|hash| found.get(&hash)).cloned();
        let damaged =
            || StoreError::Damaged(format!("event {}: blob {} is missing or damaged", record.seq, address.0));
        bytes.ok_or_else(damaged)
    })?;
    record::event_of(record.seq, whole.as_deref().unwrap_or(&record.body))
}
