//! Passes events to observers without ever slowing the loop.
//!
//! [`EventHub::publish`] never waits; each [`Subscription`] has a bounded queue. A consumer that falls behind
//! misses live events and re-reads the durable ones from the journal. There is no task and no executor: a
//! subscription only makes progress when it is polled.
//!
//! Invariant: a subscription delivers durable events in order of `seq`, each once, without a gap; a live
//! event never comes before a durable one that was published before it.

mod history;
mod hub;
mod merge;
mod observer;
mod queue;
mod replay;
mod subscription;

pub use hub::EventHub;
pub use observer::Observer;
pub use subscription::{DEFAULT_CAPACITY, Subscription, SubscriptionEnd};

#[cfg(test)]
mod tests;
