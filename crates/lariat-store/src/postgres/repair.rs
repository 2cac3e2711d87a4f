//! Repairs a damaged journal.
//!
//! The repair keeps the bodies of whole records, replaces the others with [`AgentEvent::EventLost`], and chains all records
//! again, in every session that shares them. Damaged records go to the table `quarantine`.
//! Invariant: the repair is one transaction that locks the sessions, so no writer can append to them meanwhile.

use deadpool_postgres::{Client, Transaction};
use lariat_core::archive::{DamageKind, VerificationReport};
use lariat_core::event::{AgentEvent, EventRecord, FORMAT_VERSION};
use lariat_core::id::{EventId, SessionId};
use lariat_core::store::StoreError;
use lariat_core::time::Timestamp;
use tokio_postgres::Row;

use super::batch::columns;
use super::check::{self, PAGE, RANGE, RecordState};
use super::connection::{Values, column, execute, failed, number, position, query, query_opt};
use super::{fork, projections, read, session_row};
use crate::content;
use crate::record::{Chain, SealedRecord};

/// Maximum number of consecutive lost events. A larger gap means a wrong number, not damage.
const MOST_LOST: u64 = 1_000_000;

const LOCK: &str =
    "SELECT id, fork_seq, head, deleted, summary::text FROM lariat.sessions WHERE no = $1 FOR UPDATE";

const ASIDE: &str = "INSERT INTO lariat.quarantine (session, seq, crc, chain, body) \
    SELECT session, seq, crc, chain, body FROM lariat.events WHERE session = $1 AND seq = ANY ($2)";

const BEYOND: &str = "WITH gone AS (DELETE FROM lariat.events WHERE session = $1 AND seq >= $2 RETURNING *) \
    INSERT INTO lariat.quarantine (session, seq, crc, chain, body) SELECT session, seq, crc, chain, body FROM gone";

const PUT: &str = "INSERT INTO lariat.events (session, seq, crc, chain, body) \
    SELECT $1, * FROM unnest($2::bigint[], $3::integer[], $4::bytea[], $5::bytea[]) \
    ON CONFLICT (session, seq) DO UPDATE SET crc = excluded.crc, chain = excluded.chain, body = excluded.body";

const END: &str =
    "UPDATE lariat.sessions SET base = $2, chain = $3, searched = 0, stale = NOT deleted WHERE no = $1";

const SUMMARY: &str = "UPDATE lariat.sessions SET summary = $2::text::json, last_active = $3 WHERE no = $1";

const FORGET: &[&str] = &[
    "DELETE FROM lariat.snapshots WHERE session = $1",
    "DELETE FROM lariat.folds WHERE session = $1",
    "DELETE FROM lariat.search WHERE session = $1",
];

const FORKS: &str = "SELECT f.no, e.chain FROM lariat.sessions f \
    JOIN lariat.events e ON e.session = f.fork_of AND e.seq = f.fork_seq - 1 WHERE f.fork_of = $1";

/// Repairs a journal. Returns the damage found before the repair.
pub(super) async fn repair(
    client: &mut Client,
    session_id: &SessionId,
) -> Result<VerificationReport, StoreError> {
    let transaction = client.transaction().await.map_err(failed)?;
    let (verdict, oldest) = check::check_journal(&transaction, session_id).await?;
    let mut todo: Vec<(i64, Chain)> = oldest.iter().map(|segment| (segment.no, segment.base)).collect();
    while let Some((no, base)) = todo.pop() {
        SessionRewrite::begin(&transaction, no, base).await?.perform().await?;
        for row in query(&transaction, FORKS, &[&no]).await? {
            todo.push((column(&row, 0)?, session_row::chain(column(&row, 1)?)?));
        }
    }
    transaction.commit().await.map_err(failed)?;
    Ok(verdict)
}

/// A session whose own events are chained again.
struct SessionRewrite<'a> {
    transaction: &'a Transaction<'a>,
    no: i64,
    row: Row,
    base: Chain,
    chain: Chain,
    next: u64,
    now: Timestamp,
    changed: Vec<SealedRecord>,
}

impl<'a> SessionRewrite<'a> {
    async fn begin(transaction: &'a Transaction<'a>, no: i64, base: Chain) -> Result<Self, StoreError> {
        let row = query_opt(transaction, LOCK, &[&no]).await?;
        let row = row.ok_or_else(|| StoreError::Damaged(format!("session number {no} is missing")))?;
        let next = position(column(&row, 1)?);
        let (now, changed) = (Timestamp::default(), Vec::new());
        Ok(Self { transaction, no, row, base, chain: base, next, now, changed })
    }

