//! The trait for observers of agents: a trace, an exporter, a dashboard.
//!
//! An observer receives events after they are durable, in parallel with the run and in order for each
//! session. Several agents may share one.

use lariat_core::event::Event;
use lariat_core::id::SessionId;

/// Receives every event of the agents it is added to (`AgentBuilder::observer`).
///
/// A run finishes only after its observers have received all its events, so an observer that has to wait
/// should pass the event to a thread or task of its own. An observer that panics misses that event.
pub trait Observer: Send + Sync {
    /// Receives one event.
    fn observe(&self, session_id: &SessionId, event: &Event);
}
