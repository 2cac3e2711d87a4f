//! The tools for background commands: `bash_output`, `bash_input` and `bash_stop`.

use std::time::Duration;

use lariat_core::BoxFuture;
use lariat_core::tool::{ToolContext, ToolEffects, ToolError, ToolResult};
use serde::Deserialize;

use super::format;
use crate::Workbench;
use crate::arguments::{ArgumentKind, Field};
use crate::background::BackgroundCommand;
use crate::bench_tool::BenchTool;

/// How often to check for new output while a tool call waits for it.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// How long to wait until a program reads what is written to it.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// The character that ends the input of a terminal: Ctrl-D.
const END_OF_INPUT: &[u8] = b"\x04";

/// Returns the new output and state of a command, for the model.
async fn new_output(bench: &Workbench, number: u64, known: &BackgroundCommand) -> ToolResult {
    let finished = match known.process.exit() {
        Some(_) => Some(known.process.wait().await),
        None => None,
    };
    let (text, gap) = bench.background().new_output(number, known);
    let text = if known.terminal { format::plain(&text) } else { text };
    format::new_output(bench.outputs(), &text, gap, finished.as_ref())
}

/// The tool `bash_output`.
pub(crate) struct BashOutput;

/// The arguments of a tool call.
#[derive(Deserialize)]
pub(crate) struct OutputArguments {
    id: String,
    wait_seconds: Option<u64>,
}

impl BenchTool for BashOutput {
    type Arguments = OutputArguments;
    const NAME: &'static str = "bash_output";
    const LABEL: &'static str = "Output";
    const DESCRIPTION: &'static str = "Show what a background command printed since the last call, and whether it is still running. With `wait_seconds`, wait until it prints something or ends.";
    const FIELDS: &'static [Field] = &[
        Field::required("id", ArgumentKind::Text, "The id that `bash` returned, such as `b1`."),
        Field::optional("wait_seconds", ArgumentKind::Number(0, 600), "Maximum seconds to wait (default 0)."),
    ];
    const EFFECTS: ToolEffects = ToolEffects::READS;

    fn run(
        bench: &Workbench,
        arguments: OutputArguments,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<ToolResult, ToolError>> {
        Box::pin(async move {
            let (number, known) = bench.background().find(&arguments.id)?;
            let printed = async {
                while known.process.exit().is_none() && known.process.read(known.mark).mark == known.mark {
                    tokio::time::sleep(POLL_INTERVAL).await;
                }
            };
            let seconds = arguments.wait_seconds.unwrap_or_default();
            if seconds > 0 {
                tokio::select! {
                    _ = tokio::time::timeout(Duration::from_secs(seconds), printed) => {}
                    () = context.cancel.cancelled() => return Err(ToolError::Cancelled),
                }
            }
            Ok(new_output(bench, number, &known).await)
        })
    }
}

/// The tool `bash_input`.
pub(crate) struct BashInput;

/// The arguments of a tool call.
#[derive(Deserialize)]
pub(crate) struct InputArguments {
    id: String,
    text: Option<String>,
    close: Option<bool>,
}

impl BenchTool for BashInput {
    type Arguments = InputArguments;
    const NAME: &'static str = "bash_input";
    const LABEL: &'static str = "Input";
    const DESCRIPTION: &'static str = "Write text to the input of a background command, exactly as given: end each line with a line break. In a terminal, control characters are keys (`\\u0003` is Ctrl-C).";
    const FIELDS: &'static [Field] = &[
        Field::required("id", ArgumentKind::Text, "The id that `bash` returned, such as `b1`."),
        Field::optional("text", ArgumentKind::Text, "The text to write."),
        Field::optional("close", ArgumentKind::Switch, "Close the input afterwards."),
    ];
    const EFFECTS: ToolEffects = ToolEffects::ALL;

    fn run(
        bench: &Workbench,
        arguments: InputArguments,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<ToolResult, ToolError>> {
        Box::pin(async move {
            let (_, known) = bench.background().find(&arguments.id)?;
            let text = arguments.text.unwrap_or_default();
            if text.is_empty() && arguments.close != Some(true) {
                return Err(ToolError::InvalidArgs("Set `text` to write, or `close`.".to_owned()));
            }
            if known.process.exit().is_some() {
                return Err(ToolError::Failed(format!("`{}` has ended; nothing was written.", arguments.id)));
            }
            let write = tokio::time::timeout(WRITE_TIMEOUT, known.process.write(text.as_bytes()));
            let written = tokio::select! {
                written = write => written,
                () = context.cancel.cancelled() => {
                    return Err(ToolError::Interrupted("cancelled while writing".to_owned()));
                }
            };
            match written {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    return Err(ToolError::Failed(format!(
                        "Not all text was written: the command's input is closed ({error})."
                    )));
                }
                Err(_) => {
                    let seconds = WRITE_TIMEOUT.as_secs();
                    let text = format!("the command did not read all of the text within {seconds} s");
                    return Err(ToolError::Interrupted(text));
                }
            }
            if arguments.close == Some(true) {
                if known.terminal {
                    // The input of a terminal cannot be closed in another way.
                    let _ = known.process.write(END_OF_INPUT).await;
                } else {
                    known.process.close_input().await;
                }
            }
            Ok(ToolResult::text(format!("Wrote {} bytes.\n", text.len())))
        })
    }
}

/// The tool `bash_stop`.
pub(crate) struct BashStop;

/// The arguments of a tool call.
#[derive(Deserialize)]
pub(crate) struct StopArguments {
    id: String,
}

impl BenchTool for BashStop {
    type Arguments = StopArguments;
    const NAME: &'static str = "bash_stop";
    const LABEL: &'static str = "Stop";
    const DESCRIPTION: &'static str =
        "End a background command and everything it started, and show what it printed since the last call.";
    const FIELDS: &'static [Field] =
        &[Field::required("id", ArgumentKind::Text, "The id that `bash` returned, such as `b1`.")];
    const EFFECTS: ToolEffects = ToolEffects::EXECUTES;

    fn run(
        bench: &Workbench,
        arguments: StopArguments,
        _: ToolContext,
    ) -> BoxFuture<'_, Result<ToolResult, ToolError>> {
        Box::pin(async move {
            let (number, known) = bench.background().find(&arguments.id)?;
            known.process.stop().await;
            Ok(new_output(bench, number, &known).await)
        })
    }
}
