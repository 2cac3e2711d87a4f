//! Implements [`BenchTool`] for tools that work on files with one blocking function.
//!
//! Small work runs on the caller's thread, because switching threads costs more than reading 10 KB; large or durable
//! work runs on a blocking thread. Tools that change files run between two undo checkpoints. If the session has an editor,
//! a call first learns what the user has not saved there (`unsaved_files`).

use std::marker::PhantomData;
use std::sync::Arc;

use lariat_core::BoxFuture;
use lariat_core::tool::{AgentTool, ToolContext, ToolEffects, ToolError, ToolResult};
use lariat_host::files::{Stamp, Sync as Durability};
use serde::de::DeserializeOwned;

use crate::Workbench;
use crate::arguments::Field;
use crate::bench_tool::{self, BenchTool};
use crate::checkpoint::CheckpointGuard;
use crate::off_thread::off_thread;
use crate::unsaved_files::UnsavedFiles;

/// Files larger than this many bytes are handled on a blocking thread.
pub(crate) const LARGE: u64 = 256 * 1024;

/// A tool that works on files.
pub(crate) trait FileTool: Send + Sync + 'static {
    /// The arguments of a tool call.
    type Arguments: DeserializeOwned + Clone + Send + 'static;
    const NAME: &'static str;
    const LABEL: &'static str;
    const DESCRIPTION: &'static str;
    const FIELDS: &'static [Field];
    const EFFECTS: ToolEffects;

    /// The file whose size determines how long a call takes; `None` for several files.
    fn subject(arguments: &Self::Arguments) -> Option<&str>;

    /// The files that a call changes, if any.
    fn changes(arguments: &Self::Arguments) -> Vec<String> {
        Self::subject(arguments).map(str::to_owned).into_iter().collect()
    }

    /// The files whose text a call reads, so that it must be the text that the user sees.
    fn texts(arguments: &Self::Arguments) -> Vec<String> {
        if Self::EFFECTS.contains(ToolEffects::WRITES) { Self::changes(arguments) } else { Vec::new() }
    }

    /// Whether a call on a file in this state may take longer than switching threads.
    fn is_heavy(_: &Workbench, _: &Self::Arguments, stamp: &Stamp, _: &ToolContext) -> bool {
        stamp.size() > LARGE
    }

    /// Returns what a call would change, as a diff.
    fn preview(_: &Workbench, _: Self::Arguments) -> Result<Option<String>, ToolError> {
        Ok(None)
    }

    /// Executes a tool call.
    fn run(
        bench: &Workbench,
        arguments: Self::Arguments,
        context: &ToolContext,
    ) -> Result<ToolResult, ToolError>;
}

/// Adapts a file tool to [`BenchTool`].
struct FileToolAdapter<T>(PhantomData<T>);

/// Creates a file tool for an agent.
pub(crate) fn tool<T: FileTool>(bench: &Workbench) -> Arc<dyn AgentTool> {
    bench_tool::tool::<FileToolAdapter<T>>(bench)
}

impl<T: FileTool> BenchTool for FileToolAdapter<T> {
    type Arguments = T::Arguments;
    const NAME: &'static str = T::NAME;
    const LABEL: &'static str = T::LABEL;
    const DESCRIPTION: &'static str = T::DESCRIPTION;
    const FIELDS: &'static [Field] = T::FIELDS;
    const EFFECTS: ToolEffects = T::EFFECTS;

    async fn preview(bench: &Workbench, arguments: T::Arguments) -> Result<Option<String>, ToolError> {
        let Some(editor) = bench.editor() else { return T::preview(bench, arguments) };
        let unsaved = UnsavedFiles::look(bench.workspace(), editor, T::texts(&arguments)).await?;
        T::preview(&bench.with_unsaved(unsaved), arguments)
    }

    fn run(
        bench: &Workbench,
        arguments: T::Arguments,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<ToolResult, ToolError>> {
        Box::pin(async move {
            let Some(editor) = bench.editor() else {
                return run_on_thread::<T>(bench, arguments, context).await;
            };
            let unsaved = UnsavedFiles::look(bench.workspace(), editor, T::texts(&arguments)).await?;
            let seen = bench.with_unsaved(unsaved.clone());
            let result = if !unsaved.is_empty() && T::EFFECTS.contains(ToolEffects::WRITES) {
                // The editor saves its text only if the change applies to it.
                T::preview(&seen, arguments.clone())?;
                unsaved.save(bench.workspace(), editor).await?;
                run_on_thread::<T>(bench, arguments, context).await?
            } else {
                run_on_thread::<T>(&seen, arguments, context).await?
            };
            Ok(unsaved.note(result))
        })
    }
}

/// Executes a call here, or on a blocking thread if it may take long.
async fn run_on_thread<T: FileTool>(
    bench: &Workbench,
    arguments: T::Arguments,
    context: ToolContext,
) -> Result<ToolResult, ToolError> {
    if is_heavy::<T>(bench, &arguments, &context) {
        let bench = bench.clone();
        return off_thread(move || run::<T>(&bench, arguments, &context)).await?;
    }
    run::<T>(bench, arguments, &context)
}

/// Whether a call may take longer than switching threads.
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

/// Executes a call, between two checkpoints if it changes files.
fn run<T: FileTool>(
    bench: &Workbench,
    arguments: T::Arguments,
    context: &ToolContext,
) -> Result<ToolResult, ToolError> {
    if !bench.keeps_undo() || !T::EFFECTS.contains(ToolEffects::WRITES) {
        return T::run(bench, arguments, context);
    }
    let paths = T::changes(&arguments);
    let guard = CheckpointGuard::paths(bench, context, &paths)?;
    let result = T::run(bench, arguments, context);
    if let Some(guard) = guard {
        guard.end_paths(&paths);
    }
    result
}
