//! `bash`: runs a command to its end, or starts it in the background.

use std::time::Duration;

use lariat_core::BoxFuture;
use lariat_core::tool::{ToolContext, ToolEffects, ToolError, ToolResult};
use lariat_host::process::{Input, Output, Process, Size};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{format, launch, not_started};
use crate::Workbench;
use crate::arguments::{ArgumentKind, Field};
use crate::bench_tool::BenchTool;
use crate::checkpoint::CheckpointGuard;

/// Default time limit of a command, in seconds.
const SECONDS: u64 = 120;
/// How often to show the user new output.
const PROGRESS: Duration = Duration::from_millis(500);
/// Maximum number of bytes of new output to show at a time.
const PARTIAL: usize = 4 * 1024;

/// The tool `bash`.
pub(crate) struct Bash;

/// The arguments of a tool call.
#[derive(Deserialize)]
pub(crate) struct Arguments {
    command: String,
    description: Option<String>,
    timeout_seconds: Option<u64>,
    background: Option<bool>,
    terminal: Option<bool>,
    /// Read by the gate, which asks the user; what the user approved is in the context.
    #[expect(dead_code, reason = "the gate reads it")]
    needs: Option<Vec<String>>,
}

impl BenchTool for Bash {
    type Arguments = Arguments;
    const NAME: &'static str = "bash";
    const LABEL: &'static str = "Run";
    const DESCRIPTION: &'static str = "Run a command with `bash -c` in the workspace directory and return its output and exit code. Each call is a new shell: `cd` and variables do \
        not persist. There is no input and no user at the terminal: use flags such as `--yes`. Everything a command started ends with it; for servers and watchers set `background`, then use \
        `bash_output`, `bash_input` and `bash_stop` with the id. To read, edit or search files, use the other tools.";
    const FIELDS: &'static [Field] = &[
        Field::required("command", ArgumentKind::Text, "The command to run."),
        Field::optional(
            "description",
            ArgumentKind::Text,
            "What the command does, in a few words, for the user.",
        ),
        Field::optional(
            "timeout_seconds",
            ArgumentKind::Number(1, 600),
            "Time limit in seconds (default 120; in the background, no limit).",
        ),
        Field::optional(
            "background",
            ArgumentKind::Switch,
            "Return immediately with an id while the command runs.",
        ),
        Field::optional(
            "terminal",
            ArgumentKind::Switch,
            "Run the command in a terminal, for programs that require one. Only with `background`.",
        ),
        Field::optional(
            "needs",
            ArgumentKind::List(&ArgumentKind::Text, 0, 8),
            "What the sandbox must allow: `git` (to commit), `network`, an absolute path to write to, or `outside` (run unsandboxed). The user is asked for approval. Set it only after the sandbox blocked a command.",
        ),
    ];
    const EFFECTS: ToolEffects = ToolEffects::ALL;
    const KEEPS_TO_READING: bool = true;

    fn run(
        bench: &Workbench,
        arguments: Arguments,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<ToolResult, ToolError>> {
        Box::pin(async move {
            if arguments.command.trim().is_empty() || arguments.command.contains('\0') {
                return Err(ToolError::InvalidArgs("`command` must not be empty or contain NUL.".to_owned()));
            }
            if let Some(description) = &arguments.description {
                context.progress(description.clone());
            }
            let (background, terminal) =
                (arguments.background == Some(true), arguments.terminal == Some(true));
            if terminal && !background {
                return Err(ToolError::InvalidArgs("`terminal` requires `background`: set both.".to_owned()));
            }
            let guard = CheckpointGuard::everything(bench, &context).await?;
            let result = if background {
                start(bench, &arguments, terminal, &context).await
            } else {
                run(bench, &arguments, &context).await
            };
            let Some(guard) = guard else { return result };
            let files = guard.end().await;
            result.map(|result| with_files(result, files))
        })
    }
}

/// Adds the files that a command changed to the details of its result, as file tools do.
fn with_files(mut result: ToolResult, files: Vec<Value>) -> ToolResult {
    if files.is_empty() {
        return result;
    }
    if !result.details.is_object() {
        result.details = json!({});
    }
    if let Some(details) = result.details.as_object_mut() {
        details.insert("files".to_owned(), Value::from(files));
    }
    result
}

async fn run(
    bench: &Workbench,
    arguments: &Arguments,
    context: &ToolContext,
) -> Result<ToolResult, ToolError> {
    let seconds = arguments.timeout_seconds.unwrap_or(SECONDS);
    let launch = launch(bench, &arguments.command, Some(Duration::from_secs(seconds)), context)?;
    let finished = bench
        .supervisor()
        .run_observed(launch, &context.cancel, |process| report(process, context))
        .await
        .map_err(not_started)?;
    Ok(format::finished(bench.outputs(), &finished, seconds))
}

/// Reports what a command prints while it runs.
async fn report(process: Process, context: &ToolContext) {
    if context.on_update.is_none() {
        return;
    }
    let mut mark = 0;
    loop {
        tokio::time::sleep(PROGRESS).await;
        let new = process.read(mark);
        mark = new.mark;
        if !new.bytes.is_empty() {
            let from = new.bytes.len().saturating_sub(PARTIAL);
            let text = String::from_utf8_lossy(new.bytes.get(from..).unwrap_or_default()).into_owned();
            context.update(ToolResult::text(text));
        }
    }
}

async fn start(
    bench: &Workbench,
    arguments: &Arguments,
    terminal: bool,
    context: &ToolContext,
) -> Result<ToolResult, ToolError> {
    bench.background().has_room()?;
    let time = arguments.timeout_seconds.map(Duration::from_secs);
    let mut launch = launch(bench, &arguments.command, time, context)?.with_input(Input::Written);
    if terminal {
        let environment = launch.environment.clone().with("TERM", "xterm");
        launch = launch.with_output(Output::Terminal(Size::default())).with_environment(environment);
    }
    let process = bench.supervisor().start(launch).await.map_err(not_started)?;
    let id = bench.background().add(process, terminal);
    let text = format!(
        "Started in the background as `{id}`. Use `bash_output` to see its output, `bash_stop` to end it.\n"
    );
    Ok(ToolResult::text(text).with_details(json!({ "id": id })))
}
