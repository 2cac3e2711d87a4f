//! Tests of agents through the public API, on tokio: prompts, observers, control, sessions, recovery, faults.
//!
//! Time is tokio's paused time through [`fixture::TokioClock`], so no test waits for real.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test helpers fail the test when something is missing"
)]

mod background_agents;
mod budgets;
mod commands;
mod compaction;
mod control;
mod findings;
mod fixture;
mod gate;
mod in_process_hooks;
mod memory_store;
mod observing;
mod panics;
mod parallel;
mod permission;
mod plan;
mod prompt;
mod recovery;
mod regression;
mod running;
mod secrets;
mod session_hooks;
mod sessions;
mod stateless;
mod store_faults;
mod sub_agent_grants;
mod sub_agents;
mod token_counts;
mod traces;
#[cfg(all(feature = "tracing", feature = "typed"))]
mod tracing_spans;
#[cfg(feature = "typed")]
mod typed;
mod writes;
