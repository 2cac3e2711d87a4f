//! The event kinds of a session: the variants of [`AgentEvent`] and the small types in them.
//!
//! `loop_id` and `timestamp` are in the envelope ([`super::EventRecord`]), not in the variants.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::context_full::ContextFull;
use super::finding::Finding;
use super::loops::{LoopPattern, LoopStart, RunOutcome, TurnTrigger};
use super::reference::{ArgsRef, MessageRef, RecordedMessage};
use super::session_data::{
    BlockedBy, CommandRecord, Description, FileRestore, FileRestoreResult, Goal, Import, Learning,
    SessionFormation, Task, UserCommandResult,
};
use crate::budget::{BudgetLimits, BudgetRequest, BudgetScope, LimitKind};
use crate::compaction::{CompactionCause, CompactionEdit};
use crate::id::{EventId, LoopId, MessageId, RequestId, SessionId, ToolCallId};
use crate::message::SharedMessage;
use crate::model::PromptSection;
use crate::permission::{PermissionDecision, PermissionRequest};
use crate::tool::ToolResult;
use crate::transcript::Repair;
use crate::usage::Usage;

/// Something that happened in a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
#[non_exhaustive]
pub enum AgentEvent {
    /// A loop started.
    AgentStart(Box<LoopStart>),
    /// A loop ended. Recorded exactly once per loop.
    AgentEnd {
        /// Ids of all messages that the loop produced.
        messages: Vec<MessageRef>,
        /// Sum over all model calls of the loop.
        usage: Usage,
        /// Why the loop ended.
        outcome: RunOutcome,
        /// Set when an input filter blocked the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rejection: Option<String>,
    },
    /// A turn started: one model call and the tool calls it requests.
    TurnStart {
        /// Zero-based index within the loop.
        turn_index: u32,
        /// What triggered the turn.
        triggered_by: TurnTrigger,
    },
    /// A turn ended.
    TurnEnd {
        /// The reply of the model.
        message: MessageRef,
        /// Usage of the turn's model call.
        usage: Usage,
        /// Tool results in the order of the tool calls.
        tool_results: Vec<MessageRef>,
    },
    /// A message started. Live only.
    MessageStart {
        /// The message; a reply of the model has no content yet.
        message: MessageRef,
    },
    /// A part of a reply arrived. Live only.
    MessageUpdate {
        /// The message that the part belongs to.
        message: MessageRef,
        /// The new part.
        delta: StreamDelta,
    },
    /// A message is complete. This event contains its content.
    MessageEnd {
        /// The complete message.
        message: RecordedMessage,
    },
    /// A tool is about to run. Durable before the tool runs, so a tool call without this event has had no
    /// effect.
    ToolExecutionStart {
        /// Id of the tool call.
        tool_call_id: ToolCallId,
        /// Name of the tool.
        tool_name: String,
        /// Arguments that the tool runs with.
        #[serde(default, skip_serializing_if = "ArgsRef::is_unchanged")]
        args: ArgsRef,
    },
    /// A running tool reported a partial result. Live only.
    ToolExecutionUpdate {
        /// Id of the tool call.
        tool_call_id: ToolCallId,
        /// Name of the tool.
        tool_name: String,
        /// The result so far.
        partial_result: Arc<ToolResult>,
    },
    /// A tool finished, failed or was interrupted.
    ToolExecutionEnd {
        /// Id of the tool call.
        tool_call_id: ToolCallId,
        /// Name of the tool.
        tool_name: String,
        /// The tool result message, which contains the content.
        message: MessageRef,
        /// Structured metadata that the model does not receive, for example an exit code.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        details: Value,
        /// True if the tool call failed.
        is_error: bool,
        /// Loop of the sub-agent that the tool spawned.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        child_loop_id: Option<LoopId>,
    },
    /// A running tool reported its status. Live only.
    ProgressMessage {
        /// Id of the tool call.
        tool_call_id: ToolCallId,
        /// Name of the tool.
        tool_name: String,
        /// Status text for the user.
        text: String,
    },
    /// The user or the program requested that the loop ends now. Durable, so that the loop does not continue
    /// after a crash.
    AbortRequested,
    /// A hook ended the loop. Durable for the same reason.
    HookStopped {
        /// Reason from the hook.
        reason: String,
    },
    /// A hook has a message for the user. The model does not receive it.
    HookMessage {
        /// The message.
        message: String,
    },
    /// The model was done, but a hook wants it to continue. Recorded before the queued message that tells the
    /// model so.
    StopBlocked {
        /// Reason from the hook.
        reason: String,
        /// Id of the queued message.
        message_id: MessageId,
    },
    /// An input filter rejected the prompt.
    InputRejected {
        /// Reason from the filter.
        reason: String,
    },
    /// An input filter accepted the prompt with a warning.
    InputWarned {
        /// Text of the warning, which is also appended to the user's message.
        warning: String,
    },
    /// Several loops started from one context.
    ParallelLoopStart {
        /// Session of the loops.
        session_id: SessionId,
        /// One loop per branch, in configuration order.
        loop_ids: Vec<LoopId>,
        /// The prompts that every branch begins with; empty if the branches continue the conversation. Durable here, so that
        /// a branch that a crash prevented from starting still starts.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        prompts: Vec<SharedMessage>,
    },
    /// One of several parallel branches was selected.
    ParallelLoopEnd {
        /// Session of the loops.
        session_id: SessionId,
        /// Loop of the selected branch.
        selected_loop_id: LoopId,
        /// Index of the branch in configuration order.
        selected_config_index: usize,
        /// Tokens and cost of the evaluation.
        evaluation_usage: Usage,
    },
    /// A message waits for delivery. Durable, so that input of the user survives a crash.
    MessageQueued {
        /// The queue that the message is in.
        queue: QueueKind,
        /// The queued message, with its content.
        message: SharedMessage,
    },
    /// Messages from another source became part of the conversation.
    MessagesImported {
        /// The message after which they are inserted; `None` at the start of a conversation.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base: Option<MessageId>,
        /// The imported messages, in order.
        messages: Vec<SharedMessage>,
    },
    /// The following events come from a file. Decisions among them do not apply here until
    /// [`AgentEvent::SessionTakenOver`] names this import (see [`AgentEvent::is_local_decision`]).
    SessionImported(Box<Import>),
    /// An imported session continues here: from now on, decisions were made on this machine.
    SessionTakenOver {
        /// Id of the import in [`AgentEvent::SessionImported`].
        import_id: String,
    },
    /// A message was removed from the conversation. The journal keeps it.
    MessageRemoved {
        /// Id of the removed message.
        message_id: MessageId,
    },
    /// The system prompt of the session was assembled. It does not change afterwards; the run sends later
    /// changes in notes.
    PromptAssembled {
        /// The sections, in the order in which they are sent.
        sections: Arc<[PromptSection]>,
    },
    /// A tool call requires the approval of the user.
    PermissionRequired {
        /// The request for approval.
        request: Arc<PermissionRequest>,
    },
    /// A permission request was answered.
    PermissionDecided {
        /// Id of the request.
        request_id: RequestId,
        /// Id of the tool call.
        tool_call_id: ToolCallId,
        /// The decision of the user or the policy.
        #[serde(flatten)]
        decision: PermissionDecision,
    },
    /// A tool call was refused before it ran. The tool result for the model follows.
    ToolBlocked {
        /// Id of the tool call.
        tool_call_id: ToolCallId,
        /// Name of the tool.
        tool_name: String,
        /// What refused the call.
        by: BlockedBy,
        /// The rule that matched, or the reason from the hook or the user, if there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The model changed its task list. Recorded after the result of the tool call, and only if the list differs.
    TasksChanged {
        /// Id of the tool call that changed the list.
        tool_call_id: ToolCallId,
        /// The whole list, in order.
        tasks: Vec<Task>,
        /// Tasks that this change set to in progress.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        started: Vec<String>,
        /// Tasks that this change set to completed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        completed: Vec<String>,
    },
    /// Plan mode queued a change instead of making it.
    PlanChangeQueued {
        /// Id of the tool call that would have made the change.
        tool_call_id: ToolCallId,
        /// Name of the tool.
        tool_name: String,
        /// Description of the change.
        summary: String,
    },
    /// The user decided about changes that plan mode queued. The ids are those of the tool calls.
    PlanDecided {
        /// Changes to make.
        approved: Vec<ToolCallId>,
        /// Changes that are discarded.
        rejected: Vec<ToolCallId>,
    },
    /// The model's view of the conversation was compacted. The journal keeps all messages.
    Compaction {
        /// Why compaction ran.
        cause: CompactionCause,
        /// The edits, with messages by id.
        edits: Arc<Vec<CompactionEdit>>,
        /// Estimated tokens before.
        tokens_before: u64,
        /// Estimated tokens after.
        tokens_after: u64,
        /// Tokens and cost of creating summaries.
        #[serde(default)]
        usage: Usage,
    },
    /// The context window is filling up and compaction is being prepared. Recorded once until compaction has
    /// run.
    CompactionWarning {
        /// Estimated tokens of the next request.
        tokens: u64,
        /// Size of the context window in tokens.
        window: u64,
    },
    /// The provider counted the tokens of the next request, because an estimate was too close to a threshold.
    ContextCounted {
        /// Tokens of the next request.
        tokens: u64,
    },
    /// A compaction was undone: the conversation is as if it had not happened.
    CompactionUndone {
        /// Id of the event that recorded the compaction.
        compaction: EventId,
    },
    /// A message was pinned or unpinned. Compaction does not change pinned messages.
    MessagePinned {
        /// Id of the message.
        message_id: MessageId,
        /// Whether the message is pinned now.
        pinned: bool,
    },
    /// The conversation does not fit the context window and compaction does not help. The run ends.
    ContextFull(Box<ContextFull>),
    /// Compaction was tried and did not help.
    CompactionRefused {
        /// Why compaction ran.
        cause: CompactionCause,
        /// Why it did not help.
        reason: String,
        /// Tokens and cost of trying.
        #[serde(default)]
        usage: Usage,
    },
    /// A named point that the user can return to.
    Checkpoint {
        /// Name of the checkpoint.
        label: String,
        /// The last message before the checkpoint.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message_id: Option<MessageId>,
    },
    /// The session replaced another one of the same agent. Other sessions have no such event: they began with their first
    /// loop, and forks, imports and sub-agents name their origin elsewhere.
    SessionFormed {
        /// Why the session was created.
        formation: SessionFormation,
        /// The session that it replaced.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        previous: Option<SessionId>,
    },
    /// The description of the session changed.
    SessionDescribed(Box<Description>),
    /// The conversation continues from an earlier message; `None` means from the start.
    Rewound {
        /// Id of the message to continue from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tip: Option<MessageId>,
    },
    /// Files are about to return to an earlier state. Durable before the first file changes, so that a restore that a
    /// crash interrupts is finished or reported.
    FileRestoreStarted(Box<FileRestore>),
    /// The newest restore of files ended. If it also rewinds the conversation, the rewind is part of the same write.
    FileRestoreEnded(Box<FileRestoreResult>),
    /// A command of the user is about to run. Durable before it runs, so that it never runs twice.
    UserCommandStarted {
        /// The id of the client's command that asked for it.
        command_id: String,
        /// The command line.
        command: String,
    },
    /// The newest command of the user ended. The message with its output precedes this event in the same write.
    UserCommandEnded(Box<UserCommandResult>),
    /// The agent recorded a learning for later sessions.
    Learned(Box<Learning>),
    /// A learning was deleted.
    Unlearned {
        /// Id of the learning.
        learning_id: String,
    },
    /// A goal was set or its progress changed.
    GoalChanged(Box<Goal>),
    /// A client's command was accepted. What the command does is part of the same write, or of the run that it starts.
    CommandAccepted(Box<CommandRecord>),
    /// The permission mode changed.
    ModeChanged {
        /// The name of the mode that applies from now on.
        mode: String,
    },
    /// The model of the next turns changed.
    ModelChanged {
        /// The name of the model, with its provider.
        model: String,
        /// The reasoning effort; `None` leaves it to the settings.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        effort: Option<String>,
    },
    /// A message left its queue before it was delivered, because a user removed it.
    MessageUnqueued {
        /// Id of the message.
        message_id: MessageId,
    },
    /// Replaces a damaged event, so that the other events keep their positions.
    EventLost {
        /// What was found at this position.
        note: String,
    },
    /// A share of a budget is used up. Recorded once per level.
    BudgetWarning {
        /// Kind of the limit.
        limit: LimitKind,
        /// Percentage that is used.
        used_percent: u8,
        /// What the limit applies to.
        #[serde(default)]
        scope: BudgetScope,
        /// The level reached, in percent: 70, 90, or 95 (the run asks the model to finish).
        #[serde(default)]
        level: u8,
        /// Amount used, in the unit of the limit.
        #[serde(default)]
        used: u64,
        /// Amount that may be used.
        #[serde(default)]
        cap: u64,
    },
    /// A budget is used up and the run asks the user for more.
    BudgetExtensionRequested {
        /// The request for more budget.
        request: Arc<BudgetRequest>,
    },
    /// A budget was raised.
    BudgetExtended {
        /// What the budget applies to.
        scope: BudgetScope,
        /// The additional amounts.
        limits: BudgetLimits,
        /// Who raised the limit, such as `user`.
        by: String,
    },
    /// A limit ended the run. This event explains it to the model; the run adds no artificial message.
    LimitReached {
        /// Kind of the limit.
        limit: LimitKind,
        /// What the limit applies to.
        #[serde(default)]
        scope: BudgetScope,
        /// Description for the user and the model.
        note: String,
    },
    /// The model repeats itself.
    RepetitionDetected {
        /// The tool that the model called last.
        tool_name: String,
        /// Number of repetitions.
        count: u32,
        /// Kind of the repetition.
        #[serde(default)]
        pattern: LoopPattern,
    },
    /// A reply broke off and will be requested again. What observers received of this message is invalid, and
    /// its tool calls never run. The next reply has a new id. Live only: the journal contains only complete
    /// replies.
    MessageWithdrawn {
        /// Id of the message that `MessageStart` announced.
        message_id: MessageId,
    },
    /// A model call failed and will be retried. Live only.
    ModelRetry {
        /// Number of the retry, from 1.
        attempt: u32,
        /// Delay before the retry, in milliseconds.
        delay_ms: u64,
        /// Error of the failed call.
        error: String,
    },
    /// A model failed after all retries, and the next model continues the same turn. Live only: the reply
    /// names the model that wrote it.
    ModelFallback {
        /// The model that failed.
        from: String,
        /// The model that continues.
        to: String,
        /// Error of the failed model.
        error: String,
    },
    /// A sub-agent started.
    SubAgentSpawned {
        /// Id of the tool call that spawned it.
        tool_call_id: ToolCallId,
        /// Loop of the sub-agent.
        child_loop_id: LoopId,
        /// Session of the sub-agent.
        child_session_id: SessionId,
        /// Task of the sub-agent.
        task: String,
        /// The message that will contain its report, if it works in the background.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        report: Option<MessageId>,
    },
    /// A sub-agent ended.
    SubAgentCompleted {
        /// Id of the tool call that spawned it.
        tool_call_id: ToolCallId,
        /// Loop of the sub-agent.
        child_loop_id: LoopId,
        /// How it ended.
        outcome: RunOutcome,
        /// Tokens and cost of the sub-agent.
        usage: Usage,
    },
    /// An agent of a tree found something that the others receive. Recorded in its own session, and as a copy in the
    /// sessions of the agents above.
    FindingShared(Box<Finding>),
    /// A loop resumed after its process crashed.
    LoopRecovered {
        /// Tool calls that were running at the crash; their outcome is unknown.
        interrupted: Vec<ToolCallId>,
        /// Repairs that the conversation needed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        repairs: Vec<Repair>,
    },
    /// The journal cannot be written; the run waits and retries. Live only.
    JournalUnavailable {
        /// Error of the store.
        error: String,
        /// Durable events that are not saved yet.
        unsaved: u64,
    },
    /// The journal can be written again; no event was lost. Live only.
    JournalRestored,
    /// An event of an unknown kind, kept as read.
    #[serde(untagged)]
    Unknown(Map<String, Value>),
}

/// All kinds that this version knows. Distinguishes an unknown kind from a malformed event.
pub(super) const KNOWN_KINDS: &[&str] = &[
    "AgentStart",
    "AgentEnd",
    "TurnStart",
    "TurnEnd",
    "MessageStart",
    "MessageUpdate",
    "MessageEnd",
    "ToolExecutionStart",
    "ToolExecutionUpdate",
    "ToolExecutionEnd",
    "ProgressMessage",
    "AbortRequested",
    "HookStopped",
    "HookMessage",
    "StopBlocked",
    "InputRejected",
    "InputWarned",
    "ParallelLoopStart",
    "ParallelLoopEnd",
    "MessageQueued",
    "MessagesImported",
    "SessionImported",
    "SessionTakenOver",
    "MessageRemoved",
    "PromptAssembled",
    "PermissionRequired",
    "PermissionDecided",
    "ToolBlocked",
    "TasksChanged",
    "PlanChangeQueued",
    "PlanDecided",
    "Compaction",
    "CompactionWarning",
    "ContextCounted",
    "CompactionUndone",
    "MessagePinned",
    "ContextFull",
    "CompactionRefused",
    "Checkpoint",
    "SessionFormed",
    "SessionDescribed",
    "Rewound",
    "FileRestoreStarted",
    "FileRestoreEnded",
    "UserCommandStarted",
    "UserCommandEnded",
    "Learned",
    "Unlearned",
    "GoalChanged",
    "CommandAccepted",
    "ModeChanged",
    "ModelChanged",
    "MessageUnqueued",
    "EventLost",
    "BudgetWarning",
    "BudgetExtensionRequested",
    "BudgetExtended",
    "LimitReached",
    "RepetitionDetected",
    "MessageWithdrawn",
    "ModelRetry",
    "ModelFallback",
    "SubAgentSpawned",
    "SubAgentCompleted",
    "FindingShared",
    "LoopRecovered",
    "JournalUnavailable",
    "JournalRestored",
];

impl AgentEvent {
    /// Returns true for events that belong in the journal, and false for those that only live observers
    /// receive.
    pub const fn is_durable(&self) -> bool {
        !matches!(
            self,
            Self::MessageStart { .. }
                | Self::MessageUpdate { .. }
                | Self::ToolExecutionUpdate { .. }
                | Self::ProgressMessage { .. }
                | Self::MessageWithdrawn { .. }
                | Self::ModelRetry { .. }
                | Self::ModelFallback { .. }
                | Self::JournalUnavailable { .. }
                | Self::JournalRestored
        )
    }

