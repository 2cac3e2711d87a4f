//! Commands: `bash` runs one, `bash_output`, `bash_input` and `bash_stop` deal with those in the background.
//!
//! - `run`: the tool `bash`.
//! - `background`: commands that go on after their call, and the three tools for them.
//! - `told`: what the model reads of a command.
//!
//! Owns how a call becomes a launch. The supervisor of the bench owns what runs; when it goes, everything goes.

mod background;
mod denied;
mod run;
mod told;

use std::time::Duration;

use lariat_core::opening::Opening;
use lariat_core::tool::{Access, ToolContext, ToolError};
use lariat_host::process::{CaptureLimits, Launch, ProcessError};

use crate::Workbench;
use crate::workbench::Commands;

pub(crate) use background::{Background, BashInput, BashOutput, BashStop};
pub(crate) use run::Bash;

/// Variables that keep programs from waiting for a person.
const VARIABLES: &[(&str, &str)] =
    &[("PAGER", "cat"), ("GIT_PAGER", "cat"), ("GIT_TERMINAL_PROMPT", "0"), ("GIT_EDITOR", "true")];

/// Where confined programs keep what they could fetch again: they do not run at all where their usual place is not writable.
const CACHES: &[(&str, &str)] = &[("npm_config_cache", "/tmp/npm-cache")];

/// A command of a model as the supervisor takes it.
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
    // A folder that looks like a repository is not one because a command stands in it.
    environment = environment.with_git_setting("safe.bareRepository", "explicit");
    let capture = CaptureLimits { spill: bench.outputs().place(), ..CaptureLimits::default() };
    let launch = Launch::shell(command, bench.workspace().path())
        .with_environment(environment)
        .with_time(time)
        .with_capture(capture);
    match (bench.commands(), context.access) {
        (Commands::Confined(sandbox), access) => {
            let sandbox = match access {
                Access::Full => sandbox.opened(&context.openings, bench.workspace().path()),
                _ => Some(sandbox.read_only()),
            };
            // Outside of the sandbox, because a person said so.
            let Some(sandbox) = sandbox else { return Ok(launch) };
            let denied = denied::paths(bench.hidden(), bench.workspace().path())?;
            let sandbox = if denied.is_empty() { sandbox } else { sandbox.with_hidden(denied) };
            let environment = launch.environment.clone();
            let environment = CACHES.iter().fold(environment, |all, (name, value)| all.with(name, value));
            Ok(launch.with_environment(environment).with_sandbox(sandbox))
        }
        (Commands::Unconfined, Access::Full) => Ok(launch),
        (Commands::Unconfined, _) => Err(ToolError::Failed(
            "Not run: nothing may be changed now, and commands have no sandbox that would see to it. Use the other tools.".to_owned(),
        )),
        (Commands::Refused, _) => Err(ToolError::Failed(
            "Commands cannot be run: this machine has no working sandbox, and running without one was not chosen. Use the other tools.".to_owned(),
        )),
    }
}

/// What a result says about openings that would have let a command do what the sandbox blocked.
fn way_out(openings: &[Opening]) -> String {
    let names: Vec<String> = openings.iter().map(|opening| format!("\"{}\"", opening.name())).collect();
    format!(
        "[If the command needs this, call it again with `needs`: [{}]. The user is then asked.]\n",
        names.join(", ")
    )
}

fn not_started(error: ProcessError) -> ToolError {
    ToolError::Failed(format!("The command was not run: {error}."))
}
