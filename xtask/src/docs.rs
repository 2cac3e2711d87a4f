//! The documentation build: rustdoc over every crate, a warning is an error.
//!
//! Owns the command line only; what rustdoc warns about is decided in the crates.

use crate::command_line::CommandLine;

/// With the stores that are off by default: pages link to them.
const DOC: &str = "doc --workspace --no-deps --locked --features lariat-store/postgres";

pub(crate) fn command_line() -> CommandLine {
    CommandLine::cargo(DOC).with_environment("RUSTDOCFLAGS", "-D warnings")
}
