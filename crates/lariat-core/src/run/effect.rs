//! What a run wants done. Effects are performed in order.
//!
//! The driver's one rule: an effect that touches the world ([`Effect::touches_world`]) is performed only after every
//! durable event recorded before it is acknowledged by the store.

use std::sync::Arc;

use serde_json::Value;

use crate::budget::{BudgetLimits, BudgetRequest, BudgetScope};
use crate::content::ToolCall;
use crate::context::{CompactionQuery, Told};
use crate::event::{EventRecord, RunOutcome};
use crate::hooks::Moment;
use crate::id::{RequestId, ToolCallId};
use crate::message::AgentMessage;
use crate::permission::PermissionRequest;
use crate::session::SessionMemory;
use crate::time::Timestamp;
use crate::transcript::Window;
use crate::usage::Usage;

/// Names a model call, a timer, a compaction, an admission or a question to hooks, so that late answers can be told from current ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpId(pub u64);

/// Something to be done.
#[derive(Debug)]
#[non_exhaustive]
pub enum Effect {
    /// Append the event to the journal if it is durable, then show it to observers.
    Record(Box<EventRecord>),
    /// Call a hook. Those that [`HookCall::expects_answer`] are answered with `HookAnswered`.
    Hook(HookCall),
    /// Put the prompts through the input filters; answered with `Filtered`.
    Filter {
        /// Names the judging.
        op: OpId,
        /// The prompts.
        prompts: Vec<AgentMessage>,
    },
    /// Call the model; answered with `Model` signals.
    CallModel {
        /// Names the call.
        op: OpId,
        /// What to send.
        window: Window,
        /// The turn.
        turn_index: u32,
        /// 0 for the first attempt of a turn.
        attempt: u32,
        /// Which model: 0 for the configured one, then the fallbacks.
        candidate: usize,
    },
    /// Wake the run at a time; answered with `Timer`.
    StartTimer {
        /// Names the timer.
        op: OpId,
        /// When.
        at: Timestamp,
    },
    /// Say what the model should be told before its next reply; answered with `Consulted`.
    Consult {
        /// Names the question.
        op: OpId,
        /// The conversation.
        window: Window,
        /// What was told and is still in it.
        told: Told,
        /// What the session remembers besides it.
        memory: Arc<SessionMemory>,
        /// The turn.
        turn_index: u32,
    },
    /// Ask those who keep shared budgets for a model call, and reserve what it may use; answered with `Admitted`.
    Admit {
        /// Names the question, and later the reservation.
        op: OpId,
        /// Estimated tokens of the request.
        tokens: u64,
        /// Which model: 0 for the configured one, then the fallbacks.
        candidate: usize,
    },
    /// What a reservation came to. It is over.
    Settle {
        /// Which.
        op: OpId,
        /// What was used; `None` when the call was not made.
        usage: Option<Usage>,
    },
    /// Ask those who keep shared budgets for a tool call, and reserve it; answered with `ToolAdmitted`.
    AdmitTool {
        /// The call.
        call: Arc<ToolCall>,
        /// Replaced arguments, to be given back with the answer.
        args: Option<Arc<Value>>,
    },
    /// Ask a person whether more may be spent; answered with `BudgetAnswered`.
    AskForMore {
        /// The question.
        request: Arc<BudgetRequest>,
    },
    /// Give a shared budget more room.
    ExtendBudget {
        /// Which.
        scope: BudgetScope,
        /// How much more.
        limits: BudgetLimits,
    },
    /// Propose an overlay; answered with `Compacted`. The run goes on meanwhile unless the cause is urgent.
    Compact {
        /// Names the attempt.
        op: OpId,
        /// What a strategy has to work with.
        query: Box<CompactionQuery>,
    },
    /// A model call, timer, compaction, judging or question to hooks is not needed any more.
    Abandon {
        /// Which.
        op: OpId,
    },
    /// Tell the session's hooks; answered with `Told`.
    Tell {
        /// Names the question.
        op: OpId,
        /// What.
        moment: Moment,
    },
    /// Put a call through the gate; answered with `Authorized`.
    Authorize {
        /// The call.
        call: Arc<ToolCall>,
    },
    /// Ask a person; answered with `PermissionAnswered`.
    Ask {
        /// The question.
        request: Arc<PermissionRequest>,
    },
    /// Nobody needs to answer any more.
    Withdraw {
        /// The question.
        request: RequestId,
    },
    /// Run a tool; answered with `ToolFinished`, always.
    RunTool {
        /// The call.
        call: Arc<ToolCall>,
        /// Replaced arguments, if the gate replaced them.
        args: Option<Arc<Value>>,
    },
    /// Ask a running tool to end early. It is still answered with `ToolFinished`.
    CancelTool {
        /// The call.
        call: ToolCallId,
    },
    /// The run is over.
    Finish(Ending),
}

impl Effect {
    /// True when performing it can be noticed outside, so that everything before it must be durable first.
    pub const fn touches_world(&self) -> bool {
        matches!(
            self,
            Self::Hook(_)
                | Self::Filter { .. }
                | Self::Tell { .. }
                | Self::Consult { .. }
                | Self::AskForMore { .. }
                | Self::CallModel { .. }
                | Self::Compact { .. }
                | Self::Authorize { .. }
                | Self::Ask { .. }
                | Self::RunTool { .. }
                | Self::Finish(_)
        )
    }
}

/// A hook to be called.
#[derive(Debug)]
#[non_exhaustive]
pub enum HookCall {
    /// Before `AgentStart`.
    BeforeLoop {
        /// The conversation.
        window: Window,
        /// The loop's number within its session, from 0.
        loop_index: u64,
    },
    /// After `AgentEnd`.
    AfterLoop {
        /// The conversation.
        window: Window,
        /// What the loop used.
        usage: Usage,
    },
    /// Before `TurnStart`.
    BeforeTurn {
        /// The conversation.
        window: Window,
        /// The turn.
        turn_index: u32,
    },
    /// After `TurnEnd`.
    AfterTurn {
        /// The conversation.
        window: Window,
        /// What the turn used.
        usage: Usage,
    },
    /// After `ToolExecutionEnd`.
    AfterTool {
        /// The tool.
        tool_name: String,
        /// The call.
        tool_call_id: ToolCallId,
        /// Whether it failed.
        is_error: bool,
    },
    /// A model call failed for good.
    OnError {
        /// What failed.
        error: String,
    },
}

impl HookCall {
    /// True when the run waits for the answer.
    pub const fn expects_answer(&self) -> bool {
        matches!(self, Self::BeforeLoop { .. } | Self::BeforeTurn { .. })
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ending {
    /// Why.
    pub outcome: RunOutcome,
    /// What it used.
    pub usage: Usage,
    /// Turns it took.
    pub turns: u32,
}
