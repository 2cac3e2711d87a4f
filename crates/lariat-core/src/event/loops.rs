//! What events say about a loop: how it began, what caused its turns, why it ended.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::full::ContextFull;
use crate::budget::BudgetScope;
use crate::id::{AgentId, LoopId, MessageId, SessionId, ToolCallId};

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
        /// What it is for.
        #[serde(default)]
        scope: BudgetScope,
    },
    /// The model kept going round in a circle.
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
    /// Tool calls.
    ToolCalls,
}

impl LimitKind {
    /// Every kind.
    pub const ALL: [Self; 5] = [Self::Turns, Self::Tokens, Self::Duration, Self::Cost, Self::ToolCalls];
}

/// How a model goes round in a circle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum LoopPattern {
    /// The same call with the same result.
    #[default]
    Same,
    /// The same few calls with the same results, in the same order.
    Cycle,
    /// Nearly the same call, failing the same way.
    NearlySame,
    /// Different calls, failing the same way.
    SameError,
    /// An edit of a file and its undoing.
    BackAndForth,
}

impl RunOutcome {
    /// True when the model was done.
    pub const fn is_completed(&self) -> bool {
        matches!(self, Self::Completed)
    }
}
