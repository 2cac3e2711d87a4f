//! Enforces budgets during a run: admission before each call, warnings, the wrap-up turn, requests for more
//! budget, the stop.
//!
//! This module checks the limits of the run and of its session. The runtime checks shared limits and reports
//! the result with the admission. Warnings, notes to the model and requests are recorded, so a resumed run
//! neither repeats nor forgets them. Invariant: a call that a budget refused never starts, and each
//! reservation is settled exactly once.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::effect::OpId;
use super::flow::StepResult;
use super::{Activity, Effect, Run};
use crate::budget::{
    Admission, BudgetLimits, BudgetRequest, BudgetScope, BudgetStatus, FINISH_NOW, SpentAmounts, WRAP_UP_AT,
};
use crate::event::{AgentEvent, EventRecord, LimitKind};
use crate::id::RequestId;
use crate::message::AgentMessage;
use crate::usage::Usage;

/// Section of the note that asks the model to finish.
pub(crate) const SECTION: &str = "budget";
/// Start of the result of a tool call that a budget refuses.
pub(crate) const NO_CALLS_LEFT: &str = "Not run: no tool calls are left";

/// Budget state of a loop, computed from its events.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct RunBudget {
    /// The highest warning level for each limit of the run, in the order of [`LimitKind::ALL`].
    warned: [u8; 5],
    /// Number of started tool calls.
    pub(super) tool_calls: u64,
    /// Estimated tokens of the next request.
    pub(super) pending: u64,
    /// The limit because of which the next turn, or the open one, is the last.
    pub(super) wrap_up: Option<Box<BudgetStatus>>,
    /// Whether the model received the note to finish.
    #[serde(rename = "told")]
    pub(super) model_notified: bool,
    /// The request for more budget that waits for an answer.
    pub(super) asked: Option<Arc<BudgetRequest>>,
    /// Extensions of this run's limits.
    pub(super) more: Option<Box<BudgetLimits>>,
    /// What the sub-agents of this run used.
    pub(super) sub_agents: Usage,
}

impl RunBudget {
    /// Applies a recorded event.
    pub(super) fn apply(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::BudgetWarning { limit, scope, level, used, cap, .. } => {
                if *scope == BudgetScope::Run {
                    self.mark_warned(*limit, *level);
                }
                if *level >= WRAP_UP_AT {
                    self.wrap_up = Some(Box::new(BudgetStatus::new(*scope, *limit, *used, *cap)));
                }
            }
            AgentEvent::BudgetExtensionRequested { request } => self.asked = Some(Arc::clone(request)),
            AgentEvent::BudgetExtended { scope, limits, .. } => {
                self.asked = None;
                if self.wrap_up.as_ref().is_some_and(|wrap_up| wrap_up.scope == *scope) {
                    (self.wrap_up, self.model_notified) = (None, false);
                }
                if *scope == BudgetScope::Run {
                    self.warned = [0; 5];
                    let more = self.more.take().map(|more| *more).unwrap_or_default().plus(limits);
                    self.more = Some(Box::new(more));
                }
            }
            AgentEvent::LimitReached { .. } => self.asked = None,
            AgentEvent::ToolExecutionStart { .. } => self.tool_calls += 1,
            AgentEvent::SubAgentCompleted { usage, .. } => self.sub_agents += *usage,
            _ => {}
        }
    }

    fn slot(limit: LimitKind) -> usize {
        LimitKind::ALL.iter().position(|kind| *kind == limit).unwrap_or_default()
    }

    fn mark_warned(&mut self, limit: LimitKind, level: u8) {
        if let Some(warned) = self.warned.get_mut(Self::slot(limit)) {
            *warned = level.max(*warned);
        }
    }

    fn level(&self, limit: LimitKind) -> u8 {
        self.warned.get(Self::slot(limit)).copied().unwrap_or_default()
    }
}

impl Run {
    /// Returns the limits of this run, including extensions.
    pub(super) fn run_limits(&self) -> Option<BudgetLimits> {
        let limits = BudgetLimits::from(self.config.limits.as_ref()?);
        Some(self.state.budget.more.as_ref().map_or(limits, |more| limits.extended_by(more)))
    }

    fn session_limits(&self) -> BudgetLimits {
        self.config.budget.session.extended_by(self.memory.budget().more())
    }

    /// Returns what this run and its sub-agents spent. An open turn without a reply is not included.
    pub(super) fn run_spent(&self) -> SpentAmounts {
        let mut spent = SpentAmounts::usage(&self.state.usage);
        spent += SpentAmounts::usage(&self.state.budget.sub_agents);
        spent += self.transient.sub_agents_spent;
        let open = self.state.turn.as_ref().is_some_and(|turn| turn.reply.is_none());
        spent.turns = u64::from(self.state.turns.saturating_sub(u32::from(open)));
        spent.duration = self.state.active(self.now);
        spent.tool_calls = self.state.budget.tool_calls;
        spent
    }

