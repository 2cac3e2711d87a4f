//! Compares two events, ignoring times and the values of ids.

use std::collections::HashMap;

use serde_json::Value;
use uuid::Uuid;

use crate::event::AgentEvent;
use crate::id::MessageId;

/// Maps the ids of the journal to those of the replay, one to one.
#[derive(Default)]
pub(super) struct IdMap {
    to_replayed: HashMap<Uuid, Uuid>,
    to_recorded: HashMap<Uuid, Uuid>,
    /// Pairs of reasons for refused compactions, recorded and replayed. The journal does not contain what was
    /// proposed, so the texts may differ.
    refusals: Vec<(String, String)>,
}

impl IdMap {
    pub(super) fn matches(&mut self, recorded: &AgentEvent, replayed: &AgentEvent) -> bool {
        if let (
            AgentEvent::CompactionRefused { reason: then, .. },
            AgentEvent::CompactionRefused { reason: now, .. },
        ) = (recorded, replayed)
        {
            self.refusals.push((then.clone(), now.clone()));
        }
        if let (AgentEvent::ContextFull(then), AgentEvent::ContextFull(now)) = (recorded, replayed) {
            self.refusals.push((then.reason.clone(), now.reason.clone()));
        }
        let (recorded, replayed) = (serde_json::to_value(recorded), serde_json::to_value(replayed));
        matches!((recorded, replayed), (Ok(recorded), Ok(replayed)) if self.equal(&recorded, &replayed))
    }

    /// Returns the id that a message of the journal has in the replay.
    pub(super) fn replayed_id(&self, id: MessageId) -> MessageId {
        self.to_replayed.get(&id.uuid()).map_or(id, |uuid| MessageId::new(*uuid))
    }

    fn equal(&mut self, recorded: &Value, replayed: &Value) -> bool {
        match (recorded, replayed) {
            (Value::Object(a), Value::Object(b)) => {
                a.len() == b.len()
                    && a.iter().all(|(name, value)| {
                        let other = b.get(name);
                        name == "timestamp" && other.is_some()
                            || other.is_some_and(|other| self.equal(value, other))
                    })
            }
            (Value::Array(a), Value::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.equal(a, b))
            }
            (Value::String(a), Value::String(b)) => {
                let reworded = |(then, now): &(String, String)| a.replace(then, now) == *b;
                a == b || self.corresponds(a, b) || self.refusals.iter().any(reworded)
            }
            (a, b) => a == b,
        }
    }

    /// Returns whether two ids correspond. Their first comparison makes them a pair.
    fn corresponds(&mut self, recorded: &str, replayed: &str) -> bool {
        let (Ok(recorded), Ok(replayed)) = (Uuid::parse_str(recorded), Uuid::parse_str(replayed)) else {
            return false;
        };
        *self.to_replayed.entry(recorded).or_insert(replayed) == replayed
            && *self.to_recorded.entry(replayed).or_insert(recorded) == recorded
    }
}

/// Formats an event as JSON, truncated if long.
pub(super) fn to_text(event: &AgentEvent) -> String {
    const LENGTH: usize = 600;
    let text = serde_json::to_string(event).unwrap_or_default();
    match text.char_indices().nth(LENGTH) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text,
    }
}
