//! Projects checkpoints, learnings and goals of all sessions into tables of their own.
//!
//! This module decides which events to project, and answers queries about them. A row stands for one event. A query folds
//! over the rows of all reachable events, ordered by time, so a deleted session takes its own rows with it.
//! Invariant: [`rebuild`] makes the same rows from the journals.

use lariat_core::archive::{Checkpoint, SessionGoal, SessionLearning};
use lariat_core::event::{AgentEvent, EventRecord};
use lariat_core::id::{MessageId, SessionId};
use lariat_core::store::StoreError;
use lariat_core::time::Timestamp;
use memchr::memmem;
use rusqlite::{Connection, params};

use super::fault::{SqliteFault, no_session};
use super::rows::{self, JournalEnd, RecordSlot, SessionRow, int, uint};
use crate::record::{Chain, SealedRecord};

/// Adds the rows of an event.
pub(super) fn project(connection: &Connection, no: i64, record: &EventRecord) -> Result<(), SqliteFault> {
    let (seq, at) = (int(record.seq), int(record.timestamp.as_millis()));
    match &record.event {
        AgentEvent::Checkpoint { label, message_id } => {
            let message_id = message_id.map(|id| id.uuid().to_string());
            connection
                .prepare_cached("INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?, ?, ?)")?
                .execute(params![no, seq, at, label, message_id])?;
        }
        AgentEvent::Learned(learning) => {
            insert_learning(connection, (no, seq, at), &learning.learning_id, Some(json(learning)?))?;
        }
        AgentEvent::Unlearned { learning_id } => {
            insert_learning(connection, (no, seq, at), learning_id, None)?
        }
        AgentEvent::GoalChanged(goal) => {
            connection
                .prepare_cached("INSERT OR REPLACE INTO goals VALUES (?, ?, ?, ?, ?)")?
                .execute(params![no, seq, at, goal.goal_id, json(goal)?])?;
        }
        _ => {}
    }
    Ok(())
}

fn insert_learning(
    connection: &Connection,
    (no, seq, at): (i64, i64, i64),
    id: &str,
    learning: Option<String>,
) -> Result<(), SqliteFault> {
    connection
        .prepare_cached("INSERT OR REPLACE INTO learnings VALUES (?, ?, ?, ?, ?)")?
        .execute(params![no, seq, at, id, learning])?;
    Ok(())
}

fn json(value: &impl serde::Serialize) -> Result<String, SqliteFault> {
    serde_json::to_string(value).map_err(|error| SqliteFault::Refused(StoreError::Damaged(error.to_string())))
}

fn parse_json<T: serde::de::DeserializeOwned>(json: &str) -> Result<T, SqliteFault> {
    serde_json::from_str(json).map_err(|error| SqliteFault::Refused(StoreError::Damaged(error.to_string())))
}

/// Removes the rows of a session from a position on.
pub(super) fn remove(connection: &Connection, no: i64, from_seq: u64) -> Result<(), SqliteFault> {
    for sql in [
        "DELETE FROM checkpoints WHERE no = ? AND seq >= ?",
        "DELETE FROM learnings WHERE no = ? AND seq >= ?",
        "DELETE FROM goals WHERE no = ? AND seq >= ?",
    ] {
        connection.prepare_cached(sql)?.execute([no, int(from_seq)])?;
    }
    Ok(())
}

/// Rebuilds the tables from all events.
pub(super) fn rebuild(connection: &Connection) -> Result<(), SqliteFault> {
    connection.execute_batch("DELETE FROM checkpoints; DELETE FROM learnings; DELETE FROM goals")?;
    let kinds = ["Checkpoint", "Learned", "Unlearned", "GoalChanged"];
    let finders: Vec<_> =
        kinds.iter().map(|kind| memmem::Finder::new(&format!("\"type\":\"{kind}\"")).into_owned()).collect();
    let mut statement = connection.prepare("SELECT no, seq, chain, crc, body FROM events ORDER BY place")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        // Skip damage here: verification finds and reports it.
        let Ok(body) = row.get_ref(4)?.as_blob() else { continue };
        if !finders.iter().any(|finder| finder.find(body).is_some()) {
            continue;
        }
        let (no, seq): (i64, u64) = (row.get(0)?, uint(row.get(1)?));
        let (Ok(chain), Ok(check)) = (row.get(2), row.get(3)) else { continue };
        let record = SealedRecord { seq, chain: Chain::from_bytes(chain), check, body: body.to_vec() };
        if let Ok(event) = rows::event(connection, RecordSlot { seq, place: None, record: Some(record) }) {
            project(connection, no, &event)?;
        }
    }
    Ok(())
}

