//! Tests lariat-host with the real kernel.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests check the system without going through the crate"
)]

mod git;
mod git_apply;
mod killed;
mod launch_helper;
mod processes;
mod regression;
mod sandbox;
mod temp_directory;
