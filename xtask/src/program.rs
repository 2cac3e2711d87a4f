//! Runs the proofs that the build of CI has: no command of its own is compiled for them.
//!
//! Some of them start the program `lariat`, which they find beside themselves, so it comes from the same build.

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
