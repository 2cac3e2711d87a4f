//! One module per command: arguments in, work done by the service, an [`Exit`] out.

use std::process::ExitCode;

use clap::Parser as _;

use crate::args::Args;

/// Reads the arguments and does what they say.
pub(crate) fn start() -> ExitCode {
    match Args::parse().command {}
}
