//! How events reach observers without ever slowing the loop.
//!
//! Owns the way from [`EventHub::publish`], which never waits, to each [`Subscription`], whose queue is bounded. A
//! consumer that falls behind loses live events and is given the durable ones again from the journal. Owns no task
//! and no executor: a subscription moves only when it is polled.
//! Invariant: a subscription delivers durable events by `seq`, each once, without a gap; a live event never comes
//! before a durable one that was published before it.

mod history;
mod hub;
mod merge;
mod observer;
mod queue;
mod replay;
mod subscription;
#[cfg(test)]
mod tests;

pub use hub::EventHub;
pub use observer::Observer;
pub use subscription::{Closed, DEFAULT_CAPACITY, Subscription};
