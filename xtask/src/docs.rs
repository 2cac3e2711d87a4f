//! The documentation build: rustdoc over every crate, a warning is an error.
//!
//! Owns the command line only; what rustdoc warns about is decided in the crates.

use crate::command_line::CommandLine;

pub(crate) fn command_line() -> CommandLine {
    CommandLine::cargo("doc --workspace --no-deps --locked").with_environment("RUSTDOCFLAGS", "-D warnings")
}
