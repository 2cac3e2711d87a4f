//! Tools: specification and executor together in one contract.
//!
//! Owns [`AgentTool`], what a tool declares about its effects, and its results. A tool's failure is data for the model
//! ([`ToolError`]), never an error of the loop.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::BoxFuture;
use crate::cancel::CancellationToken;
use crate::content::Content;
use crate::id::{LoopId, SessionId, ToolCallId};
use crate::opening::Opening;

/// Something a model can ask to have done.
pub trait AgentTool: Send + Sync {
    /// Unique name, used by the model and for correlation.
    fn name(&self) -> &str;

    /// Name for people.
    fn label(&self) -> &str {
        self.name()
    }

    /// When and how to use it, written for the model.
    fn description(&self) -> &str;

    /// JSON Schema of the arguments.
    fn parameters_schema(&self) -> Value;

    /// What it does to the world. The default admits to everything.
    fn effects(&self) -> ToolEffects {
        ToolEffects::ALL
    }

    /// Whether it may run beside other tools of the same reply. By default only when it changes nothing.
    fn is_parallel_safe(&self) -> bool {
        self.effects().is_read_only()
    }

    /// Whether a model is offered it where calls may go this far. A tool that changes something, and is offered where
    /// nothing may be changed, keeps to [`ToolContext::access`].
    fn is_offered(&self, access: Access) -> bool {
        access == Access::Full || self.effects().changes_nothing()
    }

    /// What a call would change, for a person to read, and without changing it: a diff for example. `None` when that
    /// is not known beforehand.
    fn preview<'a>(&'a self, params: &'a Value) -> BoxFuture<'a, Result<Option<String>, ToolError>> {
        let _ = params;
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Runs it. Long-running tools watch [`ToolContext::cancel`].
    fn execute<'a>(
        &'a self,
        params: Value,
        context: ToolContext,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>>;
}

/// What a tool does to the world, as it declares it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ToolEffects(u8);

impl ToolEffects {
    /// Nothing at all.
    pub const NONE: Self = Self(0);
    /// Reads files or other state.
    pub const READS: Self = Self(1);
    /// Changes files or other state.
    pub const WRITES: Self = Self(2);
    /// Executes programs.
    pub const EXECUTES: Self = Self(4);
    /// Reaches the network.
    pub const NETWORK: Self = Self(8);
    /// Everything.
    pub const ALL: Self = Self(15);

    /// Both.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// True when every effect of `other` is declared.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// True when nothing is changed or executed.
    pub const fn changes_nothing(self) -> bool {
        self.0 & (Self::WRITES.0 | Self::EXECUTES.0) == 0
    }

    /// True when nothing is changed, executed or sent.
    pub const fn is_read_only(self) -> bool {
        self.0 & !Self::READS.0 == 0
    }
}

impl fmt::Debug for ToolEffects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            (Self::READS, "reads"),
            (Self::WRITES, "writes"),
            (Self::EXECUTES, "executes"),
            (Self::NETWORK, "network"),
        ];
        f.debug_set()
            .entries(names.iter().filter(|(bit, _)| self.contains(*bit)).map(|(_, name)| name))
            .finish()
    }
}

/// The specification of a tool, as it is sent to a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolDefinition {
    /// As in [`AgentTool::name`].
    pub name: String,
    /// As in [`AgentTool::description`].
    pub description: String,
    /// As in [`AgentTool::parameters_schema`].
    pub parameters: Value,
}

impl ToolDefinition {
    /// The definition of a tool.
    pub fn of(tool: &dyn AgentTool) -> Self {
        Self {
            name: tool.name().to_owned(),
            description: tool.description().to_owned(),
            parameters: tool.parameters_schema(),
        }
    }
}

/// Receives partial results of a running tool.
pub type ToolUpdateFn = Arc<dyn Fn(ToolResult) + Send + Sync>;
/// Receives user-facing status text of a running tool.
pub type ProgressFn = Arc<dyn Fn(String) + Send + Sync>;

