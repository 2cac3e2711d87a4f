//! The contract for tools: what they declare, how they run, and their results.
//!
//! The failure of a tool is data for the model ([`ToolError`]), never an error of the loop.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::BoxFuture;
use crate::cancel::CancellationToken;
use crate::content::Content;
use crate::file_access::FileAccessCheck;
use crate::id::{LoopId, SessionId, ToolCallId};
use crate::opening::SandboxOpening;
use crate::question::{UserAnswer, UserQuestion};

/// A tool that the model can call.
pub trait AgentTool: Send + Sync {
    /// Unique name, used by the model and for correlation.
    fn name(&self) -> &str;

    /// Name for the user interface.
    fn label(&self) -> &str {
        self.name()
    }

    /// Tells the model when and how to use the tool.
    fn description(&self) -> &str;

    /// JSON Schema of the arguments.
    fn parameters_schema(&self) -> Value;

    /// Declares what the tool does. The default declares every effect.
    fn effects(&self) -> ToolEffects {
        ToolEffects::ALL
    }

    /// Returns whether the tool may run in parallel with others of the same reply. By default only if it is
    /// read-only.
    fn is_parallel_safe(&self) -> bool {
        self.effects().is_read_only()
    }

    /// Returns whether the model is offered the tool at this access level. A tool that can make changes but
    /// is offered with read access must respect [`ToolContext::access`].
    fn is_offered(&self, access: Access) -> bool {
        access == Access::Full || self.effects().changes_nothing()
    }

    /// Returns the argument that contains the task, if every call of the tool starts a sub-agent. The run then records
    /// the sub-agent before the tool call starts, so that a call that a crash interrupted resumes its sub-agent instead
    /// of starting a second one: the tool finds it in [`ToolContext::sub_agent`] and runs again with the same one.
    fn task_argument(&self) -> Option<&'static str> {
        None
    }

    /// Returns the arguments that make a call start its sub-agent in the background: a call with one of these values. Such a
    /// call returns at once, and the result of [`execute`](Self::execute) reaches the model as a message when the sub-agent
    /// ends. Only for tools with a [`task_argument`](Self::task_argument).
    fn background_calls(&self) -> Vec<(&'static str, Value)> {
        Vec::new()
    }

    /// Returns how much longer than other tools a call may take to end after it was cancelled, for a tool that has
    /// to end something else first.
    fn extra_grace(&self) -> Duration {
        Duration::ZERO
    }

    /// Shows the user what a tool call would change, for example as a diff, without changing it. `None` if
    /// that is not known beforehand.
    fn preview<'a>(&'a self, params: &'a Value) -> BoxFuture<'a, Result<Option<String>, ToolError>> {
        let _ = params;
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Runs the tool. Long-running tools watch [`ToolContext::cancel`].
    fn execute<'a>(
        &'a self,
        params: Value,
        context: ToolContext,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>>;
}

/// A tool with an `async fn`. Each `Tool` is an [`AgentTool`], the object-safe form that agents use.
///
/// Implement [`AgentTool`] instead to preview changes or to run in parallel with other tools.
///
/// ```
/// use lariat_core::tool::{Tool, ToolContext, ToolEffects, ToolError, ToolResult};
/// use serde_json::{Value, json};
///
/// struct Now;
///
/// impl Tool for Now {
///     fn name(&self) -> &str {
///         "now"
///     }
///
///     fn description(&self) -> &str {
///         "Returns the time."
///     }
///
///     fn parameters_schema(&self) -> Value {
///         json!({"type": "object", "properties": {}})
///     }
///
///     fn effects(&self) -> ToolEffects {
///         ToolEffects::READS
///     }
///
///     async fn execute(&self, _params: Value, _context: ToolContext) -> Result<ToolResult, ToolError> {
///         Ok(ToolResult::text("12:00"))
///     }
/// }
/// ```
pub trait Tool: Send + Sync {
    /// Unique name, used by the model and for correlation.
    fn name(&self) -> &str;

