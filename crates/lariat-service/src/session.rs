//! A session that runs in this process, as front ends use it. They never access the agent itself.

use std::path::PathBuf;
use std::sync::Arc;

use lariat_core::content::Content;
use lariat_core::event::Description;
use lariat_core::id::{MessageId, RequestId, SessionId};
use lariat_core::message::{AgentMessage, Message, SharedMessage, UserMessage};
use lariat_core::model::ModelConfig;
use lariat_core::permission::PermissionDecision;
use lariat_core::tool::AgentTool;
use lariat_guard::Mode;
use lariat_runtime::prompt::ContextReport;
use lariat_runtime::typed::AnswerSchema;
use lariat_runtime::{Agent, AgentOutput, CompactionReport, Gate, Plan, PlanDecision, RunStream};
use lariat_tools::UserPrompter;
use serde_json::Value;

use crate::local::GitNotes;
use crate::mcp::{McpServerReport, McpServers};
use crate::traces::Traces;
use crate::user_shell::SessionShell;
use crate::{HookCallbacks, ServiceError};

/// Options of a session, besides the settings.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct SessionOptions {
    /// Answers the model's questions; without it, the model has no tool to ask.
    pub asker: Option<Arc<dyn UserPrompter>>,
    /// The JSON schema that answers must match.
    pub schema: Option<Value>,
    /// Text that precedes Lariat's system prompt.
    pub system_prompt: Option<String>,
    /// A git query that was started in advance ([`LoadedProject::ask_git`](crate::LoadedProject::ask_git)). For one session.
    pub git: Option<Arc<GitNotes>>,
    /// Hooks that are functions of the program that controls the session.
    pub callbacks: Option<HookCallbacks>,
    /// The id of a session that this creates, new or forked; a fresh one if `None`.
    pub new_id: Option<SessionId>,
    /// Whether clients of a host answer the model's questions: each question is then an approval request.
    pub has_clients: bool,
    /// The directory of Claude Code, for transcripts; `~/.claude` if `None`.
    pub claude_directory: Option<PathBuf>,
}

/// A session that runs in this process.
pub struct Session {
    pub(crate) agent: Agent,
    pub(crate) gate: Arc<Gate>,
    pub(crate) model: ModelConfig,
    pub(crate) form: Option<Arc<AnswerSchema>>,
    pub(crate) tools: Vec<String>,
    pub(crate) traces: Traces,
    pub(crate) bash: Option<Arc<dyn AgentTool>>,
    pub(crate) is_sandboxed: bool,
    pub(crate) mcp: Arc<McpServers>,
    /// Notes for the user before the session starts.
    pub notices: Vec<String>,
}

/// A user's message.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Prompt {
    /// The text.
    pub text: String,
    /// Images, as base64 data and media type.
    pub images: Vec<(String, String)>,
}

impl Prompt {
    /// A prompt without images.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), images: Vec::new() }
    }

    fn message(self) -> AgentMessage {
        if self.images.is_empty() {
            return AgentMessage::from(self.text);
        }
        let images = self.images.into_iter().map(|(data, mime_type)| Content::Image { data, mime_type });
        let content = std::iter::once(Content::text(self.text)).chain(images).collect();
        AgentMessage::from(Message::User(UserMessage::new(content)))
    }
}

impl Session {
    /// The id of the session.
    pub fn id(&self) -> SessionId {
        self.agent.session_id()
    }

    /// The model of the session.
    pub const fn model(&self) -> &ModelConfig {
        &self.model
    }

    /// The names of the tools.
    pub fn tools(&self) -> &[String] {
        &self.tools
    }

    /// The MCP servers of the session, and what each does at the moment.
    pub fn mcp_servers(&self) -> Vec<McpServerReport> {
        self.mcp.reports()
    }

    /// Whether commands run in the sandbox.
    pub const fn is_sandboxed(&self) -> bool {
        self.is_sandboxed
    }

    /// The shell for the user's own commands.
    pub(crate) fn shell(&self) -> Option<SessionShell> {
        let (bash, gate) = (self.bash.clone()?, Arc::clone(&self.gate));
        Some(SessionShell { bash, gate, session_id: self.id() })
    }

    /// The permission mode.
    pub fn mode(&self) -> Mode {
        self.gate.mode()
    }

    /// Changes the permission mode as far as the settings permit. Returns the effective mode.
    pub fn set_mode(&self, mode: Mode) -> Mode {
        self.gate.set_mode(mode)
    }

    /// Recovers an interrupted run. If there is none, the stream is empty and finishes with an error that
    /// [`is_nothing_to_recover`](lariat_runtime::AgentError::is_nothing_to_recover).
    ///
    /// # Errors
    /// If a run is active.
    pub fn recover(&self) -> Result<RunStream, ServiceError> {
        Ok(self.agent.recover_stream()?)
    }

    /// Runs a prompt.
    ///
    /// # Errors
    /// If a run is active.
    pub fn prompt(&self, prompt: Prompt) -> Result<RunStream, ServiceError> {
        Ok(self.agent.prompt_messages(vec![prompt.message()])?)
    }

