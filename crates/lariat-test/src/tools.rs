//! Scripted tools that record every execution.
//!
//! [`LedgerTool`] performs an [`Act`]; a [`Ledger`] shared by many tools records which tool ran when, beside
//! which others, and how it ended. An execution begins with the first poll: that is when a real tool would
//! have an effect.
//! Invariant: an execution has exactly one end, also if it panics or its future is dropped.

mod act;
mod ledger;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::{Either, select};
use lariat_core::BoxFuture;
use lariat_core::clock::Clock;
use lariat_core::id::ToolCallId;
use lariat_core::tool::{AgentTool, ToolContext, ToolEffects, ToolError, ToolResult};
use serde_json::{Value, json};

pub use act::Act;
use act::{ActStep, OnCancel, ToolEnd};
pub use ledger::{Ending, Execution, Ledger};

/// A tool call, as a script receives it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Invocation<'a> {
    /// Number of earlier executions of this tool.
    pub index: usize,
    /// The call.
    pub call_id: &'a ToolCallId,
    /// Its arguments.
    pub args: &'a Value,
}

type Script = Box<dyn FnMut(&Invocation<'_>) -> Act + Send>;

/// A scripted tool that records its executions in a ledger. By default it declares every effect.
///
/// ```
/// use std::time::Duration;
/// use lariat_core::tool::ToolEffects;
/// use lariat_test::{Act, Ledger, LedgerTool};
/// use lariat_test::VirtualClock;
///
/// let ledger = Ledger::new();
/// let clock = VirtualClock::new().shared();
/// let read = LedgerTool::new("read", ledger.clone(), clock)
///     .with_effects(ToolEffects::READS)
///     .with_script(|call| Act::text(format!("read {}", call.args)).after(Duration::from_secs(1)));
/// assert_eq!(ledger.len(), 0);
/// ```
pub struct LedgerTool {
    name: String,
    description: String,
    effects: ToolEffects,
    parallel: Option<Parallel>,
    ledger: Ledger,
    clock: Arc<dyn Clock>,
    script: Mutex<(usize, Script)>,
}

/// Whether a tool declares that it may run concurrently with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parallel {
    /// It may run concurrently with others.
    Safe,
    /// It must run alone.
    Alone,
}

impl LedgerTool {
    /// Creates a tool that returns `ok`.
    pub fn new(name: impl Into<String>, ledger: Ledger, clock: Arc<dyn Clock>) -> Self {
        let name = name.into();
        let description = format!("The scripted tool {name}.");
        let script: Script = Box::new(|_| Act::text("ok"));
        let (effects, parallel, script) = (ToolEffects::ALL, None, Mutex::new((0, script)));
        Self { name, description, effects, parallel, ledger, clock, script }
    }

    /// Replaces its script.
    pub fn with_script(mut self, script: impl FnMut(&Invocation<'_>) -> Act + Send + 'static) -> Self {
        self.script = Mutex::new((0, Box::new(script)));
        self
    }

    /// Replaces its declared effects.
    pub const fn with_effects(mut self, effects: ToolEffects) -> Self {
        self.effects = effects;
        self
    }

    /// Sets whether it may run concurrently with others, regardless of its effects.
    pub const fn with_parallel(mut self, parallel: Parallel) -> Self {
        self.parallel = Some(parallel);
        self
    }

    fn act(&self, call_id: &ToolCallId, args: &Value) -> Act {
        let mut script = self.script.lock().unwrap_or_else(PoisonError::into_inner);
        let (count, function) = &mut *script;
        let index = *count;
        *count += 1;
        function(&Invocation { index, call_id, args })
    }

    async fn play(&self, act: Act, context: &ToolContext) -> Result<ToolResult, ToolError> {
        for beat in act.beats {
            match beat {
                ActStep::Progress(text) => context.progress(text),
                ActStep::Update(text) => context.update(ToolResult::text(text)),
                ActStep::Wait(duration) => self.wait(duration, act.on_cancel, context).await?,
            }
        }
        match act.end {
            ToolEnd::Return(answer) => answer,
            // Not `panic!`, which would print a message for a deliberate panic.
            ToolEnd::Panic(message) => std::panic::resume_unwind(Box::new(message)),
            ToolEnd::Never if act.on_cancel == OnCancel::Stop => {
                context.cancel.cancelled().await;
                Err(ToolError::Cancelled)
            }
            ToolEnd::Never => std::future::pending().await,
        }
    }

    async fn wait(
        &self,
        duration: Duration,
        on_cancel: OnCancel,
        context: &ToolContext,
    ) -> Result<(), ToolError> {
        let sleep = self.clock.sleep_until(self.clock.now().after(duration));
        if on_cancel == OnCancel::Ignore {
            sleep.await;
            return Ok(());
        }
        match select(sleep, context.cancel.cancelled()).await {
            Either::Left(_) => Ok(()),
            Either::Right(_) => Err(ToolError::Cancelled),
        }
    }
}

impl AgentTool for LedgerTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn parameters_schema(&self) -> Value {
        json!({"type": "object"})
    }

    fn effects(&self) -> ToolEffects {
        self.effects
    }

    fn is_parallel_safe(&self) -> bool {
        match self.parallel {
            Some(parallel) => parallel == Parallel::Safe,
            None => self.effects.is_read_only(),
        }
    }

    fn execute<'a>(
        &'a self,
        params: Value,
        context: ToolContext,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        Box::pin(async move {
            let act = self.act(&context.tool_call_id, &params);
            let entry = self.ledger.begin(&context.tool_call_id, &self.name, params, &self.clock);
            let answer = self.play(act, &context).await;
            entry.end(match &answer {
                Ok(_) => Ending::Returned,
                Err(ToolError::Cancelled) => Ending::Cancelled,
                Err(_) => Ending::Failed,
            });
            answer
        })
    }
}

impl fmt::Debug for LedgerTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LedgerTool")
            .field("name", &self.name)
            .field("effects", &self.effects)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "tools_tests.rs"]
mod tests;
