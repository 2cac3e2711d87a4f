//! What all tools have in common: one table, one future.
//!
//! Owns the way from [`AgentTool`] to that future: arguments are checked, a cancelled call does not begin, and the bench
//! that a tool works on judges every file it opens for this call, so that no tool can forget to. Work that
//! blocks is done on a thread that may, and learns when nobody waits for it any more.

use std::marker::PhantomData;
use std::sync::Arc;

use lariat_core::BoxFuture;
use lariat_core::cancel::CancellationToken;
use lariat_core::tool::{Access, AgentTool, ToolContext, ToolEffects, ToolError, ToolResult};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::Workbench;
use crate::arguments::{self, Field};

/// A tool that stands on a bench.
pub(crate) trait BenchTool: Send + Sync + 'static {
    /// What a call says.
    type Arguments: DeserializeOwned + Send + 'static;
    const NAME: &'static str;
    const LABEL: &'static str;
    const DESCRIPTION: &'static str;
    const FIELDS: &'static [Field];
    const EFFECTS: ToolEffects;
    /// It changes something, and changes nothing when its context says so.
    const KEEPS_TO_READING: bool = false;

    /// What a call would change.
    fn preview(_: &Workbench, _: Self::Arguments) -> Result<Option<String>, ToolError> {
        Ok(None)
    }

    /// Does it.
    fn run(
        bench: &Workbench,
        arguments: Self::Arguments,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<ToolResult, ToolError>>;
}

struct OnBench<T> {
    bench: Workbench,
    tool: PhantomData<T>,
}

/// A tool, ready for an agent.
pub(crate) fn tool<T: BenchTool>(bench: &Workbench) -> Arc<dyn AgentTool> {
    Arc::new(OnBench::<T> { bench: bench.clone(), tool: PhantomData })
}

impl<T: BenchTool> AgentTool for OnBench<T> {
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
        let preview = || T::preview(&self.bench, arguments::read::<T::Arguments>(T::FIELDS, params.clone())?);
        Box::pin(std::future::ready(preview()))
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

/// Cancels work that nobody waits for any more.
struct CancelOnDrop(CancellationToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Does work on a thread that may block. The token it gets is cancelled with the call, and when the call is dropped.
pub(crate) async fn blocking<R: Send + 'static>(
    context: &ToolContext,
    work: impl FnOnce(&CancellationToken) -> Result<R, ToolError> + Send + 'static,
) -> Result<R, ToolError> {
    let token = context.cancel.child_token();
    let _cancelled = CancelOnDrop(token.clone());
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => runtime
            .spawn_blocking(move || work(&token))
            .await
            .unwrap_or_else(|error| Err(ToolError::Interrupted(error.to_string()))),
        Err(_) => work(&token),
    }
}
