//! The state of a session at a position of its log.
//!
//! Invariant: a view is the fold of the first [`SessionView::seq`] events. Two hosts that read the same journal give
//! the same view, except for [`SessionView::clients`], which is not in the journal.

use lariat_core::budget::BudgetStatus;
use lariat_core::event::RunOutcome;
use lariat_core::id::{MessageId, SessionId, ToolCallId};
use lariat_core::session::Task;
use lariat_core::time::Timestamp;
use lariat_core::usage::Usage;
use serde::{Deserialize, Serialize};

use crate::{Ask, AskPolicy, ClientName, Cursor, Delivery, Principal, PromptContent};

/// What a session does at the moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SessionStatus {
    /// No run is active.
    Idle,
    /// The model or a tool works.
    Running,
    /// The run waits for an answer to an ask.
    RequiresAction,
    /// The run was interrupted by a crash and waits to be recovered.
    Interrupted,
    /// The session is closed; the next command opens it again.
    Closed,
    /// A status of a newer version.
    #[serde(untagged)]
    Other(String),
}

/// The state of a session at a position.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SessionView {
    /// The session.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub session_id: SessionId,
    /// The number of events that the view includes.
    pub seq: u64,
    /// The position to read the log from.
    pub cursor: Cursor,
    /// What the session does.
    pub status: SessionStatus,
    /// How the newest run ended; `None` before the end of the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
    pub outcome: Option<RunOutcome>,
    /// The title, or else the start of the first message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// The questions that wait, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<Ask>,
    /// What happens to asks without a client.
    #[serde(default)]
    pub ask_policy: AskPolicy,
    /// The messages that wait, in the order of delivery.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queue: Vec<QueuedMessage>,
    /// Whether an interruption paused the queue.
    #[serde(default)]
    pub is_queue_paused: bool,
    /// The changes that plan mode queued.
    #[serde(default)]
    pub plan: PlanView,
    /// The task list of the model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<serde_json::Value>"))]
    pub tasks: Vec<Task>,
    /// Tokens and cost of the session.
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Value"))]
    pub usage: Usage,
    /// The budgets that apply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub budgets: Vec<BudgetView>,
    /// The permission mode.
    pub mode: String,
    /// The model.
    pub model: ModelView,
    /// How full the context window is.
    #[serde(default)]
    pub context: TokenUse,
    /// Sub-agents and forks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<ChildSession>,
    /// The clients that are attached now. Not part of the journal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<AttachedClient>,
}

impl SessionView {
    /// Creates the view of a session without events, at a position.
    pub fn new(session_id: SessionId, cursor: Cursor) -> Self {
        Self {
            session_id,
            seq: cursor.next(),
            cursor,
            status: SessionStatus::Idle,
            outcome: None,
            title: None,
            directory: None,
            asks: Vec::new(),
            ask_policy: AskPolicy::default(),
            queue: Vec::new(),
            is_queue_paused: false,
            plan: PlanView::default(),
            tasks: Vec::new(),
            usage: Usage::default(),
            budgets: Vec::new(),
            mode: String::new(),
            model: ModelView::default(),
            context: TokenUse::default(),
            children: Vec::new(),
            clients: Vec::new(),
        }
    }
}

/// A message that waits for delivery.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct QueuedMessage {
    /// Its id.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub message_id: MessageId,
    /// Its content.
    pub content: PromptContent,
    /// When the session delivers it.
    pub delivery: Delivery,
    /// Who sent it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Principal>,
}

impl QueuedMessage {
    /// Creates a message that waits, without a known sender.
    pub const fn new(message_id: MessageId, content: PromptContent, delivery: Delivery) -> Self {
        Self { message_id, content, delivery, by: None }
    }
}

/// The changes that plan mode queued.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PlanView {
    /// The tool calls of the changes that wait for a decision, in order, with their descriptions.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<(String, String)>"))]
    pub changes: Vec<(ToolCallId, String)>,
}

/// How much of a budget is used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct BudgetView(#[cfg_attr(feature = "schema", schemars(with = "serde_json::Value"))] pub BudgetStatus);

/// The model of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ModelView {
    /// The name of the model.
    pub name: String,
    /// The reasoning effort.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
}

/// How full the context window is, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TokenUse {
    /// Tokens of the next request, as estimated.
    pub used: u64,
    /// Size of the window; 0 if it is unknown.
    pub window: u64,
}

/// A sub-agent or a fork of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ChildSession {
    /// Its session.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub session_id: SessionId,
    /// The task of a sub-agent; `None` for a fork.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Whether it still runs.
    pub is_running: bool,
}

impl ChildSession {
    /// Creates the entry of a sub-agent that runs.
    pub const fn running(session_id: SessionId, task: String) -> Self {
        Self { session_id, task: Some(task), is_running: true }
    }
}

/// A client that is attached to a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AttachedClient {
    /// The program.
    pub client: ClientName,
    /// The user.
    pub principal: Principal,
    /// Since when.
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Value"))]
    pub since: Timestamp,
}

impl AttachedClient {
    /// Creates the entry of a client.
    pub const fn new(client: ClientName, principal: Principal, since: Timestamp) -> Self {
        Self { client, principal, since }
    }
}
