//! A session that is open in this process without a host: to read it, and to change what needs no run. Front ends run sessions
//! in a host ([`HostedSession`](crate::HostedSession)).

use std::path::PathBuf;
use std::sync::Arc;

use lariat_core::content::Content;
use lariat_core::editor_files::EditorFiles;
use lariat_core::event::Description;
use lariat_core::id::{MessageId, SessionId};
use lariat_core::message::{AgentMessage, Message, SharedMessage, UserMessage};
use lariat_core::model::ModelConfig;
use lariat_core::tool::AgentTool;
use lariat_runtime::prompt::ContextReport;
use lariat_runtime::trace::Workflow;
use lariat_runtime::typed::AnswerSchema;
use lariat_runtime::{Agent, BudgetPool, CompactionReport, Gate, Plan, RunStream};
use serde_json::Value;

use crate::local::{CommandFiles, GitNotes};
use crate::mcp::McpServers;
use crate::traces::Traces;
use crate::user_shell::SessionShell;
use crate::{HookCallbacks, ServiceError};

/// Options of a session, besides the settings.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct SessionOptions {
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
    /// The editor that has the session open: its tools see what the user has not saved there.
    pub editor: Option<Arc<dyn EditorFiles>>,
    /// A budget that the session shares with others.
    pub budget_pool: Option<BudgetPool>,
    /// The span that the runs of the session belong to: that of a loop or a race.
    pub workflow: Option<Workflow>,
    /// The description of a session that this creates; its working directory if `None`.
    pub description: Option<Description>,
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
    /// The commands and skills that a message can invoke.
    pub(crate) commands: CommandFiles,
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

    /// Whether commands run in the sandbox.
    pub const fn is_sandboxed(&self) -> bool {
        self.is_sandboxed
    }

    /// The shell for the user's own commands.
    pub(crate) fn shell(&self) -> Option<SessionShell> {
        let (bash, gate) = (self.bash.clone()?, Arc::clone(&self.gate));
        Some(SessionShell { bash, gate, session_id: self.id() })
    }

    /// Runs a prompt.
    ///
    /// # Errors
    /// If a run is active.
    pub fn prompt(&self, prompt: Prompt) -> Result<RunStream, ServiceError> {
        Ok(self.agent.prompt_messages(vec![prompt.message()])?)
    }

    /// The changes queued in plan mode, each with its effect on the current files.
    ///
    /// # Errors
    /// If a run is active, or the journal cannot be read.
    pub async fn plan(&self) -> Result<Plan, ServiceError> {
        Ok(self.agent.plan().await?)
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
