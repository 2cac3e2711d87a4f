//! The agent as its users use it, on tokio: prompts, observers, control, sessions, recovery, faults.
//!
//! Time is tokio's paused time seen through [`kit::TokioClock`], so nothing here waits for real.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests fail the test when something is not there"
)]

mod budgets;
mod compaction;
mod control;
mod gate;
mod kit;
mod moments;
mod observing;
mod panics;
mod permission;
mod plan;
mod prompt;
mod recovery;
mod regression;
mod running;
mod secrets;
mod sessions;
mod stateless;
mod store_faults;
mod traces;
#[cfg(feature = "typed")]
mod typed;
mod writes;
