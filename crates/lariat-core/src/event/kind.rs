//! What can happen: the variants of [`AgentEvent`] and the small types inside them.
//!
//! Owns names and fields, after seed 002 section 4, extended by what permissions, plan mode, compaction, budgets and
//! sub-agents need. `loop_id` and `timestamp`, which the seed repeats in every variant, are in the envelope.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::about::{Description, Goal, Import, Learning};
use super::compaction::{CompactionCause, CompactionEdit};
use super::full::ContextFull;
use super::loops::{LimitKind, LoopPattern, LoopStart, RunOutcome, TurnTrigger};
use super::reference::{ArgsRef, MessageRef, Recorded};
use crate::budget::{BudgetLimits, BudgetRequest, BudgetScope};
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
    /// A loop began.
    AgentStart(Box<LoopStart>),
    /// A loop ended. Emitted exactly once per loop, whatever happened.
    AgentEnd {
        /// All messages the loop produced, by id.
        messages: Vec<MessageRef>,
        /// Sum over all model calls of the loop.
        usage: Usage,
        /// Why it ended.
        outcome: RunOutcome,
        /// Set when an input filter blocked the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rejection: Option<String>,
    },
    /// A turn began: one model call and the tools it asks for.
    TurnStart {
        /// Zero-based index within the loop.
        turn_index: u32,
        /// What caused it.
        triggered_by: TurnTrigger,
    },
    /// A turn ended.
    TurnEnd {
        /// The assistant message.
        message: MessageRef,
        /// Usage of the turn's model call.
        usage: Usage,
        /// Results in the order of the calls.
        tool_results: Vec<MessageRef>,
    },
    /// A message began. Live only.
    MessageStart {
        /// The message; an assistant's has no content yet.
        message: MessageRef,
    },
    /// A piece of an assistant message arrived. Live only.
    MessageUpdate {
        /// The message it belongs to.
        message: MessageRef,
        /// The piece.
        delta: StreamDelta,
    },
    /// A message is complete. The one event that carries content.
    MessageEnd {
        /// The message.
        message: Recorded,
    },
    /// A tool is about to run. Durable before it runs: what is not recorded here has not touched the world.
    ToolExecutionStart {
        /// The call.
        tool_call_id: ToolCallId,
        /// The tool.
        tool_name: String,
        /// Its arguments.
        #[serde(default, skip_serializing_if = "ArgsRef::is_as_called")]
        args: ArgsRef,
    },
    /// A running tool reported a partial result. Live only.
    ToolExecutionUpdate {
        /// The call.
        tool_call_id: ToolCallId,
        /// The tool.
        tool_name: String,
        /// What there is so far.
        partial_result: Arc<ToolResult>,
    },
    /// A tool finished, failed or was interrupted.
    ToolExecutionEnd {
        /// The call.
        tool_call_id: ToolCallId,
        /// The tool.
        tool_name: String,
        /// The tool result message, which carries the content.
        message: MessageRef,
        /// Structured metadata that the model does not see, for example an exit code.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        details: Value,
        /// True when it failed.
        is_error: bool,
        /// Set when the tool spawned a sub-agent loop.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        child_loop_id: Option<LoopId>,
    },
    /// A running tool says what it is doing. Live only.
    ProgressMessage {
        /// The call.
        tool_call_id: ToolCallId,
        /// The tool.
        tool_name: String,
        /// For a person.
        text: String,
    },
    /// Somebody asked the loop to end now. Durable, so that a crash does not turn "stop" into "go on".
    AbortRequested,
    /// A hook said that the loop must not go on. Durable for the same reason.
    HookStopped {
        /// Why.
        reason: String,
    },
    /// The model was done, and a hook wants it to go on. Comes before the queued message that says so to the model.
    StopBlocked {
        /// Why.
        reason: String,
        /// The message.
        message_id: MessageId,
    },
    /// An input filter blocked the prompt.
    InputRejected {
        /// Why.
        reason: String,
    },
    /// An input filter let the prompt pass with a warning.
    InputWarned {
        /// What the filter said; also appended to the user's message.
        warning: String,
    },
    /// Several loops began from one context.
    ParallelLoopStart {
        /// The session.
        session_id: SessionId,
        /// One loop per branch, in configuration order.
        loop_ids: Vec<LoopId>,
    },
    /// A branch was selected.
    ParallelLoopEnd {
        /// The session.
        session_id: SessionId,
        /// The winner.
        selected_loop_id: LoopId,
        /// Its index in configuration order.
        selected_config_index: usize,
        /// What judging cost.
        evaluation_usage: Usage,
    },
    /// A message waits to be injected. Durable, so that what a user typed survives a crash.
    MessageQueued {
        /// Which queue.
        queue: QueueKind,
        /// The message.
        message: SharedMessage,
    },
    /// Messages from outside became part of the conversation.
    MessagesImported {
        /// The message they follow; `None` at the start of a conversation.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base: Option<MessageId>,
        /// The messages, in order.
        messages: Vec<SharedMessage>,
    },
    /// The events from here on come from a file. Until [`AgentEvent::SessionTakenOver`] names this import, no decision
    /// among them applies here (see [`AgentEvent::applies_only_at_home`]).
    SessionImported(Box<Import>),
    /// An imported session goes on here: from now on, decisions are this machine's.
    SessionTakenOver {
        /// The import, as [`AgentEvent::SessionImported`] names it.
        import_id: String,
    },
    /// A message was taken out of the conversation (a tombstone: the journal keeps it).
    MessageRemoved {
        /// Which.
        message_id: MessageId,
    },
    /// The system prompt of the session was put together. It stays as it is from now on: what changes later is told in
    /// notes.
    PromptAssembled {
        /// Its sections, in the order they are sent.
        sections: Arc<[PromptSection]>,
    },
    /// A person is asked whether a call may run.
    PermissionRequired {
        /// The question.
        request: Arc<PermissionRequest>,
    },
    /// A permission request was answered.
    PermissionDecided {
        /// The question.
        request_id: RequestId,
        /// The call in question.
        tool_call_id: ToolCallId,
        /// The answer.
        #[serde(flatten)]
        decision: PermissionDecision,
    },
    /// Plan mode queued a change instead of making it.
    PlanChangeQueued {
        /// The call that would have made it.
        tool_call_id: ToolCallId,
        /// The tool.
        tool_name: String,
        /// What would be done.
        summary: String,
    },
    /// A person decided about changes that plan mode queued. They are named by the calls that would have made them.
    PlanDecided {
        /// To be carried out.
        approved: Vec<ToolCallId>,
        /// Never to be made.
        rejected: Vec<ToolCallId>,
    },
    /// What the model sees of the conversation was compacted. The journal keeps everything.
    Compaction {
        /// Why.
        cause: CompactionCause,
        /// The overlay, by reference.
        edits: Arc<Vec<CompactionEdit>>,
        /// Estimated tokens before.
        tokens_before: u64,
        /// Estimated tokens after.
        tokens_after: u64,
        /// What making a summary cost.
        #[serde(default)]
        usage: Usage,
    },
    /// The window is filling up; room is being prepared. Once, until room is made.
    CompactionWarning {
        /// Estimated tokens of the next request.
        tokens: u64,
        /// Tokens that fit.
        window: u64,
    },
    /// A compaction was taken back: the conversation is as it would be without it.
    CompactionUndone {
        /// The event that recorded it.
        compaction: EventId,
    },
    /// A message is to stay as it is, whatever is compacted; or need not any more.
    MessagePinned {
        /// Which.
        message_id: MessageId,
        /// Whether it is to stay.
        pinned: bool,
    },
    /// The conversation does not fit the window, and no room can be made. The run ends by it.
    ContextFull(Box<ContextFull>),
    /// Compaction was tried and did not help.
    CompactionRefused {
        /// Why it was tried.
        cause: CompactionCause,
        /// Why it did not help.
        reason: String,
        /// What trying cost.
        #[serde(default)]
        usage: Usage,
    },
    /// A named point to come back to.
    Checkpoint {
        /// Its name.
        label: String,
        /// The last message before it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message_id: Option<MessageId>,
    },
    /// What people are told about the session changed.
    SessionDescribed(Box<Description>),
    /// The conversation goes on from an earlier message; `None` from its beginning.
    Rewound {
        /// The message to go on from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tip: Option<MessageId>,
    },
    /// Something was learned that later sessions should know.
    Learned(Box<Learning>),
    /// Something that was learned is to be forgotten.
    Unlearned {
        /// Its id.
        learning_id: String,
    },
    /// A goal was set, or where it stands changed.
    GoalChanged(Box<Goal>),
    /// Stands where a damaged event was, so that those around it keep their places.
    EventLost {
        /// What was found in its place.
        note: String,
    },
    /// A share of a budget is used up: once per level.
    BudgetWarning {
        /// Which limit.
        limit: LimitKind,
        /// How much of it is used, in percent.
        used_percent: u8,
        /// What the limit is for.
        #[serde(default)]
        scope: BudgetScope,
        /// The level that was reached, in percent: 70 or 90, or 95, where the model is told to finish.
        #[serde(default)]
        level: u8,
        /// How much is used, in the unit of the limit.
        #[serde(default)]
        used: u64,
        /// How much may be used.
        #[serde(default)]
        cap: u64,
    },
    /// A budget is used up, and somebody is asked for more.
    BudgetExtensionRequested {
        /// The question.
        request: Arc<BudgetRequest>,
    },
    /// More may be spent.
    BudgetExtended {
        /// Of which budget.
        scope: BudgetScope,
        /// How much more.
        limits: BudgetLimits,
        /// Who said so.
        by: String,
    },
    /// A limit ended the run. What the model is told about it, it is told by this event, not by a made-up message.
    LimitReached {
        /// Which limit.
        limit: LimitKind,
        /// What the limit is for.
        #[serde(default)]
        scope: BudgetScope,
        /// In words.
        note: String,
    },
    /// The model goes round in a circle.
    RepetitionDetected {
        /// The tool it called last.
        tool_name: String,
        /// How often it went round.
        count: u32,
        /// What kind of circle.
        #[serde(default)]
        pattern: LoopPattern,
    },
    /// A reply broke off and is asked for again: what observers saw of this message is void, and its tool calls never
    /// run. The next reply has another id. Live only: the journal holds complete replies.
    MessageWithdrawn {
        /// The message that was announced by `MessageStart`.
        message_id: MessageId,
    },
    /// A model call failed and will be made again. Live only.
    ModelRetry {
        /// Which retry this is, from 1.
        attempt: u32,
        /// How long it waits, in milliseconds.
        delay_ms: u64,
        /// What failed.
        error: String,
    },
    /// A model failed after all its retries, and the next one goes on with the same turn. Live only: the reply names
    /// who made it.
    ModelFallback {
        /// The model that failed.
        from: String,
        /// The model that goes on.
        to: String,
        /// What failed.
        error: String,
    },
    /// A sub-agent began.
    SubAgentSpawned {
        /// The call that spawned it.
        tool_call_id: ToolCallId,
        /// Its loop.
        child_loop_id: LoopId,
        /// Its session.
        child_session_id: SessionId,
        /// What it was told to do.
        task: String,
    },
    /// A sub-agent ended.
    SubAgentCompleted {
        /// The call that spawned it.
        tool_call_id: ToolCallId,
        /// Its loop.
        child_loop_id: LoopId,
        /// How it ended.
        outcome: RunOutcome,
        /// What it used.
        usage: Usage,
    },
    /// A loop goes on after its process died.
    LoopRecovered {
        /// Calls that were running then; their outcome is unknown.
        interrupted: Vec<ToolCallId>,
        /// What had to be repaired in the conversation.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        repairs: Vec<Repair>,
    },
    /// The journal could not be written; the run waits and tries again. Live only.
    JournalUnavailable {
        /// What the store said.
        error: String,
        /// Durable events that are not saved yet.
        unsaved: u64,
    },
    /// The journal takes writes again; nothing was lost. Live only.
    JournalRestored,
    /// An event of a kind this version does not know, kept as read.
    #[serde(untagged)]
    Unknown(Map<String, Value>),
}

