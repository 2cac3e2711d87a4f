//! Data of events about a loop: how it started, what triggered its turns, why it ended.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::context_full::ContextFull;
use crate::budget::{BudgetScope, LimitKind};
use crate::id::{AgentId, LoopId, MessageId, SessionId, ToolCallId};

/// The start of a loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LoopStart {
    /// The agent instance.
    pub agent_id: AgentId,
    /// The session.
    pub session_id: SessionId,
    /// Id of the loop. Serialised only in the envelope, because a JSON object must not contain a name twice.
    #[serde(skip, default = "placeholder_id")]
    pub loop_id: LoopId,
    /// `None` if the loop continues no other one; set for continuations and sub-agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_loop_id: Option<LoopId>,
    /// `None` if the loop continues no other one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continuation_kind: Option<ContinuationKind>,
    /// The last message of the conversation that this loop continues; `None` if the conversation is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<MessageId>,
    /// The tool call in another session that spawned this loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spawned_by: Option<SpawnRef>,
    /// The configuration of the loop, for reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<Arc<LoopConfigSnapshot>>,
    /// Data of the application.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
}

/// Placeholder until the id from the envelope replaces it.
fn placeholder_id() -> LoopId {
    LoopId::from("")
}

impl LoopStart {
    /// Creates a loop that continues no other one and starts with an empty conversation.
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

/// The tool call in a parent session that spawned a sub-agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpawnRef {
    /// Session of the parent.
    pub parent_session_id: SessionId,
    /// Loop of the parent.
    pub parent_loop_id: LoopId,
    /// Id of the tool call.
    pub tool_call_id: ToolCallId,
    /// Name of the tool.
    pub tool_name: String,
}

/// The configuration of a loop, without secrets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct LoopConfigSnapshot {
    /// Model id.
    pub model: String,
    /// Model name for the user interface.
    pub name: String,
    /// Provider name.
    pub provider: String,
    /// The `{config}` segment of the loop id.
    pub config_id: String,
    /// Wire protocol.
    pub api: String,
    /// Base URL of the provider's API.
    pub base_url: String,
    /// Whether the model supports reasoning.
    pub reasoning: bool,
    /// Context window in tokens.
    pub context_window: u64,
    /// Output limit in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// Reasoning level.
    pub thinking_level: crate::model::ThinkingLevel,
    /// Sampling temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f32>,
}

/// How a loop relates to the one before it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum ContinuationKind {
    /// Continues the conversation.
    #[default]
    Default,
    /// Repeats from an equivalent context.
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

/// What triggered a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum TurnTrigger {
    /// New prompts of the user.
    #[default]
    User,
    /// The task of a sub-agent.
    SubAgent,
    /// Tool results, steering, a follow-up message, or a continued loop.
    Continuation,
    /// A branch of the conversation.
    Branch,
}

/// Why a loop ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
#[non_exhaustive]
pub enum RunOutcome {
    /// The model finished.
    Completed,
    /// An input filter rejected the prompt.
    Rejected,
    /// The run was cancelled.
    Aborted,
    /// The `before_loop` or `before_turn` callback returned false, or a hook ended the run (`HookStopped`).
    StoppedByHook,
    /// A limit was reached.
    LimitReached {
        /// Kind of the limit.
        limit: LimitKind,
        /// What the limit applies to.
        #[serde(default)]
        scope: BudgetScope,
    },
    /// The model kept repeating itself.
    Repetition,
    /// The conversation does not fit the context window, and compaction did not help or is disabled.
    ContextFull(Box<ContextFull>),
    /// The model call failed permanently.
    Failed {
        /// Error of the model call.
        error: String,
    },
}

/// How a model repeats itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum LoopPattern {
    /// The same tool call with the same result.
    #[default]
    Same,
    /// The same few tool calls with the same results, in the same order.
    Cycle,
    /// Nearly the same tool call with the same error.
    NearlySame,
    /// Different tool calls with the same error.
    SameError,
    /// An edit of a file and the reverse edit.
    BackAndForth,
}

impl RunOutcome {
    /// Returns true if the model finished.
    pub const fn is_completed(&self) -> bool {
        matches!(self, Self::Completed)
    }
}
