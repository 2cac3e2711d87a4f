//! What can happen: the variants of [`AgentEvent`] and the small types inside them.
//!
//! Owns names and fields, after seed 002 section 4, extended by what permissions, plan mode, compaction, budgets and
//! sub-agents need. `loop_id` and `timestamp`, which the seed repeats in every variant, are in the envelope.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::about::{Description, Goal, Learning};
use super::full::ContextFull;
use super::reference::{ArgsRef, MessageRef, Recorded};
use crate::id::{AgentId, EventId, LoopId, MessageId, RequestId, SessionId, ToolCallId};
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
    /// A share of a budget is used up.
    BudgetWarning {
        /// Which limit.
        limit: LimitKind,
        /// How much of it is used, in percent.
        used_percent: u8,
    },
    /// A limit ended the run. What the model is told about it, it is told by this event, not by a made-up message.
    LimitReached {
        /// Which limit.
        limit: LimitKind,
        /// In words.
        note: String,
    },
    /// The same call with the same result was repeated.
    RepetitionDetected {
        /// The tool.
        tool_name: String,
        /// How often in a row.
        count: u32,
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
    "LimitReached",
    "RepetitionDetected",
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
                | Self::ModelRetry { .. }
                | Self::ModelFallback { .. }
                | Self::JournalUnavailable { .. }
                | Self::JournalRestored
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

/// What begins with a loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LoopStart {
    /// The agent instance.
    pub agent_id: AgentId,
    /// The session.
    pub session_id: SessionId,
    /// The loop; written in the envelope only, because a name must not come twice in an object.
    #[serde(skip, default = "in_envelope")]
    pub loop_id: LoopId,
    /// `None` for origin calls; set for continuations and sub-agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_loop_id: Option<LoopId>,
    /// `None` for origin calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continuation_kind: Option<ContinuationKind>,
    /// The last message of the conversation this loop starts from; `None` when it starts from nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<MessageId>,
    /// The call in another session that spawned this loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spawned_by: Option<SpawnRef>,
    /// The configuration, for the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<Arc<LoopConfigSnapshot>>,
    /// Application-defined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
}

/// Stands for the loop's id until the envelope's is put in its place.
fn in_envelope() -> LoopId {
    LoopId::from("")
}

impl LoopStart {
    /// An origin call that starts from nothing.
    pub const fn new(agent_id: AgentId, session_id: SessionId, loop_id: LoopId) -> Self {
        Self {
            agent_id,
            session_id,
            loop_id,
            parent_loop_id: None,
            continuation_kind: None,
            base: None,
            spawned_by: None,
            config: None,
            metadata: None,
        }
    }
}

/// The call in a parent session that spawned a sub-agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpawnRef {
    /// The parent's session.
    pub parent_session_id: SessionId,
    /// The parent's loop.
    pub parent_loop_id: LoopId,
    /// The call.
    pub tool_call_id: ToolCallId,
    /// The tool.
    pub tool_name: String,
}

/// The configuration a loop ran with, without secrets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct LoopConfigSnapshot {
    /// Model id.
    pub model: String,
    /// Model name for people.
    pub name: String,
    /// Provider name.
    pub provider: String,
    /// The `{config}` segment of the loop id.
    pub config_id: String,
    /// Wire protocol.
    pub api: String,
    /// Where requests go.
    pub base_url: String,
    /// Whether the model reasons.
    pub reasoning: bool,
    /// Context window in tokens.
    pub context_window: u64,
    /// Output limit in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// Thinking level.
    pub thinking_level: crate::model::ThinkingLevel,
    /// Sampling temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f32>,
}

/// How a loop relates to the one before it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum ContinuationKind {
    /// Goes on.
    #[default]
    Default,
    /// Tries again from an equivalent context.
    Rerun {
        /// RFC 3339 UTC timestamp.
        tag: String,
    },
    /// Explores another path from a branching point.
    Branch {
        /// RFC 3339 UTC timestamp.
        tag: String,
    },
}

/// What caused a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum TurnTrigger {
    /// New prompts of the user.
    #[default]
    User,
    /// The task of a sub-agent.
    SubAgent,
    /// Tool results, steering, a follow-up, or a continued loop.
    Continuation,
    /// A branch.
    Branch,
}

/// Why a loop ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
#[non_exhaustive]
pub enum RunOutcome {
    /// The model was done.
    Completed,
    /// An input filter blocked the prompt.
    Rejected,
    /// The run was cancelled.
    Aborted,
    /// `before_loop` or `before_turn` returned false, or a hook said that the run must not go on (`HookStopped`).
    StoppedByHook,
    /// A limit was reached.
    LimitReached {
        /// Which.
        limit: LimitKind,
    },
    /// The model kept repeating one call with one result.
    Repetition,
    /// The conversation does not fit the window, and no room could be made or compaction is switched off.
    ContextFull(Box<ContextFull>),
    /// The model call failed for good.
    Failed {
        /// What failed.
        error: String,
    },
}

/// The limits a run can hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum LimitKind {
    /// Model calls.
    Turns,
    /// Tokens in total.
    Tokens,
    /// Wall-clock time.
    Duration,
    /// Money.
    Cost,
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

/// Why compaction was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CompactionCause {
    /// The window fills up: room is prepared beside the run.
    Threshold,
    /// The window is all but full: the run waits. No model is asked.
    Emergency,
    /// The provider said the request was too large: the run waits. No model is asked.
    Overflow,
    /// A person asked for it.
    Manual,
}

/// One edit of the overlay that compaction lays over the conversation. Ranges are inclusive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "edit", rename_all = "camelCase")]
#[non_exhaustive]
pub enum CompactionEdit {
    /// The output of a tool is replaced by a note how to recall it.
    ClearToolOutput {
        /// The tool result message.
        message: MessageId,
    },
    /// A range is replaced by a summary.
    Summarise {
        /// First message of the range.
        first: MessageId,
        /// Last message of the range.
        last: MessageId,
        /// A user message that stands for the range.
        summary: SharedMessage,
    },
    /// A range is left out.
    Drop {
        /// First message of the range.
        first: MessageId,
        /// Last message of the range.
        last: MessageId,
    },
}

impl CompactionCause {
    /// True when the run waits, so that nothing slow may be done.
    pub const fn is_urgent(self) -> bool {
        matches!(self, Self::Emergency | Self::Overflow)
    }
}

impl RunOutcome {
    /// True when the model was done.
    pub const fn is_completed(&self) -> bool {
        matches!(self, Self::Completed)
    }
}
