//! The envelope of every event, and its parser.
//!
//! An event of an unknown kind is kept. An event of a known kind with wrong fields is an error; it is never
//! kept as unknown.

use serde::{Deserialize, Serialize};

use super::AgentEvent;
use super::kind::KNOWN_KINDS;
use crate::id::{EventId, LoopId};
use crate::time::Timestamp;

/// Version of the journal format that this code writes.
pub const FORMAT_VERSION: u16 = 1;

/// An event with its position in the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "UncheckedRecord")]
pub struct EventRecord {
    /// Format version.
    pub v: u16,
    /// Position in the session's journal, counted from 0. A live event has the position of the next durable
    /// one.
    pub seq: u64,
    /// Id of the event, UUID v7.
    pub id: EventId,
    /// Time of the event.
    pub timestamp: Timestamp,
    /// Loop of the event; `None` for events of the session as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loop_id: Option<LoopId>,
    /// What happened.
    #[serde(flatten)]
    pub event: AgentEvent,
}

/// Why a journal line is not an event.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EventParseError {
    /// The line is not JSON, or the envelope is incomplete.
    #[error("not an event: {0}")]
    Malformed(#[from] serde_json::Error),
    /// The kind is known, but its fields are missing or wrong.
    #[error("event of kind `{0}` has missing or wrong fields")]
    WrongFields(String),
    /// A newer version wrote the event, in a format that this one does not know.
    #[error("the event has format {0}, this version reads up to {FORMAT_VERSION}")]
    Newer(u16),
}

/// Returns the id of a change of files by a tool call of a loop. Two loops may have tool calls with the same id.
pub fn change_id_in_loop(call: &str, loop_id: &str) -> String {
    format!("{call}@{loop_id}")
}

/// A record as read, before validation.
#[derive(Deserialize)]
struct UncheckedRecord {
    v: u16,
    seq: u64,
    id: EventId,
    timestamp: Timestamp,
    #[serde(default)]
    loop_id: Option<LoopId>,
    #[serde(flatten)]
    event: AgentEvent,
}

impl TryFrom<UncheckedRecord> for EventRecord {
    type Error = EventParseError;

    fn try_from(unchecked: UncheckedRecord) -> Result<Self, EventParseError> {
        let UncheckedRecord { v, seq, id, timestamp, loop_id, mut event } = unchecked;
        if v > FORMAT_VERSION {
            return Err(EventParseError::Newer(v));
        }
        match (&mut event, &loop_id) {
            (AgentEvent::AgentStart(start), Some(loop_id)) => start.loop_id = loop_id.clone(),
            (AgentEvent::AgentStart(_), None) => {
                return Err(EventParseError::WrongFields("AgentStart".to_owned()));
            }
            _ => {}
        }
        match event.unknown_kind() {
            Some(kind) if KNOWN_KINDS.contains(&kind) => Err(EventParseError::WrongFields(kind.to_owned())),
            _ => Ok(Self { v, seq, id, timestamp, loop_id, event }),
        }
    }
}

impl EventRecord {
    /// Returns the id under which undo finds what changes files from here on: a tool call with its loop, or a command of the user.
    pub fn change_id(&self) -> Option<String> {
        let id = self.event.change_id()?;
        match (&self.event, &self.loop_id) {
            (AgentEvent::ToolExecutionStart { .. }, Some(loop_id)) => {
                Some(change_id_in_loop(&id, loop_id.as_str()))
            }
            _ => Some(id),
        }
    }

    /// Parses one event from JSON.
    ///
    /// # Errors
    /// Fails if the text is not an event, or has a newer format. Accepts unknown kinds.
    pub fn from_json(json: &[u8]) -> Result<Self, EventParseError> {
        match serde_json::from_slice::<UncheckedRecord>(json) {
            Ok(unchecked) => unchecked.try_into(),
            // A newer format may have another envelope, so its number decides.
            Err(error) => Err(match Self::format_of(json) {
                Some(v) if v > FORMAT_VERSION => EventParseError::Newer(v),
                _ => error.into(),
            }),
        }
    }

    /// Returns the format version of an event's JSON. Every format has it as the field `v`.
    pub fn format_of(json: &[u8]) -> Option<u16> {
        #[derive(Deserialize)]
        struct Format {
            v: u16,
        }
        serde_json::from_slice::<Format>(json).ok().map(|format| format.v)
    }

    /// Returns true if the event belongs in the journal.
    pub const fn is_durable(&self) -> bool {
        self.event.is_durable()
    }
}