/// Every kind this version knows, for telling "unknown" from "malformed".
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
    "PlanChangeQueued",
    "PlanDecided",
    "Compaction",
    "CompactionWarning",
    "CompactionUndone",
    "MessagePinned",
    "ContextFull",
    "CompactionRefused",
    "Checkpoint",
    "SessionDescribed",
    "Rewound",
    "Learned",
    "Unlearned",
    "GoalChanged",
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
    "LoopRecovered",
    "JournalUnavailable",
    "JournalRestored",
];

impl AgentEvent {
    /// True for events that belong into the journal; false for those that only live observers see.
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

    /// True for what a person or a policy decided for one machine: questions and their answers, plans, larger budgets,
    /// the system prompt. In an imported session it does not apply.
    pub const fn applies_only_at_home(&self) -> bool {
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

    /// The text of a text delta, which is what most observers want.
    pub fn text_delta(&self) -> Option<&str> {
        match self {
            Self::MessageUpdate { delta: StreamDelta::Text { delta }, .. } => Some(delta),
            _ => None,
        }
    }

    /// The `type` of an event this version does not know.
    pub(super) fn unknown_kind(&self) -> Option<&str> {
        match self {
            Self::Unknown(fields) => Some(fields.get("type").and_then(Value::as_str).unwrap_or_default()),
            _ => None,
        }
    }
}

/// The two queues of messages that wait for their moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum QueueKind {
    /// Injected between tool executions and at turn ends.
    Steering,
    /// Injected when the loop would otherwise stop.
    FollowUp,
}

/// A piece of an assistant message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
#[non_exhaustive]
pub enum StreamDelta {
    /// Text.
    Text {
        /// The piece.
        delta: String,
    },
    /// Reasoning.
    Thinking {
        /// The piece.
        delta: String,
    },
    /// Arguments of a tool call.
    ToolCallDelta {
        /// The piece.
        delta: String,
    },
}
