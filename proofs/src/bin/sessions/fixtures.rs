//! Fixtures of the tests of `lariat-sessions` and `lariat-test`, shared with this proof.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "fixtures of tests; this proof does not use all of them"
)]

#[path = "../../../../crates/lariat-test/tests/sessions/handle.rs"]
mod handle;
#[path = "../../../../crates/lariat-sessions/tests/host/fixture.rs"]
pub(crate) mod host;
#[path = "../../../../crates/lariat-sessions/tests/host/local_hosts.rs"]
pub(crate) mod local_hosts;
#[path = "../../../../crates/lariat-sessions/tests/host/marking_agents.rs"]
mod marking_agents;
#[path = "../../../../crates/lariat-test/tests/sessions/mistakes.rs"]
pub(crate) mod mistakes;
#[path = "../../../../crates/lariat-sessions/tests/host/on_runtime.rs"]
pub(crate) mod on_runtime;
#[path = "../../../../crates/lariat-test/tests/sessions/outside_runs.rs"]
mod outside_runs;
#[path = "../../../../crates/lariat-sessions/tests/host/simulated_hosts.rs"]
pub(crate) mod simulated_hosts;
#[path = "../../../../crates/lariat-test/tests/sessions/state.rs"]
mod state;
#[path = "../../../../crates/lariat-test/tests/sessions/toy.rs"]
pub(crate) mod toy;
