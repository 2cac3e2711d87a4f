//! Somebody who is shown everything that agents do: a trace, an exporter, a dashboard.
//!
//! Owns the contract only. An observer hears of events after they are durable, beside the run, in order for each
//! session; several agents may share one.

use lariat_core::event::Event;
use lariat_core::id::SessionId;

/// Is shown every event of the agents it is given to (`AgentBuilder::observer`).
///
/// A run is called done only when its observers have heard of it, so an observer that has to wait for something hands
/// the event on to a thread or a task of its own. One that panics misses that event.
pub trait Observer: Send + Sync {
    /// Hears of one event.
    fn observe(&self, session_id: &SessionId, event: &Event);
}
