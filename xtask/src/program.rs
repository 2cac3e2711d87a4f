//! Runs the proofs that start the built program `lariat`.
//!
//! A proof finds the program beside itself, so both come from the build that all CI steps use.

use std::process::ExitCode;

use anyhow::Result;

use crate::build;
use crate::workspace::Workspace;

/// Builds `lariat` and the binary of the proof, then runs it: `NAME WORD...`.
pub(crate) fn run(workspace: &Workspace, line: &str, arguments: &[String]) -> Result<ExitCode> {
    let binary = line.split(' ').next().unwrap_or(line);
    build::programs(&["lariat", binary]).run(workspace)?;
    build::program(workspace, line).with_arguments(arguments).pass_through(workspace)
}
