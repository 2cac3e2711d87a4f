//! The arguments, as types. One module per group of commands; what a flag does is said here once, for help, manual and
//! completions.

use clap::{Parser, Subcommand};

/// A coding agent for the terminal whose loop holds.
#[derive(Debug, Parser)]
#[command(name = "lariat", version, max_term_width = 100)]
pub(crate) struct Args {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {}
