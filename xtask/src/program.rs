//! Runs the proofs that start the built program `lariat`.
//!
//! A proof finds the program beside itself, so both come from the build that all CI steps use.

use std::process::ExitCode;

use anyhow::Result;

use crate::build;
use crate::workspace::Workspace;

/// The first argument of a proof that drives the program instead of the library.
const BY_PROGRAM: &str = "--by-program";

/// Whether the arguments of a proof ask for the program.
pub(crate) fn is_driven(arguments: &[String]) -> bool {
    arguments.first().is_some_and(|word| word == BY_PROGRAM)
}

/// Builds `lariat` and the binary of the proof, then runs it: `NAME WORD...`.
pub(crate) fn run(workspace: &Workspace, line: &str, arguments: &[String]) -> Result<ExitCode> {
    let binary = line.split(' ').next().unwrap_or(line);
    build::programs(&["lariat", binary]).run(workspace)?;
    build::program(workspace, line).with_arguments(arguments).pass_through(workspace)
}
