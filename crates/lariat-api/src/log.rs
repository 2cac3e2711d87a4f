//! Defines the items of the durable log and of the live channel of a session.

use lariat_core::event::Event;
use lariat_core::id::SessionId;
use serde::{Deserialize, Serialize};

use crate::{Cursor, Problem, SessionStatus};

/// An item of the durable log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
#[non_exhaustive]
pub enum LogItem {
    /// A durable event of the journal, unchanged.
    Event {
        /// The position after this event: where to continue after a lost connection.
        cursor: Cursor,
        /// The event.
        #[cfg_attr(feature = "schema", schemars(with = "serde_json::Value"))]
        event: Event,
    },
    /// All events that existed when the request arrived were sent. Sent exactly once.
    Synced {
        /// The position that was reached.
        cursor: Cursor,
    },
}

/// An item of the live channel. Live items have no cursor of their own and are never stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
#[non_exhaustive]
pub enum Live {
    /// A live event: a text delta, partial tool output, progress, a retry.
    Event(LiveItem),
    /// The client was too slow and missed live items. The log has everything that matters.
    Resync {
        /// The position of the log when the items were dropped.
        after: u64,
    },
    /// The host cannot continue the run, which has no end in the log. The next command continues it.
    RunLost {
        /// The reason that the host cannot continue the run.
        problem: Problem,
    },
}

/// A live event with the position that it follows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LiveItem {
    /// The number of durable events before it. A client that has not read them yet holds the item back.
    pub after: u64,
    /// The event.
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Value"))]
    pub event: Event,
}

impl LiveItem {
    /// Creates a live item.
    pub const fn new(after: u64, event: Event) -> Self {
        Self { after, event }
    }
}

/// A session changed. For pickers and dashboards, which read the view or the summary if they need more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SessionChange {
    /// The session.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub session_id: SessionId,
    /// The number of its events.
    pub seq: u64,
    /// Its status.
    pub status: SessionStatus,
}

impl SessionChange {
    /// Creates a change.
    pub const fn new(session_id: SessionId, seq: u64, status: SessionStatus) -> Self {
        Self { session_id, seq, status }
    }
}
