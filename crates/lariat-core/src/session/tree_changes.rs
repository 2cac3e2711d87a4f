//! Finds what a session and its sub-agents changed after a point, from their journals.
//!
//! A sub-agent has a session of its own, so its tool calls are not in the journal of its parent. Of a sub-agent that began before
//! the point and worked on after it, in the background, only the tool calls are included that began later by the clock.

use std::collections::HashSet;

use crate::event::{AgentEvent, Event};
use crate::id::SessionId;
use crate::time::Timestamp;

/// Collects the ids under which undo recorded what a tree of sessions changed after a point.
#[derive(Debug, Default)]
pub struct TreeChanges {
    ids: HashSet<String>,
    since: Since,
    /// The time of the point, once it is known.
    point: Option<Timestamp>,
    known: HashSet<SessionId>,
    waiting: Vec<(SessionId, Since)>,
}

/// Which events of a journal are after the point.
#[derive(Clone, Copy, Debug, Default)]
enum Since {
    /// All of them.
    #[default]
    Begin,
    /// Those after an event.
    After(u64),
    /// Those after a time.
    Time(Timestamp),
}

impl TreeChanges {
    /// Starts with the journal of a session, after an event or at its beginning. Read it from that event on.
    pub fn after(seq: Option<u64>) -> Self {
        let since = seq.map_or(Since::Begin, Since::After);
        Self { since, ..Self::default() }
    }

    /// Reads the next events of the session.
    pub fn read(&mut self, events: &[Event]) {
        for event in events {
            let is_later = match self.since {
                Since::Begin => true,
                Since::After(seq) => event.seq > seq,
                Since::Time(time) => event.timestamp >= time,
            };
            if is_later {
                self.point.get_or_insert(event.timestamp);
                self.observe(event);
            } else if matches!(self.since, Since::After(_)) {
                self.point = Some(event.timestamp);
            }
        }
    }

    fn observe(&mut self, event: &Event) {
        self.ids.extend(event.change_id());
        match &event.event {
            AgentEvent::SubAgentSpawned { child_session_id, .. } => {
                self.add(child_session_id.clone(), Since::Begin);
            }
            // One that began before the point.
            AgentEvent::SubAgentCompleted { child_loop_id, .. } => {
                let time = self.point.unwrap_or_default();
                self.add(child_loop_id.session(), Since::Time(time));
            }
            _ => {}
        }
    }

    fn add(&mut self, session: SessionId, since: Since) {
        if self.known.insert(session.clone()) {
            self.waiting.push((session, since));
        }
    }

    /// Returns the next session to read, from its beginning.
    pub fn next_session(&mut self) -> Option<SessionId> {
        let (session, since) = self.waiting.pop()?;
        self.since = since;
        self.point = match since {
            Since::Time(time) => Some(time),
            _ => None,
        };
        Some(session)
    }

    /// Returns the ids.
    pub fn into_ids(self) -> HashSet<String> {
        self.ids
    }
}

#[cfg(test)]
#[path = "tree_changes_tests.rs"]
mod tests;
