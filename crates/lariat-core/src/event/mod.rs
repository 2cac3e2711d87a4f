//! The events of a session. Durable events form the journal; the others are live only.
//!
//! The journal contains each message once ([`AgentEvent::MessageEnd`] and [`AgentEvent::MessageQueued`]); all
//! other events refer to messages by id. Observers receive the same events with the messages attached
//! ([`MessageRef::get`]). Invariant: an event that is read from a journal and written again stays the same,
//! even if this version does not know its kind.

mod context_full;
mod dotted_names;
mod finding;
mod insight;
mod kind;
mod loops;
mod name;
mod record;
mod reference;
mod resolve;
mod session_data;

pub use crate::budget::LimitKind;
pub use crate::compaction::{CompactionCause, CompactionEdit};
pub use context_full::{ContextFull, LargeMessage};
pub use dotted_names::{DottedNameSource, SEED_NAMES, seed_name};
pub use finding::Finding;
pub use insight::{Insight, InsightFold};
pub use kind::{AgentEvent, QueueKind, StreamDelta};
pub use loops::{
    ContinuationKind, LoopConfigSnapshot, LoopPattern, LoopStart, RunOutcome, SpawnRef, TurnTrigger,
};
pub use record::{EventParseError, EventRecord, FORMAT_VERSION, change_id_in_loop};
pub use reference::{ArgsRef, MessageRef, RecordedMessage};
pub use resolve::Resolver;
pub use session_data::{
    AUTOMATIC_CHECKPOINT, BlockedBy, CommandRecord, Description, FileRestore, FileRestoreResult, Goal,
    GoalStatus, Import, Learning, RewindTarget, SessionFormation, Task, UserCommandResult,
};

/// An event that journal and observers share.
pub type Event = std::sync::Arc<EventRecord>;

#[cfg(test)]
mod tests;
