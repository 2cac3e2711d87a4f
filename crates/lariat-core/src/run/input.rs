//! Inputs: what can happen to a run.

use crate::budget::{Admission, BudgetLimits, BudgetScope, BudgetStatus};
use crate::context::{CompactionProposal, Note};
use crate::event::{AgentEvent, Event, QueueKind};
use crate::hooks::HookAnswer;
use crate::id::{MessageId, RequestId, ToolCallId};
use crate::message::AgentMessage;
use crate::model::{ProviderError, StreamEvent};
use crate::permission::{PermissionDecision, PermissionRequest, Verdict};
use crate::tool::{ToolError, ToolResult};
use serde_json::Value;
use std::sync::Arc;

use super::effect::OpId;

/// An input of the machine. Inputs that no longer matter (the late result of a cancelled call) are ignored.
#[derive(Debug)]
#[non_exhaustive]
pub enum Input {
    /// Start the run.
    Begin,
    /// The callback that was called last returned.
    HookAnswered {
        /// Its return value.
        proceed: bool,
    },
    /// The input filters checked the prompts.
    Filtered(FilterOutcome),
    /// A signal of a model call arrived.
    Model {
        /// Id of the model call.
        op: OpId,
        /// The signal.
        signal: ModelSignal,
    },
    /// A timer fired.
    Timer {
        /// Id of the timer.
        op: OpId,
    },
    /// The compaction strategy answered.
    Compacted {
        /// Id of the operation.
        op: OpId,
        /// The proposed edits.
        compacted: CompactionProposal,
    },
    /// The provider counted the tokens of the next request.
    Counted {
        /// Id of the operation.
        op: OpId,
        /// The count; `None` if the provider has no such API or did not answer.
        tokens: Option<u64>,
    },
    /// The context source answered.
    Consulted {
        /// Id of the operation.
        op: OpId,
        /// Notes for the model.
        notes: Vec<Note>,
    },
    /// The session's hooks answered.
    HooksAnswered {
        /// Id of the operation.
        op: OpId,
        /// The combined answer of the hooks.
        answer: HookAnswer,
    },
    /// A hook ended the run.
    Halt {
        /// Reason from the hook.
        reason: String,
    },
    /// The shared budgets decided about a model call.
    Admitted {
        /// Id of the operation.
        op: OpId,
        /// The decision and the usage of the limits.
        admission: Admission,
    },
    /// The shared budgets decided about a tool call.
    ToolAdmitted {
        /// Id of the tool call.
        call: ToolCallId,
        /// Replaced arguments from the effect.
        args: Option<Arc<Value>>,
        /// The limit that forbids the tool call.
        refused: Option<BudgetStatus>,
    },
    /// The user answered a request for more budget.
    BudgetAnswered {
        /// Id of the request.
        request: RequestId,
        /// The additional amounts; `None` for no.
        more: Option<BudgetLimits>,
        /// Who answered, such as `user`.
        by: String,
    },
    /// A budget was raised without a request.
    BudgetExtended {
        /// What the budget applies to.
        scope: BudgetScope,
        /// The additional amounts.
        limits: BudgetLimits,
        /// Who raised the limit, such as `user`.
        by: String,
    },
    /// The permission check of a tool call is done.
    Authorized {
        /// Id of the tool call.
        call: ToolCallId,
        /// Result of the check.
        verdict: Verdict,
    },
    /// The user answered a permission request.
    PermissionAnswered {
        /// Id of the request.
        request: RequestId,
        /// The decision of the user.
        decision: PermissionDecision,
    },
    /// A tool that runs asks the user a question.
    ToolAsked {
        /// Id of the tool call.
        call: ToolCallId,
        /// The request with the question.
        request: Box<PermissionRequest>,
    },
    /// A tool call ended.
    ToolFinished {
        /// Id of the tool call.
        call: ToolCallId,
        /// Its result.
        result: Result<ToolResult, ToolError>,
    },
    /// A message arrived for a queue.
    Queued {
        /// The queue, which decides when the message is delivered.
        queue: QueueKind,
        /// The message.
        message: AgentMessage,
    },
    /// Pin or unpin a message. Compaction does not change pinned messages.
    Pin {
        /// Id of the message.
        message: MessageId,
        /// Whether to pin it.
        pinned: bool,
    },
    /// Remove a message from its queue. Ignored if it was delivered.
    Unqueue {
        /// Id of the message.
        message: MessageId,
    },
    /// Record an event about the session, such as an accepted command. The run itself does not change.
    Note {
        /// The event.
        event: Box<AgentEvent>,
    },
    /// Another loop of the session recorded a durable event.
    Observed {
        /// The event.
        event: Event,
    },
    /// End the run now.
    Cancel,
}

/// A signal of a model call.
#[derive(Debug)]
pub enum ModelSignal {
    /// A part of the reply.
    Event(StreamEvent),
    /// The model call failed.
    Failed(ProviderError),
    /// The stream ended.
    Ended,
}

impl ModelSignal {
    /// Returns true if no signal follows.
    pub const fn is_last(&self) -> bool {
        matches!(self, Self::Event(StreamEvent::Done { .. }) | Self::Failed(_) | Self::Ended)
    }
}

/// The combined decision of input filters and hooks about the prompts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilterOutcome {
    /// Accept; context and warnings are appended to the last user message.
    Pass {
        /// Context that hooks add for the model.
        context: Vec<String>,
        /// Warnings of the filters.
        warnings: Vec<String>,
    },
    /// Reject the prompts.
    Reject {
        /// Reason for the user.
        reason: String,
    },
}
