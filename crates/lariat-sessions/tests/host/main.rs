//! Tests of the host in this process, on a real store with a scripted model.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test helpers fail the test when something is missing"
)]

mod asks;
mod commands;
mod conformance;
mod creation;
mod fixture;
mod local_hosts;
mod marking_agents;
mod on_runtime;
mod one_client;
mod reading;
mod simulated_hosts;
mod simulation;
mod snapshots;
mod trees;
mod work_outside_runs;