    /// Returns what the session spent, with what the running sub-agents of this run spent so far.
    fn session_spent(&self) -> SpentAmounts {
        let mut spent = self.memory.ledger().spent_at(self.now);
        spent += self.transient.sub_agents_spent;
        spent
    }

    /// Sets the tokens and the money that sub-agents spent whose end is not recorded yet.
    pub fn count_running_sub_agents(&mut self, spent: SpentAmounts) {
        self.transient.sub_agents_spent = spent;
    }

    /// Returns the usage of every limit of the run and its session.
    pub(super) fn run_statuses(&self) -> Vec<BudgetStatus> {
        let mut statuses = Vec::new();
        if let Some(limits) = self.run_limits() {
            statuses.extend(BudgetStatus::all(BudgetScope::Run, &limits, &self.run_spent()));
        }
        if !self.config.budget.session.is_none() {
            let spent = self.session_spent();
            statuses.extend(BudgetStatus::all(BudgetScope::Session, &self.session_limits(), &spent));
        }
        statuses
    }

    /// Returns the session limit that forbids another turn, or the limit whose wrap-up turn is over.
    pub(super) fn used_up(&self) -> Option<BudgetStatus> {
        if let Some(wrap_up) = self.state.budget.wrap_up.as_ref().filter(|_| self.state.budget.model_notified)
        {
            return Some(**wrap_up);
        }
        let spent = self.session_spent();
        let session = BudgetStatus::all(BudgetScope::Session, &self.session_limits(), &spent);
        session.into_iter().find(|standing| standing.level() >= 100)
    }

    /// Decides whether the next model call may start: asks the shared budgets first, then checks the own
    /// limits.
    pub(super) fn admit(&mut self) -> StepResult {
        if !self.config.budget.is_shared {
            self.transient.admitted = true;
            self.warn_and_wrap_up(Vec::new());
            return StepResult::Taken;
        }
        let op = self.op();
        self.activity = Activity::Admitting { op };
        let (tokens, candidate) = (self.state.budget.pending, self.candidate);
        self.out.push_back(Effect::Admit { op, tokens, candidate });
        StepResult::Waiting
    }

    pub(super) fn on_admitted(&mut self, op: OpId, admission: Admission) {
        if !matches!(self.activity, Activity::Admitting { op: waiting } if waiting == op) {
            return;
        }
        self.activity = Activity::None;
        if let Some(standing) = admission.refused {
            self.on_used_up(standing);
            return;
        }
        self.transient.admitted = true;
        self.transient.reserved = Some(op);
        self.warn_and_wrap_up(admission.statuses);
    }

    /// Settles the reservation of the turn's model call with its usage, if the call was made.
    pub(super) fn settle_call(&mut self, usage: Option<Usage>) {
        self.transient.admitted = false;
        if let Some(op) = self.transient.reserved.take() {
            self.out.push_back(Effect::Settle { op, usage });
        }
    }

    /// Warns about limits that are nearly used up, and asks the model to finish when it is time.
    fn warn_and_wrap_up(&mut self, shared: Vec<BudgetStatus>) {
        let mut statuses = self.run_statuses();
        statuses.extend(shared);
        for standing in statuses {
            let level = standing.level().min(WRAP_UP_AT);
            let wraps_up = level >= WRAP_UP_AT;
            let warned = if wraps_up {
                // Once per run: every run that starts within the last few percent receives the note.
                self.state.budget.wrap_up.is_some()
            } else {
                level <= self.warned_level(&standing)
            };
            if level > 0 && !warned {
                let BudgetStatus { scope, limit, used, cap } = standing;
                let used_percent = standing.percent();
                self.record(AgentEvent::BudgetWarning { limit, used_percent, scope, level, used, cap });
            }
        }
        if let Some(wrap_up) =
            self.state.budget.wrap_up.as_ref().filter(|_| !self.state.budget.model_notified)
        {
            let text = format!("The budget is nearly used up: {}. {FINISH_NOW}", wrap_up.describe());
            self.record_budget_note(text);
        }
    }

    fn warned_level(&self, standing: &BudgetStatus) -> u8 {
        match standing.scope {
            BudgetScope::Run => self.state.budget.level(standing.limit),
            scope => self.memory.budget().level(scope, standing.limit, self.now, self.config.budget.days),
        }
    }

