//! Runs commands: `bash` runs one; `bash_output`, `bash_input` and `bash_stop` control those in the background.
//!
//! - `run`: the tool `bash`.
//! - `background`: commands that continue after their tool call, and the three tools for them.
//! - `format`: formats the result of a command for the model.
//!
//! The supervisor of the workbench owns all commands; dropping it ends them.

mod background;
mod denied_reads;
mod format;
mod run;

use std::time::Duration;

use lariat_core::opening::SandboxOpening;
use lariat_core::tool::{Access, ToolContext, ToolError};
use lariat_host::process::{CaptureLimits, Launch, ProcessError};

use crate::Workbench;
use crate::workbench::Commands;

pub(crate) use background::{BashInput, BashOutput, BashStop};
pub(crate) use run::Bash;

/// Variables that prevent programs from waiting for user input.
const VARIABLES: &[(&str, &str)] =
    &[("PAGER", "cat"), ("GIT_PAGER", "cat"), ("GIT_TERMINAL_PROMPT", "0"), ("GIT_EDITOR", "true")];

/// Variables for sandboxed programs that have their own `/tmp`: their usual temporary and cache directories are not writable.
const IN_PRIVATE_TMP: &[(&str, &str)] = &[("TMPDIR", "/tmp"), ("npm_config_cache", "/tmp/npm-cache")];

/// Turns a command of a model into a launch.
fn launch(
    bench: &Workbench,
    command: &str,
    time: Option<Duration>,
    context: &ToolContext,
) -> Result<Launch, ToolError> {
    let mut environment = bench.environment().clone().with("TERM", "dumb");
    for (name, value) in VARIABLES {
        environment = environment.with(name, value);
    }
    // Git must not treat a directory as a bare repository only because a command runs in it.
    environment = environment.with_git_setting("safe.bareRepository", "explicit");
    let capture = CaptureLimits { spill: bench.outputs().spill_path(), ..CaptureLimits::default() };
    let launch = Launch::shell(command, bench.workspace().path())
        .with_environment(environment)
        .with_time(time)
        .with_capture(capture);
    match (bench.commands(), context.access) {
        (Commands::Confined(sandbox), access) => {
            let sandbox = match access {
                Access::Full => sandbox.with_openings(&context.openings, bench.workspace().path()),
                _ => Some(sandbox.read_only()),
            };
            // The user allowed this command to run unsandboxed.
            let Some(sandbox) = sandbox else { return Ok(launch) };
            let denied = denied_reads::paths(bench.hidden(), bench.workspace().path())?;
            let sandbox = if denied.is_empty() { sandbox } else { sandbox.with_hidden(denied) };
            let variables = if sandbox.policy().temporary.is_some() { IN_PRIVATE_TMP } else { &[] };
            let environment = launch.environment.clone();
            let environment = variables.iter().fold(environment, |all, (name, value)| all.with(name, value));
            Ok(launch.with_environment(environment).with_sandbox(sandbox))
        }
        (Commands::Unconfined, Access::Full) => Ok(launch),
        (Commands::Unconfined, _) => Err(ToolError::Failed(
            "The command was not run: changes are not allowed now, and commands run unsandboxed, so this cannot be enforced. Use the other tools.".to_owned(),
        )),
        (Commands::Refused, _) => Err(ToolError::Failed(
            "Commands cannot run: this machine has no working sandbox, and the user did not choose to run commands unsandboxed. Use the other tools.".to_owned(),
        )),
    }
}

/// Tells the model which openings would have allowed what the sandbox blocked.
fn suggest_openings(openings: &[SandboxOpening]) -> String {
    let names: Vec<String> = openings.iter().map(|opening| format!("\"{}\"", opening.name())).collect();
    format!(
        "[If the command needs this, call `bash` again with `needs`: [{}]. The user is then asked for approval.]\n",
        names.join(", ")
    )
}

fn not_started(error: ProcessError) -> ToolError {
    ToolError::Failed(format!("The command was not run: {error}."))
}