    /// Returns true for events that record a decision for one machine: approval requests and their answers,
    /// plans, budget increases, the system prompt. They do not apply in an imported session.
    pub const fn is_local_decision(&self) -> bool {
        matches!(
            self,
            Self::PermissionRequired { .. }
                | Self::PermissionDecided { .. }
                | Self::PlanChangeQueued { .. }
                | Self::PlanDecided { .. }
                | Self::BudgetExtensionRequested { .. }
                | Self::BudgetExtended { .. }
                | Self::PromptAssembled { .. }
        )
    }

    /// Returns the id of what changes files from here on: a tool call, or a command of the user. Two loops may have tool calls with the
    /// same id: see [`EventRecord::change_id`](crate::event::EventRecord::change_id).
    pub fn change_id(&self) -> Option<String> {
        match self {
            Self::ToolExecutionStart { tool_call_id, .. } => Some(tool_call_id.to_string()),
            Self::UserCommandStarted { command_id, .. } => Some(format!("shell-{command_id}")),
            _ => None,
        }
    }

    /// Returns the text if this is a text delta, which most observers want.
    pub fn text_delta(&self) -> Option<&str> {
        match self {
            Self::MessageUpdate { delta: StreamDelta::Text { delta }, .. } => Some(delta),
            _ => None,
        }
    }

    /// Returns the `type` of an unknown event.
    pub(super) fn unknown_kind(&self) -> Option<&str> {
        match self {
            Self::Unknown(fields) => Some(fields.get("type").and_then(Value::as_str).unwrap_or_default()),
            _ => None,
        }
    }
}

/// The two queues of messages that wait for delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum QueueKind {
    /// Delivered between tool calls and at the end of a turn.
    Steering,
    /// Delivered when the loop would otherwise stop.
    FollowUp,
}

/// A part of a reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
#[non_exhaustive]
pub enum StreamDelta {
    /// Text.
    Text {
        /// The new text.
        delta: String,
    },
    /// Reasoning.
    Thinking {
        /// The new text.
        delta: String,
    },
    /// Arguments of a tool call.
    ToolCallDelta {
        /// The new JSON text.
        delta: String,
    },
}