    /// Lets the model reply to the conversation as it is, after a failure or a limit. If the last message is the model's, the
    /// stream is empty and finishes with an error that
    /// [`is_nothing_to_answer`](lariat_runtime::AgentError::is_nothing_to_answer).
    ///
    /// # Errors
    /// If a run is active.
    pub fn continue_run(&self) -> Result<RunStream, ServiceError> {
        Ok(self.agent.continue_loop()?)
    }

    /// Runs an earlier run of the session again from its recorded start, or the newest one if `run` is `None`. The number is
    /// the last part of a loop id, as in the automatic checkpoint `auto/run-3`. Files are not changed.
    ///
    /// # Errors
    /// If a run is active, the session has no such run, or the journal cannot be read or written.
    pub async fn rerun(&self, run: Option<u64>) -> Result<RunStream, ServiceError> {
        Ok(self.agent.rerun(run).await?)
    }

    /// The changes queued in plan mode, each with its effect on the current files.
    ///
    /// # Errors
    /// If a run is active, or the journal cannot be read.
    pub async fn plan(&self) -> Result<Plan, ServiceError> {
        Ok(self.agent.plan().await?)
    }

    /// Records a decision about the plan and applies what it approves.
    pub fn apply_plan(&self, decision: PlanDecision) -> RunStream {
        self.agent.apply_plan_stream(decision)
    }

    /// Discards the plan.
    ///
    /// # Errors
    /// If a run is active, or the journal cannot be written.
    pub async fn drop_plan(&self) -> Result<(), ServiceError> {
        Ok(self.agent.drop_plan().await?)
    }

    /// Checks an answer against the schema; `None` without a schema.
    pub fn answer(&self, output: &AgentOutput) -> Option<Result<Value, String>> {
        Some(self.form.as_ref()?.read(&output.text))
    }

    /// Asks the model for another answer, with the problem of the last one.
    ///
    /// # Errors
    /// If a run is active.
    pub fn retry_answer(&self, problem: &str) -> Result<Option<RunStream>, ServiceError> {
        let Some(form) = &self.form else { return Ok(None) };
        Ok(Some(self.agent.prompt_messages(vec![form.retry_message(problem)])?))
    }

    /// Answers an approval request.
    pub fn respond(&self, request: RequestId, decision: PermissionDecision) {
        self.agent.respond_permission(request, decision);
    }

    /// Sends a message to the active run, which receives it between tool calls.
    pub fn steer(&self, prompt: Prompt) {
        self.agent.steer(prompt.message());
    }

    /// Queues a message for when the model would otherwise stop. Without an active run, the next run sends it.
    pub fn follow_up(&self, prompt: Prompt) {
        self.agent.follow_up(prompt.message());
    }

    /// Stops the active run. The session remains.
    pub fn interrupt(&self) {
        self.agent.abort();
    }

    /// Rewinds the conversation to a message.
    ///
    /// # Errors
    /// If a run is active, or the journal cannot be written.
    pub async fn rewind(&self, tip: Option<MessageId>) -> Result<(), ServiceError> {
        Ok(self.agent.rewind(tip).await?)
    }

    /// Compacts the conversation now. `focus` tells the model what its summary must keep.
    ///
    /// # Errors
    /// If a run is active, compaction would not help or is off, or the journal cannot be written.
    pub async fn compact(&self, focus: Option<&str>) -> Result<CompactionReport, ServiceError> {
        Ok(self.agent.compact(focus).await?)
    }

    /// Returns what [`compact`](Self::compact) would change, as far as it can be known without asking a model. Records nothing.
    ///
    /// # Errors
    /// If a run is active, compaction would not help or is off, or the journal cannot be read.
    pub async fn preview_compaction(&self, focus: Option<&str>) -> Result<CompactionReport, ServiceError> {
        Ok(self.agent.preview_compaction(focus).await?)
    }

    /// Undoes the newest compaction. Returns false if there is none.
    ///
    /// # Errors
    /// If a run is active, or the journal cannot be read or written.
    pub async fn undo_compaction(&self) -> Result<bool, ServiceError> {
        Ok(self.agent.undo_compaction().await?)
    }

    /// Sets the title and tags.
    ///
    /// # Errors
    /// If a run is active, or the journal cannot be written.
    pub async fn describe(&self, description: Description) -> Result<(), ServiceError> {
        Ok(self.agent.describe(description).await?)
    }

    /// Reports the context window.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub async fn context(&self) -> Result<ContextReport, ServiceError> {
        Ok(self.agent.context().await?)
    }

    /// The conversation.
    pub fn messages(&self) -> Vec<SharedMessage> {
        self.agent.messages()
    }

    /// Runs the hooks for the end of the session and flushes traces, ends MCP servers, and waits for all.
    pub async fn close(&self) {
        self.agent.close().await;
        self.mcp.close().await;
        self.traces.close().await;
    }
}