    async fn perform(mut self) -> Result<(), StoreError> {
        let head = position(column(&self.row, 2)?);
        execute(self.transaction, BEYOND, &[&self.no, &number(head)]).await?;
        loop {
            let range: Values<'_> = &[&self.no, &number(self.next), &number(head), &PAGE];
            let rows = query(self.transaction, RANGE, range).await?;
            let records =
                rows.iter().map(|row| read::record_from_row(row, 0)).collect::<Result<Vec<_>, _>>()?;
            let end = records.is_empty();
            self.page(records).await?;
            if end {
                self.fill_missing(head)?;
                self.put().await?;
                break;
            }
        }
        let (base, chain) = (self.base.as_bytes().as_slice(), self.chain.as_bytes().as_slice());
        execute(self.transaction, END, &[&self.no, &base, &chain]).await?;
        for statement in FORGET {
            execute(self.transaction, statement, &[&self.no]).await?;
        }
        projections::rebuild_session(self.transaction, self.no).await?;
        self.summarise(head).await
    }

    async fn page(&mut self, records: Vec<SealedRecord>) -> Result<(), StoreError> {
        let judged = check::check_records(self.transaction, &records).await?;
        let mut aside = Vec::new();
        for (record, judged) in records.into_iter().zip(judged) {
            self.fill_missing(record.seq)?;
            match judged {
                RecordState::Sound(event) | RecordState::BrokenMention(event, _) => {
                    self.now = event.timestamp;
                    self.next += 1;
                    let again = SealedRecord::new(record.seq, self.chain, record.body.clone());
                    self.chain = again.chain;
                    if again != record {
                        self.changed.push(again);
                    }
                }
                RecordState::Lost(kind, note) => {
                    aside.push(number(record.seq));
                    // Do not name the blob: a note with a blob address would be a reference to the blob.
                    let blob = (kind == DamageKind::Blob)
                        .then(|| "a blob of the event is missing or damaged".to_owned());
                    self.push_lost(blob.unwrap_or(note))?;
                }
            }
        }
        execute(self.transaction, ASIDE, &[&self.no, &aside]).await?;
        self.put().await
    }

    /// Fills the positions up to `to` with lost events.
    fn fill_missing(&mut self, to: u64) -> Result<(), StoreError> {
        if to.saturating_sub(self.next) > MOST_LOST {
            return Err(StoreError::Damaged(format!(
                "cannot repair: events {} to {to} are missing, which is too many",
                self.next
            )));
        }
        while self.next < to {
            self.push_lost("the event was missing".to_owned())?;
        }
        Ok(())
    }

    fn push_lost(&mut self, note: String) -> Result<(), StoreError> {
        let event = EventRecord {
            v: FORMAT_VERSION,
            seq: self.next,
            id: EventId::new(uuid::Uuid::new_v4()),
            timestamp: self.now,
            loop_id: None,
            event: AgentEvent::EventLost { note },
        };
        let record = SealedRecord::new(self.next, self.chain, content::pack(&event)?.body);
        self.chain = record.chain;
        self.next += 1;
        self.changed.push(record);
        Ok(())
    }

    async fn put(&mut self) -> Result<(), StoreError> {
        let records = std::mem::take(&mut self.changed);
        let seqs: Vec<i64> = records.iter().map(|record| number(record.seq)).collect();
        let (crcs, chains, bodies) = columns(&records);
        execute(self.transaction, PUT, &[&self.no, &seqs, &crcs, &chains, &bodies]).await.map(drop)
    }

    /// Updates the summary in the session's row, unless the session is deleted.
    async fn summarise(&self, head: u64) -> Result<(), StoreError> {
        if column(&self.row, 3)? {
            return Ok(());
        }
        let session_id = SessionId::from(String::from_utf8_lossy(column(&self.row, 0)?).into_owned());
        let before = session_row::summary(column(&self.row, 4)?)?;
        let mut summary = fork::fold(self.transaction, &session_id, head).await?;
        summary.parent = before.parent.or(summary.parent);
        let json = session_row::summary_json(&summary)?;
        let last_active = number(summary.last_active_at.as_millis());
        execute(self.transaction, SUMMARY, &[&self.no, &json, &last_active]).await.map(drop)
    }
}