    fn record_budget_note(&mut self, text: String) {
        let mut message = AgentMessage::note(SECTION, text);
        message.assign_id(|| self.message_id());
        self.stamp_message(&mut message);
        if let AgentMessage::Llm(llm) = &mut message {
            llm.turn_id = self.turn_id();
        }
        self.record_message(Arc::new(message));
    }

    /// Handles a used-up budget: asks for more, or stops.
    pub(super) fn on_used_up(&mut self, standing: BudgetStatus) {
        if self.config.budget.asks {
            let request = BudgetRequest::new(RequestId::new(self.minter.uuid()), standing);
            self.record(AgentEvent::BudgetExtensionRequested { request: Arc::new(request) });
        } else {
            self.stop_at(standing);
        }
    }

    fn stop_at(&mut self, standing: BudgetStatus) {
        let (limit, scope, note) = (standing.limit, standing.scope, standing.describe());
        self.record(AgentEvent::LimitReached { limit, scope, note });
    }

    /// Sends the pending request for more budget; returns false if there is none.
    pub(super) fn sends_budget_request(&mut self) -> bool {
        let Some(request) = self.state.budget.asked.clone() else { return false };
        self.activity = Activity::AskingForMore { request: request.id };
        self.out.push_back(Effect::AskForMore { request });
        true
    }

    pub(super) fn on_budget_answered(&mut self, request: RequestId, more: Option<BudgetLimits>, by: String) {
        let asked = self.state.budget.asked.as_ref().filter(|asked| asked.id == request).map(Arc::clone);
        let Some(asked) = asked else { return };
        match more {
            Some(limits) => self.on_extended(asked.standing.scope, limits, by),
            None => {
                self.withdraw_budget_request();
                self.stop_at(asked.standing);
            }
        }
    }

    /// Handles a budget extension, requested or not.
    pub(super) fn on_extended(&mut self, scope: BudgetScope, limits: BudgetLimits, by: String) {
        if !self.state.started {
            self.transient.early_extensions.push((scope, limits, by));
            return;
        }
        self.withdraw_budget_request();
        self.record(AgentEvent::BudgetExtended { scope, limits, by });
        match scope {
            BudgetScope::Run if limits.duration.is_some() => {
                if let Some(op) = self.deadline.take() {
                    self.out.push_back(Effect::Abandon { op });
                }
                self.arm_deadline();
            }
            BudgetScope::Day | BudgetScope::Pool => {
                self.out.push_back(Effect::ExtendBudget { scope, limits })
            }
            _ => {}
        }
    }

    /// Takes an event of another loop of the session into account: what the other loops spend is included, and a budget that one
    /// of them was granted is granted to all.
    pub(super) fn on_observed(&mut self, event: &EventRecord) {
        if event.loop_id.as_ref() == Some(&self.start.loop_id) {
            return;
        }
        Arc::make_mut(&mut self.memory).observe(event);
        let AgentEvent::BudgetExtended { scope, limits, by } = &event.event else { return };
        let answered = self.state.budget.asked.as_ref().is_some_and(|asked| asked.standing.scope == *scope);
        // Without amounts, the other loop only ends its own request.
        if answered && *scope != BudgetScope::Run && !limits.is_none() {
            self.withdraw_budget_request();
            // The other loop recorded the amounts. This event ends the request of this loop.
            let limits = BudgetLimits::default();
            self.record(AgentEvent::BudgetExtended { scope: *scope, limits, by: by.clone() });
        }
    }

    /// Withdraws the pending request for more budget.
    pub(super) fn withdraw_budget_request(&mut self) {
        if let Activity::AskingForMore { request } = self.activity {
            self.activity = Activity::None;
            self.out.push_back(Effect::Withdraw { request });
        }
    }

    /// Returns the limit of the run or the session that forbids another tool call.
    pub(super) fn out_of_calls(&self) -> Option<BudgetStatus> {
        let run = self.run_limits().and_then(|limits| limits.tool_calls);
        let used = self.state.budget.tool_calls;
        let run = run.map(|cap| BudgetStatus::new(BudgetScope::Run, LimitKind::ToolCalls, used, cap));
        let used = self.memory.ledger().spent().tool_calls;
        let session = self.session_limits().tool_calls;
        let session =
            session.map(|cap| BudgetStatus::new(BudgetScope::Session, LimitKind::ToolCalls, used, cap));
        run.into_iter().chain(session).find(|standing| standing.used >= standing.cap)
    }
}

/// Returns the result for the model of a tool call that a budget refuses.
pub(super) fn no_calls_left(standing: &BudgetStatus) -> String {
    format!("{NO_CALLS_LEFT}, {}. Answer with what you know.", standing.describe())
}
