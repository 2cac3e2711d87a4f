//! Implements [`AgentTool`] for tools that work on a workbench.
//!
//! Checks the arguments, does not start a cancelled call, and gives the tool a workbench that checks every opened file
//! against the permissions of this tool call, so that no tool can forget to. Blocking work runs on a separate thread
//! and is cancelled when the caller stops waiting.

use std::marker::PhantomData;
use std::sync::Arc;

use lariat_core::BoxFuture;
use lariat_core::cancel::CancellationToken;
use lariat_core::tool::{Access, AgentTool, ToolContext, ToolEffects, ToolError, ToolResult};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::Workbench;
use crate::arguments::{self, Field};
use crate::off_thread::off_thread;

/// A tool that works on a workbench.
pub(crate) trait BenchTool: Send + Sync + 'static {
    /// The arguments of a tool call.
    type Arguments: DeserializeOwned + Send + 'static;
    const NAME: &'static str;
    const LABEL: &'static str;
    const DESCRIPTION: &'static str;
    const FIELDS: &'static [Field];
    const EFFECTS: ToolEffects;
    /// Whether a tool that can make changes makes none if the context does not allow them.
    const KEEPS_TO_READING: bool = false;

    /// Describes what a tool call would change.
    fn preview(
        _: &Workbench,
        _: Self::Arguments,
    ) -> impl Future<Output = Result<Option<String>, ToolError>> + Send {
        std::future::ready(Ok(None))
    }

    /// Executes a tool call.
    fn run(
        bench: &Workbench,
        arguments: Self::Arguments,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<ToolResult, ToolError>>;
}

struct ToolOnBench<T> {
    bench: Workbench,
    tool: PhantomData<T>,
}

/// Creates a tool for an agent.
pub(crate) fn tool<T: BenchTool>(bench: &Workbench) -> Arc<dyn AgentTool> {
    Arc::new(ToolOnBench::<T> { bench: bench.clone(), tool: PhantomData })
}

impl<T: BenchTool> AgentTool for ToolOnBench<T> {
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

    fn is_offered(&self, access: Access) -> bool {
        access == Access::Full || T::KEEPS_TO_READING || T::EFFECTS.changes_nothing()
    }

    fn preview<'a>(&'a self, params: &'a Value) -> BoxFuture<'a, Result<Option<String>, ToolError>> {
        Box::pin(async move {
            let arguments = arguments::read::<T::Arguments>(T::FIELDS, params.clone())?;
            T::preview(&self.bench, arguments).await
        })
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
            T::run(&self.bench.of_call(&context), arguments, context).await
        })
    }
}

/// Cancels the token when dropped.
struct CancelOnDrop(CancellationToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Runs work on a thread that may block. Its token is cancelled with the tool call, and when the future is dropped.
pub(crate) async fn blocking<R: Send + 'static>(
    context: &ToolContext,
    work: impl FnOnce(&CancellationToken) -> Result<R, ToolError> + Send + 'static,
) -> Result<R, ToolError> {
    let token = context.cancel.child_token();
    let _cancelled = CancelOnDrop(token.clone());
    off_thread(move || work(&token)).await?
}
