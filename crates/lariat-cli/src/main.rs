//! The program `lariat`: a coding agent for the terminal, for scripts, and for whoever looks after sessions.
//!
//! Arguments come in (`args`), a command does its work with the service (`commands`), a person sees it (`screen`) or a
//! program does (`wire`), and the program ends with a code that means something (`exit`). This crate is the only one that
//! reads the environment.

mod args;
mod around;
mod commands;
mod exit;
mod files;
mod keys;
mod problem;
mod screen;
mod wire;
mod world;

use std::process::ExitCode;

/// A program that brings its own C library (what is shipped does) brings an allocator: that library's own is slow.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    lariat_host::process::Keeper::serve_if_asked();
    lariat_host::process::keep_memory_private();
    commands::start()
}
