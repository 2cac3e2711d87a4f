//! `bash`: runs a command to its end, or starts it in the background.

use std::time::Duration;

use lariat_core::BoxFuture;
use lariat_core::tool::{ToolContext, ToolEffects, ToolError, ToolResult};
use lariat_host::process::{Input, Output, Process, Size};
use serde::Deserialize;

use super::{launch, not_started, told};
use crate::Workbench;
use crate::arguments::{Field, Kind};
use crate::bench_tool::BenchTool;
use crate::kept::Kept;

/// Seconds that a command may run, unless a call asks for others.
const SECONDS: u64 = 120;
/// How often a person sees new output.
const PROGRESS: Duration = Duration::from_millis(500);
/// Bytes of new output that a person sees at a time.
const PARTIAL: usize = 4 * 1024;

/// The tool.
pub(crate) struct Bash;

/// What a call says.
#[derive(Deserialize)]
pub(crate) struct Arguments {
    command: String,
    description: Option<String>,
    timeout_seconds: Option<u64>,
    background: Option<bool>,
    terminal: Option<bool>,
    /// Read by the gate, which asks the user; what they opened comes with the context.
    #[expect(dead_code, reason = "the gate reads it")]
    needs: Option<Vec<String>>,
}

impl BenchTool for Bash {
    type Arguments = Arguments;
    const NAME: &'static str = "bash";
    const LABEL: &'static str = "Run";
    const DESCRIPTION: &'static str = "Runs a command with `bash -c` in the workspace's directory and gives back what it printed and its exit code. Each call is a new shell: `cd` and variables do \
        not last. There is no input and no person: use flags such as `--yes`. Everything a command started ends with it; for servers and watchers set `background`, then use \
        `bash_output`, `bash_input` and `bash_stop` with the id. To read, edit or search files, use the other tools.";
    const FIELDS: &'static [Field] = &[
        Field::required("command", Kind::Text, "The command."),
        Field::optional(
            "description",
            Kind::Text,
            "What it does, in a few words, for the person who watches.",
        ),
        Field::optional(
            "timeout_seconds",
            Kind::Number(1, 600),
            "Seconds it may run; 120 if left out, in the background without an end.",
        ),
        Field::optional("background", Kind::Switch, "Return at once with an id while it runs."),
        Field::optional(
            "terminal",
            Kind::Switch,
            "Run it in a terminal, for programs that want one; only with `background`.",
        ),
        Field::optional(
            "needs",
            Kind::List(&Kind::Text, 0, 8),
            "What the sandbox must open for it: `git` (to commit), `network`, an absolute path to write to, or `outside` (no sandbox). The user is asked. Only after a call was refused for lack of it.",
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
                return Err(ToolError::InvalidArgs("`command` must be a command.".to_owned()));
            }
            if let Some(description) = &arguments.description {
                context.progress(description.clone());
            }
            let (background, terminal) =
                (arguments.background == Some(true), arguments.terminal == Some(true));
            if terminal && !background {
                return Err(ToolError::InvalidArgs(
                    "`terminal` needs `background`: set that, too.".to_owned(),
                ));
            }
            let kept = Kept::everything(bench, &context).await?;
            let result = if background {
                start(bench, &arguments, terminal, &context).await
            } else {
                run(bench, &arguments, &context).await
            };
            if let Some(kept) = kept {
                kept.end().await;
            }
            result
        })
    }
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
    Ok(told::finished(bench.outputs(), &finished, seconds))
}

/// Shows what a command prints while it runs.
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
        "Started in the background as `{id}`. Use `bash_output` to see what it prints, `bash_stop` to end it.\n"
    );
    Ok(ToolResult::text(text).with_details(serde_json::json!({ "id": id })))
}
