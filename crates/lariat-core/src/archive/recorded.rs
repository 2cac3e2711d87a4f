//! Defines what sessions record for later: checkpoints, learnings and goals.
//!
//! The functions read the journals and work with every store. A store with an index overrides the methods of
//! [`SessionArchive`] that call them, and must return the same.

use std::collections::HashMap;

use super::{ListQuery, SessionArchive};
use crate::event::{AgentEvent, Event, Goal, Learning};
use crate::id::{MessageId, SessionId};
use crate::store::StoreError;
use crate::time::Timestamp;

/// Events to read at once.
const BATCH: usize = 1_000;
/// Sessions to list at once.
const SESSIONS: usize = 200;

/// A named point of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Position of the checkpoint event.
    pub seq: u64,
    /// When the checkpoint was made.
    pub at: Timestamp,
    /// The checkpoint's name.
    pub label: String,
    /// The last message before the checkpoint.
    pub message_id: Option<MessageId>,
}

/// A learning and the session it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionLearning {
    /// The session that recorded it last.
    pub session_id: SessionId,
    /// When the session recorded it.
    pub at: Timestamp,
    /// The learning.
    pub learning: Learning,
}

/// A goal and the session that set or changed it last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionGoal {
    /// The session.
    pub session_id: SessionId,
    /// When the session set or changed the goal.
    pub at: Timestamp,
    /// The goal.
    pub goal: Goal,
}

/// The checkpoints of a session, oldest first.
pub(super) async fn checkpoints<A: SessionArchive + ?Sized>(
    archive: &A,
    session_id: &SessionId,
) -> Result<Vec<Checkpoint>, StoreError> {
    let mut found = Vec::new();
    let read = each_event(archive, session_id, |event| {
        if let AgentEvent::Checkpoint { label, message_id } = &event.event {
            let (seq, at) = (event.seq, event.timestamp);
            found.push(Checkpoint { seq, at, label: label.clone(), message_id: *message_id });
        }
    });
    if read.await? == 0 {
        return Err(StoreError::NotFound(format!("session {session_id}")));
    }
    Ok(found)
}

/// What all sessions learned and did not unlearn, newest first.
pub(super) async fn learnings<A: SessionArchive + ?Sized>(
    archive: &A,
    tag: Option<&str>,
    limit: usize,
) -> Result<Vec<SessionLearning>, StoreError> {
    let mut newest: Newest<Option<Learning>> = Newest::default();
    for session_id in sessions(archive).await? {
        let read = each_event(archive, &session_id, |event| match &event.event {
            AgentEvent::Learned(learning) => {
                newest.put(&learning.learning_id, event, &session_id, Some((**learning).clone()));
            }
            AgentEvent::Unlearned { learning_id } => newest.put(learning_id, event, &session_id, None),
            _ => {}
        });
        read.await?;
    }
    let found = newest.into_sorted().filter_map(|(at, session_id, learning)| {
        let learning =
            learning.filter(|known| tag.is_none_or(|tag| known.tags.iter().any(|own| own == tag)))?;
        Some(SessionLearning { session_id, at, learning })
    });
    Ok(found.take(if limit == 0 { usize::MAX } else { limit }).collect())
}

/// The current goals of all sessions, most recent change first.
pub(super) async fn goals<A: SessionArchive + ?Sized>(archive: &A) -> Result<Vec<SessionGoal>, StoreError> {
    let mut newest: Newest<Goal> = Newest::default();
    for session_id in sessions(archive).await? {
        let read = each_event(archive, &session_id, |event| {
            if let AgentEvent::GoalChanged(goal) = &event.event {
                newest.put(&goal.goal_id, event, &session_id, (**goal).clone());
            }
        });
        read.await?;
    }
    Ok(newest.into_sorted().map(|(at, session_id, goal)| SessionGoal { session_id, at, goal }).collect())
}

/// The newest value of each key over all sessions. An event that forks share is included once, for one of its sessions.
struct Newest<T> {
    by_key: HashMap<String, (Timestamp, u64, SessionId, T)>,
}

impl<T> Default for Newest<T> {
    fn default() -> Self {
        Self { by_key: HashMap::new() }
    }
}

impl<T> Newest<T> {
    fn put(&mut self, key: &str, event: &Event, session_id: &SessionId, value: T) {
        let known = self.by_key.get(key);
        // Listings are newest first, so that a session that was forked replaces its fork here.
        if known.is_none_or(|(at, seq, ..)| (*at, *seq) <= (event.timestamp, event.seq)) {
            self.by_key.insert(key.to_owned(), (event.timestamp, event.seq, session_id.clone(), value));
        }
    }

    fn into_sorted(self) -> impl Iterator<Item = (Timestamp, SessionId, T)> {
        let mut all: Vec<_> = self.by_key.into_values().collect();
        all.sort_by(|a, b| (b.0, b.1, &b.2).cmp(&(a.0, a.1, &a.2)));
        all.into_iter().map(|(at, _, session_id, value)| (at, session_id, value))
    }
}

async fn sessions<A: SessionArchive + ?Sized>(archive: &A) -> Result<Vec<SessionId>, StoreError> {
    let mut query = ListQuery { limit: SESSIONS, ..ListQuery::default() };
    let mut found = Vec::new();
    loop {
        let page = archive.list(&query).await?;
        let Some(last) = page.last() else { return Ok(found) };
        query.after = Some(last.cursor());
        found.extend(page.into_iter().map(|summary| summary.session_id));
    }
}

/// Visits the events of a session and returns their number.
async fn each_event<A: SessionArchive + ?Sized>(
    archive: &A,
    session_id: &SessionId,
    mut visit: impl FnMut(&Event),
) -> Result<u64, StoreError> {
    let mut next = 0;
    loop {
        let page = archive.read(session_id, next, BATCH).await?;
        if page.is_empty() {
            return Ok(next);
        }
        next += page.len() as u64;
        page.iter().for_each(&mut visit);
    }
}
