//! Tests lariat-host with the real kernel.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests check the system without going through the crate"
)]

mod folder;
mod git;
mod keeper;
mod killed;
mod processes;
mod sandbox;
