//! Writes a batch: sealed records, blob references, and the updated row of the session.
//!
//! Most appends are one statement. A batch that has blobs or projection rows, is very large, or completes a fold is a
//! transaction that begins with the same condition.
//! Invariant: every way to write a batch takes effect only for the expected epoch, position and chain.

use std::collections::{BTreeMap, BTreeSet};

use deadpool_postgres::{Client, Transaction};
use lariat_core::archive::{SessionSummary, searchable_text};
use lariat_core::event::Event;
use lariat_core::store::StoreError;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::Type;

use super::connection::{execute, failed, number};
use super::projections::ProjectionRows;
use super::session_row::{SessionRow, key, summary_json};
use super::{blobs, connection};
use crate::SUMMARY_INTERVAL;
use crate::content;
use crate::record::{Chain, SealedRecord};

/// Number of events from which `COPY` is worth its two additional round trips.
const BULK: usize = 1_000;

/// Updates the session's row if it is in the state that the writer expects. Sets the durability level for this
/// transaction only, whatever the default of the server or the pool is.
macro_rules! fence {
    () => {
        "UPDATE lariat.sessions SET head = $5, chain = $6, summary = $7::text::json, last_active = $8, cwd = $9, \
         parent = $10, tags = $11, agent = $12, stale = stale OR $13 \
         WHERE no = $1 AND epoch = $2 AND head = $3 AND chain = $4 AND NOT deleted \
         RETURNING no, set_config('synchronous_commit', $14, true)"
    };
}

const FENCE: &str = fence!();

const APPEND: &str = concat!(
    "WITH s AS (",
    fence!(),
    ") INSERT INTO lariat.events (session, seq, crc, chain, body) \
     SELECT s.no, $3 + e.n - 1, e.crc, e.chain, e.body \
     FROM s, unnest($15::integer[], $16::bytea[], $17::bytea[]) WITH ORDINALITY AS e (crc, chain, body, n)"
);

const INSERT: &str = "INSERT INTO lariat.events (session, seq, crc, chain, body) \
    SELECT $1, $2 + e.n - 1, e.crc, e.chain, e.body \
    FROM unnest($3::integer[], $4::bytea[], $5::bytea[]) WITH ORDINALITY AS e (crc, chain, body, n)";

/// Replaces a fold that remained from before a repair that kept the session's length.
const FOLD: &str = "INSERT INTO lariat.folds (session, seq, summary) VALUES ($1, $2, $3::text::json) \
    ON CONFLICT (session, seq) DO UPDATE SET summary = excluded.summary";

const COPY: &str = "COPY lariat.events (session, seq, crc, chain, body) FROM STDIN (FORMAT binary)";

/// Whether a batch was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AppendOutcome {
    /// It was written, at the requested durability level.
    Written,
    /// The session was not in the state that the writer expected. Nothing was changed.
    Rejected,
}

/// Events that are ready to be written after a given session state.
pub(super) struct Batch {
    records: Vec<SealedRecord>,
    blobs: BTreeMap<[u8; 32], Vec<u8>>,
    mentions: BTreeSet<[u8; 32]>,
    projected: ProjectionRows,
    has_text: bool,
    summary: SessionSummary,
    /// The summary after each [`SUMMARY_INTERVAL`] events.
    folds: Vec<SessionSummary>,
    chain: Chain,
}

impl Batch {
    /// Seals events that follow a session state.
    pub(super) fn seal(after: &SessionRow, events: &[Event]) -> Result<Self, StoreError> {
        let mut batch = Self {
            records: Vec::with_capacity(events.len()),
            blobs: BTreeMap::new(),
            mentions: BTreeSet::new(),
            projected: ProjectionRows::default(),
            has_text: false,
            summary: after.summary.clone(),
            folds: Vec::new(),
            chain: after.chain,
        };
        for event in events {
            let packed = content::pack(event)?;
            batch.mentions.extend(content::mentions(&packed.body).iter().filter_map(content::hash_of));
            let moved = packed.blobs.into_iter();
            batch.blobs.extend(moved.filter_map(|(hash, bytes)| Some((content::hash_of(&hash)?, bytes))));
            let record = SealedRecord::new(event.seq, batch.chain, packed.body);
            batch.chain = record.chain;
            batch.records.push(record);
            batch.has_text |= searchable_text(event).is_some();
            batch.projected.take(event);
            batch.summary.apply(event);
            if batch.summary.events.is_multiple_of(SUMMARY_INTERVAL) {
                batch.folds.push(batch.summary.clone());
            }
        }
        Ok(batch)
    }

    /// Returns the session state after this batch.
    pub(super) fn after(self, before: &SessionRow) -> SessionRow {
        let head = before.head + self.records.len() as u64;
        SessionRow { head, chain: self.chain, summary: self.summary, ..*before }
    }

    /// Returns whether the session ends with this batch: the same events after the same history.
    pub(super) fn ends_as(&self, before: &SessionRow, now: &SessionRow) -> bool {
        now.head == before.head + self.records.len() as u64 && now.chain == self.chain
    }