    /// Tells the model when and how to use the tool.
    fn description(&self) -> &str;

    /// JSON Schema of the arguments.
    fn parameters_schema(&self) -> Value;

    /// Declares what the tool does. The default declares every effect.
    fn effects(&self) -> ToolEffects {
        ToolEffects::ALL
    }

    /// Runs the tool. Long-running tools watch [`ToolContext::cancel`].
    fn execute(
        &self,
        params: Value,
        context: ToolContext,
    ) -> impl Future<Output = Result<ToolResult, ToolError>> + Send;
}

impl<T: Tool> AgentTool for T {
    fn name(&self) -> &str {
        Tool::name(self)
    }

    fn description(&self) -> &str {
        Tool::description(self)
    }

    fn parameters_schema(&self) -> Value {
        Tool::parameters_schema(self)
    }

    fn effects(&self) -> ToolEffects {
        Tool::effects(self)
    }

    fn execute<'a>(
        &'a self,
        params: Value,
        context: ToolContext,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        Box::pin(Tool::execute(self, params, context))
    }
}

/// The effects that a tool declares.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ToolEffects(u8);

impl ToolEffects {
    /// No effects.
    pub const NONE: Self = Self(0);
    /// Reads files or other state.
    pub const READS: Self = Self(1);
    /// Changes files or other state.
    pub const WRITES: Self = Self(2);
    /// Executes programs.
    pub const EXECUTES: Self = Self(4);
    /// Uses the network.
    pub const NETWORK: Self = Self(8);
    /// All effects.
    pub const ALL: Self = Self(15);

    /// Combines two sets of effects.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns true if every effect of `other` is declared.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns true if the tool changes and executes nothing.
    pub const fn changes_nothing(self) -> bool {
        self.0 & (Self::WRITES.0 | Self::EXECUTES.0) == 0
    }

    /// Returns true if the tool changes, executes and sends nothing.
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

/// The specification of a tool, as the model receives it.
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
    /// Creates the definition of a tool.
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
/// Receives status text for the user from a running tool.
pub type ProgressFn = Arc<dyn Fn(String) + Send + Sync>;
/// Asks the user a question of a running tool.
pub type QuestionFn = Arc<dyn Fn(UserQuestion) -> BoxFuture<'static, UserAnswer> + Send + Sync>;

/// Whether a tool call may change anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Access {
    /// Everything that the tool can do.
    #[default]
    Full,
    /// Reading only. Commands run in a sandbox without write access.
    Reads,
}

/// The context of a tool call.
#[derive(Clone)]
#[non_exhaustive]
pub struct ToolContext {
    /// Id of the tool call.
    pub tool_call_id: ToolCallId,
    /// Name of the tool.
    pub tool_name: String,
    /// The session the call belongs to.
    pub session_id: SessionId,
    /// The loop the call belongs to.
    pub loop_id: LoopId,
    /// Whether the loop is one of several branches of the session that run at the same time, each with a conversation of its own.
    pub is_branch: bool,
    /// Whether the tool call may change anything.
    pub access: Access,
    /// Sandbox openings that the user approved for the command.
    pub openings: Vec<SandboxOpening>,
    /// Checks the real paths of files that the tool call opens; `None` without a gate.
    pub files: Option<Arc<dyn FileAccessCheck>>,
    /// Cancelled when the tool call should end early.
    pub cancel: CancellationToken,
    /// Receives partial results.
    pub on_update: Option<ToolUpdateFn>,
    /// Receives status text.
    pub on_progress: Option<ProgressFn>,
    /// Asks the user; `None` if no user can answer.
    pub on_question: Option<QuestionFn>,
    /// Access to earlier messages of the session.
    pub earlier: Option<Arc<dyn EarlierMessages>>,
    /// The sub-agent that is recorded for the tool call, for a tool with a [`task_argument`](AgentTool::task_argument).
    pub sub_agent: Option<RecordedSubAgent>,
    /// The run that the tool call belongs to, for tools of the runtime that executes it.
    pub run: Option<Arc<dyn Any + Send + Sync>>,
}

