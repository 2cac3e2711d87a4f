//! Commands: what a client asks a session to do.
//!
//! Invariants: a client chooses the id of a command; the same id with the same content returns the same receipt and
//! changes nothing; the same id with another content is a conflict. A host records a command before it sends the
//! receipt.

use lariat_core::budget::{BudgetLimits, BudgetScope};
use lariat_core::content::Content;
use lariat_core::event::Goal;
use lariat_core::id::{EventId, MessageId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Answer, AskDigest, AskId, ClientName, CommandId};

/// A command with its id and its sender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SessionCommand {
    /// The id that the client chose.
    pub id: CommandId,
    /// The program that sends it.
    pub client: ClientName,
    /// What to do.
    pub action: Action,
}

impl SessionCommand {
    /// Creates a command.
    pub const fn new(id: CommandId, client: ClientName, action: Action) -> Self {
        Self { id, client, action }
    }
}

/// What a command does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
#[non_exhaustive]
pub enum Action {
    /// Sends a message.
    Prompt {
        /// The message.
        content: PromptContent,
        /// What happens if a run is active.
        #[serde(default)]
        delivery: Delivery,
    },
    /// Lets the model reply to the conversation as it is, after a failure or a limit.
    Continue,
    /// Runs an earlier run again from its recorded start. Files are not changed.
    Rerun {
        /// The number of the run, as in the automatic checkpoint `auto/run-3`; the newest run without it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<u64>,
    },
    /// Asks the model for another answer, because the last one does not match the schema of the session.
    RetryAnswer {
        /// What is wrong with the last answer. The model receives it.
        problem: String,
    },
    /// Stops the active run, or the command of the user. The queue stays and pauses.
    Interrupt,
    /// Answers an ask.
    Answer {
        /// The ask.
        ask_id: AskId,
        /// The digest of the ask that the user saw.
        digest: AskDigest,
        /// The answer.
        answer: Answer,
    },
    /// Changes the queue of messages.
    EditQueue {
        /// The change.
        edit: Edit,
    },
    /// Changes the description. Absent fields stay; empty text removes.
    Describe {
        /// The title.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// All tags.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tags: Option<Vec<String>>,
    },
    /// Changes the permission mode, as far as the settings permit.
    SetMode {
        /// The name of the mode.
        mode: String,
    },
    /// Changes the model and its effort for the next turn.
    SetModel {
        /// The name of the model, such as `anthropic/claude-sonnet-4-5`.
        model: String,
        /// The reasoning effort.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        effort: Option<String>,
    },
    /// Continues the conversation from an earlier message; `None` from the start.
    Rewind {
        /// The message to continue from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
        to: Option<MessageId>,
    },
    /// Removes a message from the conversation. The journal keeps it.
    RemoveMessage {
        /// The message.
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        message_id: MessageId,
    },
    /// Pins or unpins a message. Compaction does not change a pinned message.
    Pin {
        /// The message.
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        message_id: MessageId,
        /// Whether it is pinned from now on.
        pinned: bool,
    },
    /// Compacts the conversation now.
    Compact {
        /// What the summary should keep in detail.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        focus: Option<String>,
    },
    /// Undoes a compaction.
    UndoCompaction {
        /// The event that recorded it.
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        compaction: EventId,
    },
    /// Names a point to return to.
    Checkpoint {
        /// The name of the checkpoint.
        label: String,
    },
    /// Returns to a checkpoint.
    Restore {
        /// The name of the checkpoint.
        label: String,
        /// What to restore.
        #[serde(default)]
        parts: CheckpointParts,
    },
    /// Returns to the point after a message; `None` to the start. With the conversation alone, it is `Rewind`.
    RestoreTo {
        /// The last message that stays.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
        to: Option<MessageId>,
        /// What to restore.
        #[serde(default)]
        parts: CheckpointParts,
    },
    /// Runs a command of the user in the directory of the session, in the sandbox and without approval. The command and its
    /// output become a message of the conversation.
    Shell {
        /// The command line.
        command: String,
    },
    /// Raises a budget.
    ExtendBudget {
        /// What it applies to.
        #[cfg_attr(feature = "schema", schemars(with = "Value"))]
        scope: BudgetScope,
        /// The additional amounts.
        #[cfg_attr(feature = "schema", schemars(with = "Value"))]
        limits: BudgetLimits,
    },
    /// Sets a goal or changes its progress.
    SetGoal {
        /// The goal. It replaces the one with the same id.
        #[cfg_attr(feature = "schema", schemars(with = "Value"))]
        goal: Goal,
    },
    /// Records a learning for later sessions.
    Learn {
        /// The learning.
        text: String,
    },
    /// Closes the session: waits for the run to reach a safe point, then releases it for other processes.
    Close,
    /// An action of a newer version. A host refuses it.
    #[serde(untagged)]
    Other(Map<String, Value>),
}

/// A message of a user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct PromptContent(#[cfg_attr(feature = "schema", schemars(with = "Vec<Value>"))] pub Vec<Content>);

impl PromptContent {
    /// A message of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self(vec![Content::text(text)])
    }
}

/// What happens to a message while a run is active.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Delivery {
    /// The run receives it between tool calls.
    Steer,
    /// It waits for the end of the run.
    #[default]
    Queue,
    /// It stops the run and starts the next.
    Interrupt,
    /// The command fails.
    Reject,
}

/// A change of the queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
#[non_exhaustive]
pub enum Edit {
    /// Replaces a message that waits.
    Replace {
        /// The message.
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        message_id: MessageId,
        /// Its new content.
        content: PromptContent,
    },
    /// Removes a message that waits.
    Remove {
        /// The message.
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        message_id: MessageId,
    },
    /// Puts the messages in this order. Must name all of them.
    Reorder {
        /// The messages, first to last.
        #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
        message_ids: Vec<MessageId>,
    },
    /// Delivers again after an interruption paused the queue.
    Resume,
}

/// What a checkpoint restores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum CheckpointParts {
    /// The conversation only.
    Conversation,
    /// The files only.
    Files,
    /// Both.
    #[default]
    Both,
}

/// Acknowledges a command. The command is durable; its effects follow in the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Receipt {
    /// The command.
    pub command_id: CommandId,
    /// The position of the event that recorded it.
    pub seq: u64,
}

impl Receipt {
    /// Creates a receipt.
    pub const fn new(command_id: CommandId, seq: u64) -> Self {
        Self { command_id, seq }
    }
}
