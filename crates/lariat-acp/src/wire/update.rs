//! Defines what Lariat sends to the editor: updates of a session, tool calls, and requests for approval.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ContentBlock;
use super::methods::ConfigOption;

/// Something that happened in a session.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "sessionUpdate", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[expect(clippy::enum_variant_names, reason = "the variants have the names of the protocol")]
pub(crate) enum Update {
    UserMessageChunk {
        content: ContentBlock,
        message_id: String,
    },
    AgentMessageChunk {
        content: ContentBlock,
        #[serde(skip_serializing_if = "Option::is_none")]
        message_id: Option<String>,
    },
    AgentThoughtChunk {
        content: ContentBlock,
        message_id: String,
    },
    /// A new tool call. It has a title.
    ToolCall(Box<ToolCall>),
    /// Changes of a tool call: only what changed.
    ToolCallUpdate(Box<ToolCall>),
    Plan {
        entries: Vec<PlanEntry>,
    },
    AvailableCommandsUpdate {
        available_commands: Vec<AvailableCommand>,
    },
    CurrentModeUpdate {
        current_mode_id: String,
    },
    ConfigOptionUpdate {
        config_options: Vec<ConfigOption>,
    },
    SessionInfoUpdate {
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        updated_at: Option<String>,
    },
    UsageUpdate {
        used: u64,
        size: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        cost: Option<Cost>,
    },
    /// Only for editors that show notices.
    Notice(Notice),
    /// Only for editors that show compactions.
    CompactionUpdate {
        compaction_id: String,
        status: &'static str,
    },
}

/// Why a prompt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StopReason {
    EndTurn,
    MaxTokens,
    MaxTurnRequests,
    Refusal,
    Cancelled,
}

/// A message about the session that is not part of the conversation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Notice {
    pub(crate) severity: Severity,
    pub(crate) title: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Severity {
    Info,
    Warning,
    Error,
}

/// What the session has cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Cost {
    pub(crate) amount: f64,
    pub(crate) currency: &'static str,
}

/// A tool call, or changes of one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolCall {
    pub(crate) tool_call_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    /// The name of the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<ToolKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<ToolStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<Vec<ToolContent>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) locations: Option<Vec<Location>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) raw_input: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) raw_output: Option<Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToolKind {
    Read,
    Edit,
    Search,
    Execute,
    Think,
    Fetch,
    SwitchMode,
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToolStatus {
    Pending,
    InProgress,
    Completed,
    Failed,
}

/// What a tool call shows.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum ToolContent {
    Content {
        content: ContentBlock,
    },
    /// A change of a file: a part of it before and after. `old_text` is null for a new file.
    Diff {
        path: String,
        old_text: Option<String>,
        new_text: String,
        /// The change as a hunk of a unified diff. Version 1 does not have it.
        #[serde(skip)]
        hunk: String,
    },
}

/// A place in a file that the editor can follow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Location {
    pub(crate) path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<u32>,
}

/// A task on the list of the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct PlanEntry {
    pub(crate) content: String,
    pub(crate) priority: Priority,
    pub(crate) status: PlanStatus,
}

/// The model gives its tasks no priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Priority {
    Medium,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PlanStatus {
    Pending,
    InProgress,
    Completed,
}

/// A command that the user can type after `/`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct AvailableCommand {
    pub(crate) name: String,
    pub(crate) description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) input: Option<CommandInput>,
}

/// What the user types after the name of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct CommandInput {
    pub(crate) hint: String,
}

/// An answer that the editor offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PermissionOption {
    pub(crate) option_id: String,
    pub(crate) name: String,
    pub(crate) kind: PermissionOptionKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PermissionOptionKind {
    AllowOnce,
    AllowAlways,
    RejectOnce,
}

/// The answer of the editor.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum PermissionOutcome {
    /// The user cancelled the prompt.
    Cancelled,
    /// The user chose an option.
    Selected { option_id: String },
}
