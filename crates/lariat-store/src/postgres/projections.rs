//! Projects checkpoints, learnings and goals into tables, for queries across sessions.
//!
//! A row belongs to one event and is written together with it; views select the newest.
//! Invariant: the tables match the journals and can be rebuilt from them.

use deadpool_postgres::{Client, Transaction};
use lariat_core::event::{AgentEvent, EventRecord, Goal, GoalStatus, Learning};
use lariat_core::store::StoreError;
use lariat_core::time::Timestamp;

use super::connection::{column, execute, failed, number, query};
use super::read;

/// Number of sessions to look up at once.
const SESSIONS: i64 = 256;

/// The end of the year 9999, in milliseconds: the last time that is readable in every client.
const LAST_MOMENT: i64 = 253_402_300_799_999;

const CHECKPOINTS: &str = "INSERT INTO lariat.checkpoints (session, seq, at, label, message_id) \
    SELECT $1, seq, to_timestamp(at / 1000.0), label, message_id \
    FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[]) AS c (seq, at, label, message_id)";

const LEARNING: &str = "INSERT INTO lariat.learnings (session, seq, at, learning_id, text, evidence, tags, forgotten) \
    VALUES ($1, $2, to_timestamp($3::bigint / 1000.0), $4, $5, $6, $7, $8)";

const GOAL: &str = "INSERT INTO lariat.goals (session, seq, at, goal_id, text, status) \
    VALUES ($1, $2, to_timestamp($3::bigint / 1000.0), $4, $5, $6)";

const CLEAR: &[&str] = &[
    "DELETE FROM lariat.checkpoints WHERE session = $1",
    "DELETE FROM lariat.learnings WHERE session = $1",
    "DELETE FROM lariat.goals WHERE session = $1",
];

const KEPT: &str = "SELECT no FROM lariat.sessions WHERE NOT purged AND no > $1 ORDER BY no LIMIT $2";

/// Blocks appends meanwhile.
const LOCK: &str = "SELECT FROM lariat.sessions WHERE no = $1 FOR NO KEY UPDATE";

/// Bodies are compact JSON: an event without one of these strings is not projected.
const FIND: &str = "SELECT seq, crc, chain, body FROM lariat.events WHERE session = $1 AND seq >= $2 AND ( \
    position('\"type\":\"Checkpoint\"'::bytea IN body) > 0 OR position('\"type\":\"Learned\"'::bytea IN body) > 0 OR \
    position('\"type\":\"Unlearned\"'::bytea IN body) > 0 OR position('\"type\":\"GoalChanged\"'::bytea IN body) > 0) \
    ORDER BY seq LIMIT 1000";

/// The rows of a batch of events.
#[derive(Default)]
pub(super) struct ProjectionRows {
    checkpoints: Vec<(i64, i64, String, Option<String>)>,
    learnings: Vec<(i64, i64, Learning, bool)>,
    goals: Vec<(i64, i64, Goal)>,
}

impl ProjectionRows {
    /// Adds the rows of an event.
    pub(super) fn take(&mut self, record: &EventRecord) {
        let (seq, at) = (number(record.seq), clamped_millis(record.timestamp));
        match &record.event {
            AgentEvent::Checkpoint { label, message_id } => {
                self.checkpoints.push((seq, at, without_nul(label), message_id.map(|id| id.to_string())));
            }
            AgentEvent::Learned(learning) => {
                self.learnings.push((seq, at, Learning::clone(learning), false));
            }
            AgentEvent::Unlearned { learning_id } => {
                let mut forgotten = Learning::default();
                forgotten.learning_id.clone_from(learning_id);
                self.learnings.push((seq, at, forgotten, true));
            }
            AgentEvent::GoalChanged(goal) => self.goals.push((seq, at, Goal::clone(goal))),
            _ => {}
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.checkpoints.is_empty() && self.learnings.is_empty() && self.goals.is_empty()
    }

    /// Writes the rows.
    pub(super) async fn insert(&self, transaction: &Transaction<'_>, session: i64) -> Result<(), StoreError> {
        if !self.checkpoints.is_empty() {
            let seqs: Vec<i64> = self.checkpoints.iter().map(|row| row.0).collect();
            let times: Vec<i64> = self.checkpoints.iter().map(|row| row.1).collect();
            let labels: Vec<&str> = self.checkpoints.iter().map(|row| row.2.as_str()).collect();
            let messages: Vec<Option<&str>> = self.checkpoints.iter().map(|row| row.3.as_deref()).collect();
            execute(transaction, CHECKPOINTS, &[&session, &seqs, &times, &labels, &messages]).await?;
        }
        for (seq, at, learning, forgotten) in &self.learnings {
            let text = Some(without_nul(&learning.text)).filter(|_| !forgotten);
            let evidence = learning.evidence.as_deref().map(without_nul);
            let tags: Vec<String> = learning.tags.iter().map(|tag| without_nul(tag)).collect();
            let id = without_nul(&learning.learning_id);
            execute(transaction, LEARNING, &[&session, seq, at, &id, &text, &evidence, &tags, forgotten])
                .await?;
        }
        for (seq, at, goal) in &self.goals {
            let (id, text) = (without_nul(&goal.goal_id), without_nul(&goal.text));
            execute(transaction, GOAL, &[&session, seq, at, &id, &text, &status(goal.status)]).await?;
        }
        Ok(())
    }
}

/// Rebuilds the rows of all sessions.
pub(super) async fn rebuild(client: &mut Client) -> Result<(), StoreError> {
    let mut last = 0_i64;
    loop {
        let sessions = query(client, KEPT, &[&last, &SESSIONS]).await?;
        for row in &sessions {
            last = column(row, 0)?;
            let transaction = client.transaction().await.map_err(failed)?;
            query(&transaction, LOCK, &[&last]).await?;
            rebuild_session(&transaction, last).await?;
            transaction.commit().await.map_err(failed)?;
        }
        if sessions.is_empty() {
            return Ok(());
        }
    }
}

/// Rebuilds the rows of a session, which must be locked. Skips damaged events.
pub(super) async fn rebuild_session(transaction: &Transaction<'_>, session: i64) -> Result<(), StoreError> {
    for statement in CLEAR {
        execute(transaction, statement, &[&session]).await?;
    }
    let mut next = 0_i64;
    loop {
        let rows = query(transaction, FIND, &[&session, &next]).await?;
        let mut records =
            rows.iter().map(|row| read::record_from_row(row, 0)).collect::<Result<Vec<_>, _>>()?;
        let Some(last) = records.last() else { return Ok(()) };
        next = number(last.seq + 1);
        records.retain(crate::record::SealedRecord::is_whole);
        let mut projected = ProjectionRows::default();
        for event in read::unpack_all(transaction, &records).await?.into_iter().flatten() {
            projected.take(&event);
        }
        projected.insert(transaction, session).await?;
    }
}

fn clamped_millis(at: Timestamp) -> i64 {
    number(at.as_millis()).min(LAST_MOMENT)
}

/// Replaces NUL, which text columns cannot contain.
fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{FFFD}")
}

fn status(status: GoalStatus) -> &'static str {
    match status {
        GoalStatus::Done => "done",
        GoalStatus::Dropped => "dropped",
        _ => "active",
    }
}
