//! What the file tools have in common: one table, one blocking function.
//!
//! Owns on which thread that function runs: small work is done at once on the caller's (a change of threads costs more
//! than reading 10 KB), large or durable work on one that may block; and what is kept for undo around it. The way from
//! [`AgentTool`] is that of all tools on a bench.

use std::marker::PhantomData;
use std::sync::Arc;

use lariat_core::BoxFuture;
use lariat_core::tool::{AgentTool, ToolContext, ToolEffects, ToolError, ToolResult};
use lariat_host::files::{FileError, Stamp, Sync as Durability};
use serde::de::DeserializeOwned;

use crate::Workbench;
use crate::arguments::Field;
use crate::bench_tool::{self, BenchTool};
use crate::kept::Kept;

/// Bytes of a file from which on work with it leaves the caller's thread.
pub(crate) const LARGE: u64 = 256 * 1024;

/// A tool that works on files.
pub(crate) trait FileTool: Send + Sync + 'static {
    /// What a call says.
    type Arguments: DeserializeOwned + Send + 'static;
    const NAME: &'static str;
    const LABEL: &'static str;
    const DESCRIPTION: &'static str;
    const FIELDS: &'static [Field];
    const EFFECTS: ToolEffects;

    /// The file that decides how long a call takes; `None` for many files.
    fn subject(arguments: &Self::Arguments) -> Option<&str>;

    /// The files that a call changes, if it changes any.
    fn changes(arguments: &Self::Arguments) -> Vec<String> {
        Self::subject(arguments).map(str::to_owned).into_iter().collect()
    }

    /// Whether a call that reads a file in this state may take longer than a change of threads.
    fn is_heavy(_: &Workbench, _: &Self::Arguments, stamp: &Stamp, _: &ToolContext) -> bool {
        stamp.size() > LARGE
    }

    /// What a call would change, as a diff.
    fn preview(_: &Workbench, _: Self::Arguments) -> Result<Option<String>, ToolError> {
        Ok(None)
    }

    /// Does it.
    fn run(
        bench: &Workbench,
        arguments: Self::Arguments,
        context: &ToolContext,
    ) -> Result<ToolResult, ToolError>;
}

/// A file tool as one of the tools that stand on a bench.
struct OnFiles<T>(PhantomData<T>);

/// A file tool, ready for an agent.
pub(crate) fn tool<T: FileTool>(bench: &Workbench) -> Arc<dyn AgentTool> {
    bench_tool::tool::<OnFiles<T>>(bench)
}

/// A refusal of the host, as the model reads it.
pub(crate) fn failed(error: FileError) -> ToolError {
    ToolError::Failed(error.to_string())
}

impl<T: FileTool> BenchTool for OnFiles<T> {
    type Arguments = T::Arguments;
    const NAME: &'static str = T::NAME;
    const LABEL: &'static str = T::LABEL;
    const DESCRIPTION: &'static str = T::DESCRIPTION;
    const FIELDS: &'static [Field] = T::FIELDS;
    const EFFECTS: ToolEffects = T::EFFECTS;

    fn preview(bench: &Workbench, arguments: T::Arguments) -> Result<Option<String>, ToolError> {
        T::preview(bench, arguments)
    }

    fn run(
        bench: &Workbench,
        arguments: T::Arguments,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<ToolResult, ToolError>> {
        Box::pin(async move {
            match tokio::runtime::Handle::try_current() {
                Ok(runtime) if is_heavy::<T>(bench, &arguments, &context) => {
                    let bench = bench.clone();
                    let work = runtime.spawn_blocking(move || run::<T>(&bench, arguments, &context));
                    work.await.unwrap_or_else(|error| Err(ToolError::Interrupted(error.to_string())))
                }
                _ => run::<T>(bench, arguments, &context),
            }
        })
    }
}

/// Whether a call may take longer than a change of threads.
fn is_heavy<T: FileTool>(bench: &Workbench, arguments: &T::Arguments, context: &ToolContext) -> bool {
    let waits = bench.workspace().sync() == Durability::Durable || bench.keeps_undo();
    match T::subject(arguments) {
        _ if waits && T::EFFECTS.contains(ToolEffects::WRITES) => true,
        None => true,
        Some(path) => {
            let stamp = bench.workspace().stamp(path);
            stamp.is_ok_and(|stamp| T::is_heavy(bench, arguments, &stamp, context))
        }
    }
}

/// Runs a call, between two checkpoints if it changes files.
fn run<T: FileTool>(
    bench: &Workbench,
    arguments: T::Arguments,
    context: &ToolContext,
) -> Result<ToolResult, ToolError> {
    if !bench.keeps_undo() || !T::EFFECTS.contains(ToolEffects::WRITES) {
        return T::run(bench, arguments, context);
    }
    let paths = T::changes(&arguments);
    let kept = Kept::paths(bench, context.tool_call_id.as_str(), &paths)?;
    let result = T::run(bench, arguments, context);
    if let Some(kept) = kept {
        kept.end_paths(&paths);
    }
    result
}
