//! The one event vocabulary. Durable events *are* the journal; the rest are live only.
//!
//! Owns the envelope, the kinds of events and their journal form. In the journal, content is written once
//! ([`AgentEvent::MessageEnd`] and [`AgentEvent::MessageQueued`]); every other event names messages by id. Observers
//! get the same events with those names resolved ([`MessageRef::get`]).
//! Invariant: an event read from a journal and written again is the same event, also when this version does not know it.

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

/// An event as it is shared between journal and observers.
pub type Event = std::sync::Arc<EventRecord>;