    /// Writes the batch with durability `level` (a value of `synchronous_commit`).
    pub(super) async fn write(
        &self,
        client: &mut Client,
        before: &SessionRow,
        level: &str,
    ) -> Result<AppendOutcome, StoreError> {
        let row = SessionUpdate::new(self, before)?;
        if self.is_plain() {
            let (crcs, chains, bodies) = columns(&self.records);
            let mut values = row.values(before, &level);
            values.extend([connection::value(&crcs), connection::value(&chains), connection::value(&bodies)]);
            let count = execute(client, APPEND, &values).await?;
            return Ok(if count == 0 { AppendOutcome::Rejected } else { AppendOutcome::Written });
        }
        let transaction = client.transaction().await.map_err(failed)?;
        if execute(&transaction, FENCE, &row.values(before, &level)).await? == 0 {
            transaction.rollback().await.map_err(failed)?;
            return Ok(AppendOutcome::Rejected);
        }
        blobs::store_references(&transaction, before.no, &self.blobs, &self.mentions).await?;
        self.insert(&transaction, before).await?;
        self.projected.insert(&transaction, before.no).await?;
        for fold in &self.folds {
            let values: connection::Values<'_> = &[&before.no, &number(fold.events), &summary_json(fold)?];
            execute(&transaction, FOLD, values).await?;
        }
        transaction.commit().await.map_err(failed)?;
        Ok(AppendOutcome::Written)
    }

    fn is_plain(&self) -> bool {
        self.blobs.is_empty()
            && self.mentions.is_empty()
            && self.projected.is_empty()
            && self.folds.is_empty()
            && self.records.len() < BULK
    }

    async fn insert(&self, transaction: &Transaction<'_>, before: &SessionRow) -> Result<(), StoreError> {
        if self.records.len() < BULK {
            let (crcs, chains, bodies) = columns(&self.records);
            let values: connection::Values<'_> = &[&before.no, &number(before.head), &crcs, &chains, &bodies];
            return execute(transaction, INSERT, values).await.map(drop);
        }
        let sink = transaction.copy_in(COPY).await.map_err(failed)?;
        let types = [Type::INT8, Type::INT8, Type::INT4, Type::BYTEA, Type::BYTEA];
        let mut writer = std::pin::pin!(BinaryCopyInWriter::new(sink, &types));
        for record in &self.records {
            let (seq, crc) = (number(record.seq), record.check.cast_signed());
            let values: connection::Values<'_> =
                &[&before.no, &seq, &crc, &record.chain.as_bytes().as_slice(), &record.body];
            writer.as_mut().write(values).await.map_err(failed)?;
        }
        writer.finish().await.map(drop).map_err(failed)
    }
}

/// Converts records to the arrays that `unnest` takes.
pub(super) fn columns(records: &[SealedRecord]) -> (Vec<i32>, Vec<&[u8]>, Vec<&[u8]>) {
    let crcs = records.iter().map(|record| record.check.cast_signed()).collect();
    let chains = records.iter().map(|record| record.chain.as_bytes().as_slice()).collect();
    let bodies = records.iter().map(|record| record.body.as_slice()).collect();
    (crcs, chains, bodies)
}

/// The new values of the session's row, in the types of its columns.
struct SessionUpdate {
    epoch: i64,
    old_head: i64,
    old_chain: Vec<u8>,
    head: i64,
    chain: Vec<u8>,
    summary: String,
    last_active: i64,
    cwd: Option<Vec<u8>>,
    parent: Option<Vec<u8>>,
    tags: Vec<Vec<u8>>,
    agent: Option<Vec<u8>>,
    has_text: bool,
}

impl SessionUpdate {
    fn new(batch: &Batch, before: &SessionRow) -> Result<Self, StoreError> {
        let summary = &batch.summary;
        Ok(Self {
            epoch: number(before.epoch.0),
            old_head: number(before.head),
            old_chain: before.chain.as_bytes().to_vec(),
            head: number(before.head + batch.records.len() as u64),
            chain: batch.chain.as_bytes().to_vec(),
            summary: summary_json(summary)?,
            last_active: number(summary.last_active_at.as_millis()),
            cwd: summary.cwd.as_deref().map(key),
            parent: summary.parent.as_ref().map(|parent| key(parent.as_str())),
            tags: summary.tags.iter().map(|tag| key(tag)).collect(),
            agent: summary.agent_id.as_ref().map(|agent| key(agent.as_str())),
            has_text: batch.has_text,
        })
    }

    fn values<'a>(&'a self, before: &'a SessionRow, level: &'a &str) -> Vec<connection::Value<'a>> {
        vec![
            &before.no,
            &self.epoch,
            &self.old_head,
            &self.old_chain,
            &self.head,
            &self.chain,
            &self.summary,
            &self.last_active,
            &self.cwd,
            &self.parent,
            &self.tags,
            &self.agent,
            &self.has_text,
            level,
        ]
    }
}