/// How far a call may go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Access {
    /// As far as the tool goes.
    #[default]
    Full,
    /// It must not change anything. Commands run in a sandbox in which nothing can be written.
    Reads,
}

/// What a tool gets to know about its call.
#[derive(Clone)]
#[non_exhaustive]
pub struct ToolContext {
    /// The call.
    pub tool_call_id: ToolCallId,
    /// The tool's own name.
    pub tool_name: String,
    /// The session the call belongs to.
    pub session_id: SessionId,
    /// The loop the call belongs to.
    pub loop_id: LoopId,
    /// How far the call may go.
    pub access: Access,
    /// What a person opened in the sandbox of the call's command.
    pub openings: Vec<Opening>,
    /// Triggered when the call should end early.
    pub cancel: CancellationToken,
    /// For streaming partial results.
    pub on_update: Option<ToolUpdateFn>,
    /// For status text.
    pub on_progress: Option<ProgressFn>,
    /// What was said and done earlier in the session.
    pub earlier: Option<Arc<dyn Earlier>>,
}

/// What was said and done earlier in a session, also where the model does not see it any more.
pub trait Earlier: Send + Sync {
    /// The text of a message by its name (`m…`), or of all messages from one to another (`m…..m…`). `None` when there
    /// is no such message.
    ///
    /// # Errors
    /// When it cannot be read, or the name means more than one.
    fn text<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<String>, ToolError>>;

    /// The same, piece by piece, in whole lines: what is long is never in memory at once. False when there is no such
    /// message; what was told before then means nothing.
    ///
    /// # Errors
    /// When it cannot be read, or the name means more than one.
    fn tell<'a>(
        &'a self,
        name: &'a str,
        take: &'a mut (dyn FnMut(&str) + Send),
    ) -> BoxFuture<'a, Result<bool, ToolError>> {
        Box::pin(async move {
            let text = self.text(name).await?;
            Ok(text.map(|text| take(&text)).is_some())
        })
    }
}

impl ToolContext {
    /// A context without callbacks.
    pub fn new(
        tool_call_id: ToolCallId,
        tool_name: impl Into<String>,
        session_id: SessionId,
        loop_id: LoopId,
        cancel: CancellationToken,
    ) -> Self {
        Self {
            tool_call_id,
            tool_name: tool_name.into(),
            session_id,
            loop_id,
            access: Access::Full,
            openings: Vec::new(),
            cancel,
            on_update: None,
            on_progress: None,
            earlier: None,
        }
    }

    /// Reports a partial result.
    pub fn update(&self, partial: ToolResult) {
        if let Some(on_update) = &self.on_update {
            on_update(partial);
        }
    }

    /// Tells a person what is going on.
    pub fn progress(&self, text: impl Into<String>) {
        if let Some(on_progress) = &self.on_progress {
            on_progress(text.into());
        }
    }
}

impl fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolContext")
            .field("tool_call_id", &self.tool_call_id)
            .field("tool_name", &self.tool_name)
            .finish_non_exhaustive()
    }
}

/// What a tool gives back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// For the model.
    pub content: Vec<Content>,
    /// Structured metadata the model does not see.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub details: Value,
    /// Set by tools that spawned a sub-agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_loop_id: Option<LoopId>,
}

impl ToolResult {
    /// A result of one text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![Content::text(text)], ..Self::default() }
    }

    /// Adds metadata the model does not see.
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = details;
        self
    }
}

/// Why a tool did not give a result. Always told to the model, so that it can correct itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// It ran and failed.
    #[error("{0}")]
    Failed(String),
    /// There is no tool of that name.
    #[error("{0}")]
    NotFound(String),
    /// The arguments do not fit.
    #[error("{0}")]
    InvalidArgs(String),
    /// It was cancelled before it had an effect, or reports that it stopped cleanly.
    #[error("The call was cancelled.")]
    Cancelled,
    /// It was started and nobody knows how far it came.
    #[error(
        "Interrupted: this call was started, but its outcome is unknown ({0}). Check the state before repeating it."
    )]
    Interrupted(String),
}
