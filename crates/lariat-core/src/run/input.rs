//! What can happen to a run.

use crate::context::{Compacted, Note};
use crate::event::QueueKind;
use crate::hooks::HookAnswer;
use crate::id::{MessageId, RequestId, ToolCallId};
use crate::message::AgentMessage;
use crate::model::{ProviderError, StreamEvent};
use crate::permission::{PermissionDecision, Verdict};
use crate::tool::{ToolError, ToolResult};

use super::effect::OpId;

/// Something happened. Inputs that no longer matter (a cancelled call's last words) are ignored.
#[derive(Debug)]
#[non_exhaustive]
pub enum Input {
    /// Start.
    Begin,
    /// The hook that was asked last answered.
    HookAnswered {
        /// What it returned.
        proceed: bool,
    },
    /// The input filters judged the prompts.
    Filtered(Filtered),
    /// Something arrived from a model.
    Model {
        /// The call.
        op: OpId,
        /// What arrived.
        signal: ModelSignal,
    },
    /// A timer fired.
    Timer {
        /// Which.
        op: OpId,
    },
    /// Compaction came to an end.
    Compacted {
        /// Which.
        op: OpId,
        /// The overlay it proposes.
        compacted: Compacted,
    },
    /// What the model should be told before its next reply.
    Consulted {
        /// Which question.
        op: OpId,
        /// What.
        notes: Vec<Note>,
    },
    /// The session's hooks answered.
    Told {
        /// Which question.
        op: OpId,
        /// The answer.
        answer: HookAnswer,
    },
    /// A hook said that the run must not go on.
    Halt {
        /// Why.
        reason: String,
    },
    /// The gate decided about a call.
    Authorized {
        /// The call.
        call: ToolCallId,
        /// The verdict.
        verdict: Verdict,
    },
    /// A person answered.
    PermissionAnswered {
        /// The question.
        request: RequestId,
        /// The answer.
        decision: PermissionDecision,
    },
    /// A tool ended.
    ToolFinished {
        /// The call.
        call: ToolCallId,
        /// What came of it.
        result: Result<ToolResult, ToolError>,
    },
    /// Somebody wants to say something.
    Queued {
        /// When it should be said.
        queue: QueueKind,
        /// What.
        message: AgentMessage,
    },
    /// A message is to stay as it is, whatever is compacted; or need not any more.
    Pin {
        /// Which.
        message: MessageId,
        /// Whether it is to stay.
        pinned: bool,
    },
    /// The run should end now.
    Cancel,
}

/// What arrives from a model.
#[derive(Debug)]
pub enum ModelSignal {
    /// A piece of the reply.
    Event(StreamEvent),
    /// The call failed.
    Failed(ProviderError),
    /// The stream ended.
    Ended,
}

impl ModelSignal {
    /// True when nothing comes after it.
    pub const fn is_last(&self) -> bool {
        matches!(self, Self::Event(StreamEvent::Done { .. }) | Self::Failed(_) | Self::Ended)
    }
}

/// What input filters and hooks say about the prompts together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filtered {
    /// Go on; contexts and warnings are appended to the last user message.
    Pass {
        /// What hooks want the model to know.
        context: Vec<String>,
        /// What filters warned of.
        warnings: Vec<String>,
    },
    /// Stop.
    Reject {
        /// Why.
        reason: String,
    },
}
