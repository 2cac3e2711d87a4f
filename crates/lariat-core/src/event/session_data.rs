//! Data of events about a session as a whole: its description, its import, learnings, goals and commands.
//!
//! Users and programs cause these events, not the model.

use serde::{Deserialize, Serialize};

use crate::id::{MessageId, SessionId};

/// Changes to the description of a session. A field that is `None` stays unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Description {
    /// Title from the user or a model; an empty one removes the title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Git branch that was checked out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git_branch: Option<String>,
    /// The complete new list of tags.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
}

/// The source of an imported session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Import {
    /// Id of the import: a hash of the imported file, so that no content of a file can choose its own id.
    pub import_id: String,
    /// Format of the file: `lariat`, `claude`, `codex` or `codeloops`.
    pub format: String,
    /// Id of the session in the file.
    pub session_id: SessionId,
}

impl Import {
    /// Describes the import of a file.
    pub fn new(import_id: impl Into<String>, format: impl Into<String>, session_id: SessionId) -> Self {
        Self { import_id: import_id.into(), format: format.into(), session_id }
    }
}

/// A fact that later sessions should know, learned for example from a failure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Learning {
    /// Unique id. A learning with the same id replaces the earlier one.
    pub learning_id: String,
    /// What was learned.
    pub text: String,
    /// The error or failed attempt it was learned from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// Keywords.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

/// A goal that several sessions work towards.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Goal {
    /// Unique id. A goal with the same id replaces the earlier one.
    pub goal_id: String,
    /// Description of the goal.
    pub text: String,
    /// Progress of the goal.
    pub status: GoalStatus,
}

/// Progress of a goal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum GoalStatus {
    /// In progress.
    #[default]
    Active,
    /// Reached.
    Done,
    /// Given up.
    Dropped,
}

/// The record of a command that a client sent. It makes a command durable, and a retry recognisable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CommandRecord {
    /// The id that the client chose.
    pub command_id: String,
    /// The program that sent it.
    pub client: String,
    /// The user or service on whose behalf.
    pub by: String,
    /// The kind of the command.
    pub action: String,
    /// A digest of the whole command: a retry has the same one.
    pub digest: String,
    /// Whether the client hosts the session itself. If its process ends, no other host continues the run on its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_in_process: bool,
}

impl CommandRecord {
    /// Creates a record.
    pub fn new(
        command_id: impl Into<String>,
        client: impl Into<String>,
        by: impl Into<String>,
        action: impl Into<String>,
        digest: impl Into<String>,
    ) -> Self {
        Self {
            command_id: command_id.into(),
            client: client.into(),
            by: by.into(),
            action: action.into(),
            digest: digest.into(),
            is_in_process: false,
        }
    }
}

/// A restore of files that begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FileRestore {
    /// The tool calls whose changes it undoes.
    pub calls: Vec<String>,
    /// The point from which the conversation continues afterwards; `None` leaves the conversation as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<RewindTarget>,
}

impl FileRestore {
    /// Describes a restore that undoes these tool calls.
    pub const fn new(calls: Vec<String>, conversation: Option<RewindTarget>) -> Self {
        Self { calls, conversation }
    }
}

/// The point from which a conversation continues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RewindTarget {
    /// The last message that stays; `None` if the conversation starts again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tip: Option<MessageId>,
}

impl RewindTarget {
    /// Continues after this message, or from the start.
    pub const fn new(tip: Option<MessageId>) -> Self {
        Self { tip }
    }
}

/// What a restore of files did. Paths are relative to the working directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FileRestoreResult {
    /// The files that are now as they were.
    pub restored: Vec<String>,
    /// The files that stayed as they are, each with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<(String, String)>,
    /// The files whose earlier content is not stored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_restorable: Vec<String>,
    /// The ids that undo this restore, one for each undo store that it changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undo: Vec<String>,
    /// Why the restore ended early; the conversation stays as it is then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl FileRestoreResult {
    /// Describes a restore that failed.
    pub fn failed(problem: impl Into<String>) -> Self {
        Self { problem: Some(problem.into()), ..Self::default() }
    }
}

/// How a command of the user ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UserCommandResult {
    /// The id of the client's command that asked for it.
    pub command_id: String,
    /// The exit code; `None` if the command did not end by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// Why the command did not run to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl UserCommandResult {
    /// Describes a command that has not ended by itself.
    pub fn new(command_id: impl Into<String>) -> Self {
        Self { command_id: command_id.into(), ..Self::default() }
    }
}

/// Why a session was created.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum SessionFormation {
    /// Explicitly requested.
    Explicit,
    /// The first loop started.
    #[default]
    FirstLoop,
    /// The previous session was idle for too long.
    InactivityTimeout {
        /// Idle time of the previous session.
        idle_secs: u64,
    },
}

/// Start of the names of checkpoints that a run records by itself.
pub const AUTOMATIC_CHECKPOINT: &str = "auto/";

/// What refused a tool call before it ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum BlockedBy {
    /// The permission check: a rule, the mode or a `PreToolUse` hook. The reason names it.
    PermissionCheck,
    /// A callback of the program that embeds the agent.
    Callback,
    /// The answer to the approval request.
    Approval,
}

/// A task on the model's task list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Task {
    /// Description by the model.
    pub content: String,
    /// Status as the tool writes it.
    pub status: String,
}

impl Task {
    /// Creates a task.
    pub fn new(content: impl Into<String>, status: impl Into<String>) -> Self {
        Self { content: content.into(), status: status.into() }
    }

    /// Returns true if the model works on the task.
    pub fn is_in_progress(&self) -> bool {
        self.status == "in_progress"
    }

    /// Returns true if the task is done.
    pub fn is_completed(&self) -> bool {
        self.status == "completed"
    }
}
