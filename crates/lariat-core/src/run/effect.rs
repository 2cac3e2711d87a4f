//! Effects: what a run wants the driver to do, in order.
//!
//! The driver must follow one rule: it performs an effect with [`Effect::touches_world`] only after the store
//! acknowledged every durable event recorded before it.

use std::sync::Arc;

use serde_json::Value;

use crate::budget::{BudgetLimits, BudgetRequest, BudgetScope};
use crate::content::ToolCall;
use crate::context::{CompactionQuery, NewestNotes};
use crate::event::{EventRecord, RunOutcome};
use crate::hooks::LifecycleEvent;
use crate::id::{RequestId, ToolCallId};
use crate::message::AgentMessage;
use crate::permission::PermissionRequest;
use crate::session::SessionMemory;
use crate::time::Timestamp;
use crate::tool::RecordedSubAgent;
use crate::transcript::Window;
use crate::usage::Usage;

/// Identifies a model call, a timer, a compaction, an admission or a call of hooks, so that the run can
/// ignore late answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpId(pub u64);

/// Something for the driver to do.
#[derive(Debug)]
#[non_exhaustive]
pub enum Effect {
    /// Append the event to the journal if it is durable, then send it to observers.
    Record(Box<EventRecord>),
    /// Call a callback. If [`HookCall::expects_answer`], answer with `HookAnswered`.
    Hook(HookCall),
    /// Run the prompts through the input filters; answer with `FilterOutcome`.
    Filter {
        /// Id of the operation.
        op: OpId,
        /// The prompts to check.
        prompts: Vec<AgentMessage>,
    },
    /// Call the model; answer with `Model` signals.
    CallModel {
        /// Id of the model call.
        op: OpId,
        /// The conversation to send.
        window: Window,
        /// Index of the turn.
        turn_index: u32,
        /// 0 for the first attempt of a turn.
        attempt: u32,
        /// Index of the model: 0 for the configured one, then the fallbacks.
        candidate: usize,
    },
    /// Wake the run at a time; answer with `Timer`.
    StartTimer {
        /// Id of the timer.
        op: OpId,
        /// Time to wake the run.
        at: Timestamp,
    },
    /// Ask the context source for notes before the next reply; answer with `Consulted`.
    Consult {
        /// Id of the operation.
        op: OpId,
        /// The conversation.
        window: Window,
        /// The newest notes that the conversation still contains.
        told: NewestNotes,
        /// Session state besides the conversation.
        memory: Arc<SessionMemory>,
        /// Index of the turn.
        turn_index: u32,
    },
    /// Ask the provider how many tokens a request would use; answer with `Counted`.
    CountTokens {
        /// Id of the operation.
        op: OpId,
        /// The conversation to count.
        window: Window,
        /// Index of the model: 0 for the configured one, then the fallbacks.
        candidate: usize,
    },
    /// Ask the shared budgets to admit a model call and reserve its amount; answer with `Admitted`.
    Admit {
        /// Id of the operation and of the reservation.
        op: OpId,
        /// Estimated tokens of the request.
        tokens: u64,
        /// Index of the model: 0 for the configured one, then the fallbacks.
        candidate: usize,
    },
    /// Settle and end a reservation.
    Settle {
        /// Id of the reservation.
        op: OpId,
        /// Actual usage; `None` if the call was not made.
        usage: Option<Usage>,
    },
    /// Ask the shared budgets to admit a tool call and reserve it; answer with `ToolAdmitted`.
    AdmitTool {
        /// The tool call to admit.
        call: Arc<ToolCall>,
        /// Replaced arguments, to return with the answer.
        args: Option<Arc<Value>>,
    },
    /// Ask the user for more budget; answer with `BudgetAnswered`.
    AskForMore {
        /// The request for more budget.
        request: Arc<BudgetRequest>,
    },
    /// Raise a shared budget.
    ExtendBudget {
        /// What the budget applies to.
        scope: BudgetScope,
        /// The additional amounts.
        limits: BudgetLimits,
    },
    /// Ask the compaction strategy for edits; answer with `CompactionProposal`. The run continues meanwhile unless the
    /// cause is urgent.
    Compact {
        /// Id of the operation.
        op: OpId,
        /// Input of the strategy.
        query: Box<CompactionQuery>,
    },
    /// The run does not need a model call, token count, timer, compaction, filter run or call of hooks any more.
    Abandon {
        /// Id of the operation.
        op: OpId,
    },
    /// Call the session's hooks; answer with `NewestNotes`.
    CallHooks {
        /// Id of the operation.
        op: OpId,
        /// The moment, with the data for the hooks.
        moment: LifecycleEvent,
    },
    /// Run the permission check of a tool call; answer with `Authorized`.
    Authorize {
        /// The tool call to check.
        call: Arc<ToolCall>,
    },
    /// Ask the user for approval; answer with `PermissionAnswered`.
    Ask {
        /// The request for approval.
        request: Arc<PermissionRequest>,
    },
    /// A request no longer needs an answer.
    Withdraw {
        /// Id of the request.
        request: RequestId,
    },
    /// Run a tool; always answer with `ToolFinished`.
    RunTool {
        /// The tool call to run.
        call: Arc<ToolCall>,
        /// Arguments that the permission check replaced, if any.
        args: Option<Arc<Value>>,
        /// The recorded sub-agent of the tool call, if it starts one.
        sub_agent: Option<Box<RecordedSubAgent>>,
    },
    /// Ask a running tool to end early. `ToolFinished` still follows.
    CancelTool {
        /// Id of the tool call.
        call: ToolCallId,
    },
    /// The run has ended.
    Finish(RunEnd),
}

