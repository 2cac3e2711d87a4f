//! Finds damage in a journal.
//!
//! After a damaged record, the check continues with the chain of the next whole one. Invariant: the check reads one
//! snapshot of the database, so concurrent appends do not look like damage.

use std::collections::HashSet;

use deadpool_postgres::{Client, GenericClient};
use lariat_core::archive::{Damage, DamageKind, VerificationReport};
use lariat_core::event::Event;
use lariat_core::id::SessionId;
use lariat_core::store::StoreError;
use tokio_postgres::IsolationLevel;

use super::blobs;
use super::connection::{column, failed, number, query, query_opt};
use super::read::{self, JournalSegment};
use super::session_row::{self, SessionRow};
use crate::content;
use crate::record::{Chain, SealedRecord};

/// Number of records to read at once.
pub(super) const PAGE: i64 = 500;

pub(super) const RANGE: &str = "SELECT seq, crc, chain, body FROM lariat.events \
    WHERE session = $1 AND seq >= $2 AND seq < $3 ORDER BY seq LIMIT $4";

const BEYOND: &str = "SELECT count(*) FROM lariat.events WHERE session = $1 AND seq >= $2";

/// The state of a single record.
pub(super) enum RecordState {
    /// As it was written.
    Sound(Event),
    /// Readable, but a blob that it mentions does not match its hash.
    BrokenMention(Event, String),
    /// Unreadable.
    Lost(DamageKind, String),
}

/// Checks a journal.
pub(super) async fn verify(
    client: &mut Client,
    session_id: &SessionId,
) -> Result<VerificationReport, StoreError> {
    let transaction =
        client.build_transaction().isolation_level(IsolationLevel::RepeatableRead).read_only(true);
    let transaction = transaction.start().await.map_err(failed)?;
    let (verdict, _) = check_journal(&transaction, session_id).await?;
    transaction.commit().await.map_err(failed)?;
    Ok(verdict)
}

/// Returns the damage of a journal, and the oldest of its damaged parts.
pub(super) async fn check_journal(
    client: &impl GenericClient,
    session_id: &SessionId,
) -> Result<(VerificationReport, Option<JournalSegment>), StoreError> {
    let session =
        SessionRow::load(client, session_id).await?.ok_or_else(|| session_row::not_found(session_id))?;
    let segments = read::segments(client, session_id).await?;
    let mut check = JournalCheck { verdict: VerificationReport::default(), chain: None };
    let mut oldest = None;
    for segment in &segments {
        let before = check.verdict.damage.len();
        check.segment(client, segment).await?;
        if check.verdict.damage.len() > before {
            oldest = oldest.or(Some(*segment));
        }
    }
    let before = check.verdict.damage.len();
    if check.chain.is_some_and(|chain| chain != session.chain) {
        check.damage(None, DamageKind::Chain, "the chain hash of the last event does not match the session");
    }
    let beyond = query_opt(client, BEYOND, &[&session.no, &number(session.head)]).await?;
    let beyond: i64 = beyond.map(|row| column(&row, 0)).transpose()?.unwrap_or_default();
    if beyond > 0 {
        check.damage(Some(session.head), DamageKind::Garbage, format!("{beyond} records after the end"));
    }
    if check.verdict.damage.len() > before {
        oldest = oldest.or(segments.last().copied());
    }
    Ok((check.verdict, oldest))
}

struct JournalCheck {
    verdict: VerificationReport,
    /// The chain that the next record must continue; `None` after damage.
    chain: Option<Chain>,
}

impl JournalCheck {
    fn damage(&mut self, seq: Option<u64>, kind: DamageKind, note: impl Into<String>) {
        self.verdict.damage.push(Damage::new(seq, None, kind, note));
    }

    async fn segment(
        &mut self,
        client: &impl GenericClient,
        segment: &JournalSegment,
    ) -> Result<(), StoreError> {
        if self.chain.is_some_and(|chain| chain != segment.base) {
            self.damage(
                Some(segment.low),
                DamageKind::Chain,
                "the chain of the fork does not continue the shared events",
            );
        }
        self.chain = Some(segment.base);
        let mut next = segment.low;
        loop {
            let range: super::connection::Values<'_> =
                &[&segment.no, &number(next), &number(segment.high), &PAGE];
            let rows = query(client, RANGE, range).await?;
            let records =
                rows.iter().map(|row| read::record_from_row(row, 0)).collect::<Result<Vec<_>, _>>()?;
            for (record, judged) in records.iter().zip(check_records(client, &records).await?) {
                self.report_missing(next, record.seq);
                self.record(record, judged);
                next = record.seq + 1;
            }
            if records.is_empty() {
                self.report_missing(next, segment.high);
                return Ok(());
            }
        }
    }

    fn report_missing(&mut self, from: u64, to: u64) {
        if from < to {
            self.damage(Some(from), DamageKind::Missing, format!("{} events are missing", to - from));
            self.chain = None;
        }
    }

    fn record(&mut self, record: &SealedRecord, judged: RecordState) {
        let follows = self.chain.is_none_or(|chain| record.follows(chain));
        self.chain = Some(record.chain);
        match judged {
            RecordState::Lost(kind, note) => {
                self.damage(Some(record.seq), kind, note);
                if kind == DamageKind::Checksum {
                    self.chain = None;
                }
            }
            _ if !follows => {
                self.damage(
                    Some(record.seq),
                    DamageKind::Chain,
                    "the chain hash does not continue the previous event",
                );
            }
            RecordState::BrokenMention(_, note) => self.damage(Some(record.seq), DamageKind::Blob, note),
            RecordState::Sound(_) => self.verdict.intact += 1,
        }
    }
}

/// Checks records, each by itself.
pub(super) async fn check_records(
    client: &impl GenericClient,
    records: &[SealedRecord],
) -> Result<Vec<RecordState>, StoreError> {
    let mentioned = records.iter().flat_map(|record| content::mentions(&record.body));
    let mentioned: Vec<[u8; 32]> = mentioned.filter_map(|hash| content::hash_of(&hash)).collect();
    let changed =
        if mentioned.is_empty() { HashSet::new() } else { blobs::find_damaged(client, &mentioned).await? };
    let judge = |(record, event): (&SealedRecord, Result<Event, StoreError>)| {
        Ok(match event {
            _ if !record.is_whole() => {
                RecordState::Lost(DamageKind::Checksum, "the checksum does not match".to_owned())
            }
            // A record that this version cannot read is not damaged, and must not be repaired.
            Err(newer @ StoreError::Newer { .. }) => return Err(newer),
            Err(error) if content::moved_out(&record.body).is_empty() => {
                RecordState::Lost(DamageKind::Garbage, error.to_string())
            }
            Err(error) => RecordState::Lost(DamageKind::Blob, error.to_string()),
            Ok(event) => {
                let mentions = content::mentions(&record.body);
                let broken = mentions
                    .iter()
                    .find(|address| content::hash_of(address).is_some_and(|hash| changed.contains(&hash)));
                match broken {
                    Some(address) => RecordState::BrokenMention(
                        event,
                        format!("blob {} does not match its hash", address.0),
                    ),
                    None => RecordState::Sound(event),
                }
            }
        })
    };
    records.iter().zip(read::unpack_all(client, records).await?).map(judge).collect()
}