/// The sub-agent of a tool call, as the journal of the parent records it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedSubAgent {
    /// Session of the sub-agent.
    pub session_id: SessionId,
    /// First loop of the sub-agent.
    pub loop_id: LoopId,
    /// True if an earlier process recorded it, and may have started it.
    pub is_resumed: bool,
    /// True if its end is recorded too.
    pub is_completed: bool,
}

/// Access to earlier messages of a session, including those that the model no longer sees.
pub trait EarlierMessages: Send + Sync {
    /// Returns the text of a message by its name (`m…`), of a range of messages (`m…..m…`), or of truncated
    /// output by its address. `None` if it does not exist.
    ///
    /// # Errors
    /// Fails if the text cannot be read or the name is ambiguous.
    fn text<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<String>, ToolError>>;

    /// Like [`text`](Self::text), but passes the text to `take` in pieces of whole lines, so that a long text
    /// is never in memory at once. Returns false if the message does not exist; pieces passed before are then
    /// invalid.
    ///
    /// # Errors
    /// Fails if the text cannot be read or the name is ambiguous.
    fn stream_text<'a>(
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
    /// Creates a context without callbacks.
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
            is_branch: false,
            access: Access::Full,
            openings: Vec::new(),
            files: None,
            cancel,
            on_update: None,
            on_progress: None,
            on_question: None,
            earlier: None,
            sub_agent: None,
            run: None,
        }
    }

    /// Returns the conversation that the call belongs to: its session, or its loop in a branch. What a tool remembers of it for a model
    /// is true in this conversation only.
    pub fn conversation_id(&self) -> SessionId {
        if self.is_branch { SessionId::from(self.loop_id.as_str()) } else { self.session_id.clone() }
    }

    /// Reports a partial result.
    pub fn update(&self, partial: ToolResult) {
        if let Some(on_update) = &self.on_update {
            on_update(partial);
        }
    }

    /// Reports status text to the user.
    pub fn progress(&self, text: impl Into<String>) {
        if let Some(on_progress) = &self.on_progress {
            on_progress(text.into());
        }
    }

    /// Asks the user a question and waits for the answer without a time limit. The question and the answer are recorded.
    /// A session in which no user can answer declines at once.
    ///
    /// A tool call asks one question at a time: another one before the answer is withdrawn.
    pub fn ask(&self, question: UserQuestion) -> BoxFuture<'static, UserAnswer> {
        match &self.on_question {
            Some(ask) => ask(question),
            None => {
                let reason = Some("no user is available to answer".to_owned());
                Box::pin(std::future::ready(UserAnswer::Declined { reason }))
            }
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

/// The result of a tool call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// Content for the model.
    pub content: Vec<Content>,
    /// Structured metadata that the model does not receive.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub details: Value,
    /// Loop of the sub-agent that the tool spawned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_loop_id: Option<LoopId>,
}

impl ToolResult {
    /// Creates a result of one text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![Content::text(text)], ..Self::default() }
    }

    /// Adds metadata that the model does not receive.
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = details;
        self
    }
}

/// Why a tool call has no result. The model always receives the error, so that it can correct itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// The tool ran and failed.
    #[error("{0}")]
    Failed(String),
    /// No tool has this name.
    #[error("{0}")]
    NotFound(String),
    /// The arguments do not match the schema.
    #[error("{0}")]
    InvalidArgs(String),
    /// The tool call was cancelled before it had an effect, or the tool reports that it stopped cleanly.
    #[error("The call was cancelled.")]
    Cancelled,
    /// The tool call was started and its outcome is unknown.
    #[error(
        "Interrupted: this call was started, but its outcome is unknown ({0}). Check the state before repeating it."
    )]
    Interrupted(String),
}
