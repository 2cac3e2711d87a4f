//! Tests of agents through the public API, on tokio: prompts, observers, control, sessions, recovery, faults.
//!
//! Time is tokio's paused time through [`kit::TokioClock`], so no test waits for real.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test helpers fail the test when something is missing"
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
