//! The program `lariat`: a crash-safe coding agent for the terminal and for scripts.
//!
//! `args` parses the command line and `commands` runs a command against the service. `screen` prints for a user, `wire` for a
//! program; `exit` defines the exit codes. This is the only crate that reads the environment.

mod args;
mod commands;
mod detect;
mod exit;
mod failure;
mod files;
mod keys;
mod panic_report;
mod problem;
mod process_env;
mod screen;
mod wire;

use std::process::ExitCode;

/// Release builds link musl statically, and musl's allocator is slow.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    lariat_service::process::prepare();
    panic_report::install();
    commands::start()
}
