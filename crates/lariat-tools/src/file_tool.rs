//! What the file tools have in common: one table, one blocking function.
//!
//! Owns the way from [`AgentTool`] to that function: arguments are checked, small work is done at once on the caller's
//! thread (a thread change costs more than reading 10 KB), large or durable work on one that may block.

use std::marker::PhantomData;
use std::sync::Arc;

use lariat_core::BoxFuture;
use lariat_core::tool::{AgentTool, ToolContext, ToolEffects, ToolError, ToolResult};
use lariat_host::files::{FileError, Sync as Durability};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::Workbench;
use crate::arguments::{self, Field};
use crate::kept::Kept;

/// Bytes of a file from which on work with it leaves the caller's thread.
const LARGE: u64 = 256 * 1024;

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

    /// Does it.
    fn run(bench: &Workbench, arguments: Self::Arguments) -> Result<ToolResult, ToolError>;
}

/// A file tool on a bench.
pub(crate) struct OnBench<T> {
    bench: Workbench,
    tool: PhantomData<T>,
}

/// A file tool, ready for an agent.
pub(crate) fn tool<T: FileTool>(bench: &Workbench) -> Arc<dyn AgentTool> {
    Arc::new(OnBench::<T> { bench: bench.clone(), tool: PhantomData })
}

/// A refusal of the host, as the model reads it.
pub(crate) fn failed(error: FileError) -> ToolError {
    ToolError::Failed(error.to_string())
}

impl<T: FileTool> OnBench<T> {
    fn is_heavy(&self, arguments: &T::Arguments) -> bool {
        let durable = self.bench.workspace().sync() == Durability::Durable;
        match T::subject(arguments) {
            _ if (durable || self.bench.undo().is_some()) && T::EFFECTS.contains(ToolEffects::WRITES) => true,
            None => true,
            Some(path) => self.bench.workspace().stamp(path).is_ok_and(|stamp| stamp.size() > LARGE),
        }
    }
}

impl<T: FileTool> AgentTool for OnBench<T> {
    fn name(&self) -> &str {
        T::NAME
    }

    fn label(&self) -> &str {
        T::LABEL
    }

    fn description(&self) -> &str {
        T::DESCRIPTION
    }

    fn parameters_schema(&self) -> Value {
        arguments::schema(T::FIELDS)
    }

    fn effects(&self) -> ToolEffects {
        T::EFFECTS
    }

    fn execute<'a>(
        &'a self,
        params: Value,
        context: ToolContext,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        Box::pin(async move {
            let arguments: T::Arguments = arguments::read(T::FIELDS, params)?;
            if context.cancel.is_cancelled() {
                return Err(ToolError::Cancelled);
            }
            match tokio::runtime::Handle::try_current() {
                Ok(runtime) if self.is_heavy(&arguments) => {
                    let bench = self.bench.clone();
                    let call = context.tool_call_id.to_string();
                    let work = runtime.spawn_blocking(move || run::<T>(&bench, &call, arguments));
                    work.await.unwrap_or_else(|error| Err(ToolError::Interrupted(error.to_string())))
                }
                _ => run::<T>(&self.bench, context.tool_call_id.as_str(), arguments),
            }
        })
    }
}

/// Runs a call, between two checkpoints if it changes files.
fn run<T: FileTool>(bench: &Workbench, call: &str, arguments: T::Arguments) -> Result<ToolResult, ToolError> {
    if bench.undo().is_none() || !T::EFFECTS.contains(ToolEffects::WRITES) {
        return T::run(bench, arguments);
    }
    let paths = T::changes(&arguments);
    let kept = Kept::paths(bench, call, &paths)?;
    let result = T::run(bench, arguments);
    if let Some(kept) = kept {
        kept.end_paths(&paths);
    }
    result
}
