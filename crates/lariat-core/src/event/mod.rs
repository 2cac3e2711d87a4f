//! The events of a session. Durable events form the journal; the others are live only.
//!
//! The journal contains each message once ([`AgentEvent::MessageEnd`] and [`AgentEvent::MessageQueued`]); all
//! other events refer to messages by id. Observers receive the same events with the messages attached
//! ([`MessageRef::get`]). Invariant: an event that is read from a journal and written again stays the same,
//! even if this version does not know its kind.

mod about;
mod compaction;
mod full;
mod kind;
mod loops;
mod record;
mod reference;
mod resolve;
mod seed;
#[cfg(test)]
mod tests;

pub use about::{Description, Goal, GoalStatus, Import, Learning};
pub use compaction::{CompactionCause, CompactionEdit};
pub use full::{ContextFull, LargeMessage};
pub use kind::{AgentEvent, QueueKind, StreamDelta};
pub use loops::{
    ContinuationKind, LimitKind, LoopConfigSnapshot, LoopPattern, LoopStart, RunOutcome, SpawnRef,
    TurnTrigger,
};
pub use record::{EventParseError, EventRecord, FORMAT_VERSION};
pub use reference::{ArgsRef, MessageRef, Recorded};
pub use resolve::Resolver;
pub use seed::{SEED_NAMES, SeedTold, seed_name};

/// An event that journal and observers share.
pub type Event = std::sync::Arc<EventRecord>;