impl Effect {
    /// Returns true if the outside world can notice the effect, so that everything before it must be durable
    /// first.
    pub const fn touches_world(&self) -> bool {
        matches!(
            self,
            Self::Hook(_)
                | Self::Filter { .. }
                | Self::CallHooks { .. }
                | Self::Consult { .. }
                | Self::AskForMore { .. }
                | Self::CountTokens { .. }
                | Self::CallModel { .. }
                | Self::Compact { .. }
                | Self::Authorize { .. }
                | Self::Ask { .. }
                | Self::RunTool { .. }
                | Self::Finish(_)
        )
    }
}

/// A callback of the embedding program.
#[derive(Debug)]
#[non_exhaustive]
pub enum HookCall {
    /// Before `AgentStart`.
    BeforeLoop {
        /// The conversation.
        window: Window,
        /// Number of the loop within its session, from 0.
        loop_index: u64,
    },
    /// After `AgentEnd`.
    AfterLoop {
        /// The conversation.
        window: Window,
        /// Tokens and cost of the loop.
        usage: Usage,
    },
    /// Before `TurnStart`.
    BeforeTurn {
        /// The conversation.
        window: Window,
        /// Index of the turn.
        turn_index: u32,
    },
    /// After `TurnEnd`.
    AfterTurn {
        /// The conversation.
        window: Window,
        /// Tokens and cost of the turn.
        usage: Usage,
    },
    /// After `ToolExecutionEnd`.
    AfterTool {
        /// Name of the tool.
        tool_name: String,
        /// Id of the tool call.
        tool_call_id: ToolCallId,
        /// Whether the tool call failed.
        is_error: bool,
    },
    /// After a model call failed permanently.
    OnError {
        /// Error of the model call.
        error: String,
    },
}

impl HookCall {
    /// Returns true if the run waits for the answer.
    pub const fn expects_answer(&self) -> bool {
        matches!(self, Self::BeforeLoop { .. } | Self::BeforeTurn { .. })
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunEnd {
    /// Why the run ended.
    pub outcome: RunOutcome,
    /// Tokens and cost of the run.
    pub usage: Usage,
    /// Number of turns.
    pub turns: u32,
}
