//! Long proofs of the host crate: hostile programs in the sandbox, and programs that resist being killed.
//! Called by `cargo xtask sandbox` and `cargo xtask processes`.
//!
//! This program also starts itself: as another user, as a process to kill, and as a process that starts
//! programs.
#![expect(
    clippy::disallowed_methods,
    reason = "a command-line tool looks at the world from outside: files, processes and the wall clock"
)]

mod processes;
mod sandbox;

use std::process::ExitCode;

use lariat_proofs::proof::{ended, number, option};

const USAGE: &str = "\
usage: host sandbox [--backend NAME] [--case TEXT] [--starts N]    run hostile programs, on each backend and as each user
       host processes [--runs N] [--seed N] [--gigabytes N]         end programs that resist being killed
       Each with --planted: check that a planted mistake is noticed.
       host corpus …, host supervise …                              run one part in another process (internal)";

fn main() -> ExitCode {
    lariat_host::process::LaunchHelper::serve_if_requested();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ran = match words.split_first() {
        Some((&"sandbox", options)) => sandbox::run(options),
        Some((&"corpus", options)) => sandbox::corpus(options),
        Some((&"processes", options)) => processes::run(options),
        Some((&"supervise", options)) => processes::supervise(options),
        _ => Err("missing argument: `sandbox` or `processes`".to_owned()),
    };
    ended(ran, USAGE)
}

/// A runtime with two threads.
fn runtime() -> Result<tokio::runtime::Runtime, String> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().map_err(words_of)
}

fn words_of(error: impl std::fmt::Display) -> String {
    error.to_string()
}