/// Returns the checkpoints of a session, including those of the events it shares with its ancestors, oldest first.
pub(super) fn checkpoints(
    connection: &Connection,
    session_id: &SessionId,
) -> Result<Vec<Checkpoint>, SqliteFault> {
    let session = SessionRow::existing(connection, session_id)?.ok_or_else(|| no_session(session_id))?;
    let head = JournalEnd::of(connection, &session)?.head;
    let mut found = Vec::new();
    for segment in rows::segments(connection, &session, head)? {
        let mut statement = connection.prepare_cached(
            "SELECT seq, at, label, message_id FROM checkpoints WHERE no = ? AND seq >= ? AND seq < ? ORDER BY seq",
        )?;
        let rows =
            statement.query_map([segment.no, int(segment.seqs.start), int(segment.seqs.end)], |row| {
                let message_id: Option<String> = row.get(3)?;
                Ok(Checkpoint {
                    seq: uint(row.get(0)?),
                    at: Timestamp::from_millis(uint(row.get(1)?)),
                    label: row.get(2)?,
                    message_id: message_id.and_then(|id| id.parse().ok()).map(MessageId::new),
                })
            })?;
        for checkpoint in rows {
            found.push(checkpoint?);
        }
    }
    Ok(found)
}

/// Returns current learnings, newest first: those with a tag if one is given, and at most `limit` (0 = no limit).
pub(super) fn learnings(
    connection: &Connection,
    tag: Option<&str>,
    limit: usize,
) -> Result<Vec<SessionLearning>, SqliteFault> {
    let mut statement = connection.prepare_cached(
        "SELECT s.id, l.at, l.learning FROM learnings l JOIN sessions s ON s.no = l.no
         WHERE l.learning IS NOT NULL AND (s.kept IS NULL OR l.seq < s.kept) AND NOT EXISTS (
             SELECT 1 FROM learnings later JOIN sessions t ON t.no = later.no
             WHERE later.learning_id = l.learning_id AND (t.kept IS NULL OR later.seq < t.kept)
             AND (later.at, later.no, later.seq) > (l.at, l.no, l.seq))
         AND (?1 IS NULL OR EXISTS (SELECT 1 FROM json_each(l.learning, '$.tags') WHERE value = ?1))
         ORDER BY l.at DESC, l.no DESC, l.seq DESC LIMIT ?2",
    )?;
    let mut rows = statement.query(params![tag, limit_of(limit)])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(SessionLearning {
            session_id: SessionId::from(row.get::<_, String>(0)?),
            at: Timestamp::from_millis(uint(row.get(1)?)),
            learning: parse_json(&row.get::<_, String>(2)?)?,
        });
    }
    Ok(found)
}

/// Returns the current state of all goals, most recent change first.
pub(super) fn goals(connection: &Connection) -> Result<Vec<SessionGoal>, SqliteFault> {
    let mut statement = connection.prepare_cached(
        "SELECT s.id, g.at, g.goal FROM goals g JOIN sessions s ON s.no = g.no
         WHERE (s.kept IS NULL OR g.seq < s.kept) AND NOT EXISTS (
             SELECT 1 FROM goals later JOIN sessions t ON t.no = later.no
             WHERE later.goal_id = g.goal_id AND (t.kept IS NULL OR later.seq < t.kept)
             AND (later.at, later.no, later.seq) > (g.at, g.no, g.seq))
         ORDER BY g.at DESC, g.no DESC, g.seq DESC",
    )?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(SessionGoal {
            session_id: SessionId::from(row.get::<_, String>(0)?),
            at: Timestamp::from_millis(uint(row.get(1)?)),
            goal: parse_json(&row.get::<_, String>(2)?)?,
        });
    }
    Ok(found)
}

/// Converts a limit for SQLite, where a negative number means no limit.
pub(super) fn limit_of(limit: usize) -> i64 {
    if limit == 0 { -1 } else { i64::try_from(limit).unwrap_or(-1) }
}
