//! Re-exports the events of a session, and the ways to observe them.

pub use lariat_core::event::{
    AgentEvent, CompactionCause, ContextFull, ContinuationKind, Description, Event, EventRecord, Finding,
    Goal, GoalStatus, Import, Learning, LimitKind, LoopConfigSnapshot, LoopStart, MessageRef, QueueKind,
    RunOutcome, StreamDelta, TurnTrigger, seed_name,
};
pub use lariat_runtime::EventSender;
pub use lariat_runtime::observe::{Observer, Subscription, SubscriptionEnd};
