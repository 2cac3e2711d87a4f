//! Budgets in the course of a run: admission before each call, warnings, the wrap-up turn, asking for more, the stop.
//!
//! Owns what follows from a standing. The caps of the run and of its session are weighed here; those that others draw on
//! too are weighed by whoever keeps them, and said with the admission. What was warned of, told and asked is recorded,
//! so a run that goes on after a crash neither repeats nor forgets it.
//! Invariant: no call is begun that a budget refused, and a reservation is settled exactly once.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::effect::OpId;
use super::flow::Step;
use super::{Activity, Effect, Run};
use crate::budget::{
    Admission, BudgetLimits, BudgetRequest, BudgetScope, FINISH_NOW, Spent, Standing, WRAP_UP_AT,
};
use crate::event::{AgentEvent, LimitKind};
use crate::id::RequestId;
use crate::message::AgentMessage;
use crate::planted::{Planted, planted};
use crate::usage::Usage;

/// The section of the note that tells a model to finish.
pub(crate) const SECTION: &str = "budget";
/// Begins the result of a call that no budget allows.
pub(crate) const NO_CALLS_LEFT: &str = "Not run: no tool calls are left";

/// What is recorded of a loop's budgets.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct RunBudget {
    /// The highest level warned of, for each limit of the run, in the order of [`LimitKind::ALL`].
    warned: [u8; 5],
    /// Tool calls that were started.
    pub(super) tool_calls: u64,
    /// Estimated tokens of the next request.
    pub(super) pending: u64,
    /// Why the next turn, or the open one, is the last.
    pub(super) wrap_up: Option<Box<Standing>>,
    /// The model was told so.
    pub(super) told: bool,
    /// The question that waits for an answer.
    pub(super) asked: Option<Arc<BudgetRequest>>,
    /// More room for this run.
    pub(super) more: Option<Box<BudgetLimits>>,
}

impl RunBudget {
    /// Takes in what is recorded.
    pub(super) fn apply(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::BudgetWarning { limit, scope, level, used, cap, .. } => {
                if *scope == BudgetScope::Run {
                    self.warned(*limit, *level);
                }
                if *level >= WRAP_UP_AT {
                    self.wrap_up = Some(Box::new(Standing::new(*scope, *limit, *used, *cap)));
                }
            }
            AgentEvent::BudgetExtensionRequested { request } => self.asked = Some(Arc::clone(request)),
            AgentEvent::BudgetExtended { scope, limits, .. } => {
                self.asked = None;
                if self.wrap_up.as_ref().is_some_and(|wrap_up| wrap_up.scope == *scope) {
                    (self.wrap_up, self.told) = (None, false);
                }
                if *scope == BudgetScope::Run {
                    self.warned = [0; 5];
                    let more = self.more.take().map(|more| *more).unwrap_or_default().plus(limits);
                    self.more = Some(Box::new(more));
                }
            }
            AgentEvent::LimitReached { .. } => self.asked = None,
            AgentEvent::ToolExecutionStart { .. } => self.tool_calls += 1,
            _ => {}
        }
    }

    fn slot(limit: LimitKind) -> usize {
        LimitKind::ALL.iter().position(|kind| *kind == limit).unwrap_or_default()
    }

    fn warned(&mut self, limit: LimitKind, level: u8) {
        if let Some(warned) = self.warned.get_mut(Self::slot(limit)) {
            *warned = level.max(*warned);
        }
    }

    fn level(&self, limit: LimitKind) -> u8 {
        self.warned.get(Self::slot(limit)).copied().unwrap_or_default()
    }
}

impl Run {
    /// The caps of this run, with what was added to them.
    pub(super) fn run_limits(&self) -> Option<BudgetLimits> {
        let limits = BudgetLimits::from(self.config.limits.as_ref()?);
        Some(self.state.budget.more.as_ref().map_or(limits, |more| limits.raised(more)))
    }

    fn session_limits(&self) -> BudgetLimits {
        self.config.budget.session.raised(self.memory.budget().more())
    }

    /// What this run spent. The turn that is open and has no reply does not count yet.
    pub(super) fn run_spent(&self) -> Spent {
        let mut spent = Spent::usage(&self.state.usage);
        let open = self.state.turn.as_ref().is_some_and(|turn| turn.reply.is_none());
        spent.turns = u64::from(self.state.turns.saturating_sub(u32::from(open)));
        spent.duration = self.state.active(self.now);
        spent.tool_calls = self.state.budget.tool_calls;
        spent
    }

    /// Where the caps of the run and its session stand.
    fn own_standings(&self) -> Vec<Standing> {
        let mut standings = Vec::new();
        if let Some(limits) = self.run_limits() {
            standings.extend(Standing::all(BudgetScope::Run, &limits, &self.run_spent()));
        }
        if !self.config.budget.session.is_none() {
            let spent = self.memory.ledger().spent_at(self.now);
            standings.extend(Standing::all(BudgetScope::Session, &self.session_limits(), &spent));
        }
        standings
    }

    /// The cap of the session that forbids another turn, or the wrap-up turn that is over.
    pub(super) fn used_up(&self) -> Option<Standing> {
        if let Some(wrap_up) = self.state.budget.wrap_up.as_ref().filter(|_| self.state.budget.told) {
            return Some(**wrap_up);
        }
        let spent = self.memory.ledger().spent_at(self.now);
        let session = Standing::all(BudgetScope::Session, &self.session_limits(), &spent);
        session.into_iter().find(|standing| standing.level() >= 100)
    }

    /// Whether the next model call may begin: asks those who keep shared budgets, then weighs.
    pub(super) fn admit(&mut self) -> Step {
        if !self.config.budget.is_shared {
            self.entry.admitted = true;
            self.weigh(Vec::new());
            return Step::Taken;
        }
        let op = self.op();
        self.activity = Activity::Admitting { op };
        let (tokens, candidate) = (self.state.budget.pending, self.candidate);
        self.out.push_back(Effect::Admit { op, tokens, candidate });
        Step::Waiting
    }

    pub(super) fn on_admitted(&mut self, op: OpId, admission: Admission) {
        if !matches!(self.activity, Activity::Admitting { op: waiting } if waiting == op) {
            return;
        }
        self.activity = Activity::None;
        if let Some(standing) = admission.refused {
            self.run_out(standing);
            return;
        }
        self.entry.admitted = true;
        self.entry.reserved = Some(op);
        self.weigh(admission.standings);
    }

    /// Gives back what was reserved for the turn's call: this is what it used, if it was made.
    pub(super) fn settle_call(&mut self, usage: Option<Usage>) {
        self.entry.admitted = false;
        if let Some(op) = self.entry.reserved.take() {
            self.out.push_back(Effect::Settle { op, usage });
        }
    }

    /// Warns of what is nearly used up, and tells the model to finish when it is time.
    fn weigh(&mut self, shared: Vec<Standing>) {
        let mut standings = self.own_standings();
        standings.extend(shared);
        for standing in standings {
            let level = standing.level().min(WRAP_UP_AT);
            let wraps_up = level >= WRAP_UP_AT;
            let warned = if wraps_up {
                // Once per run: each run that begins on the last few percent is told so.
                self.state.budget.wrap_up.is_some()
            } else {
                level <= self.warned_level(&standing) && !planted(Planted::WarnsTwice)
            };
            if level > 0 && !warned {
                let Standing { scope, limit, used, cap } = standing;
                let used_percent = standing.percent();
                self.record(AgentEvent::BudgetWarning { limit, used_percent, scope, level, used, cap });
            }
        }
        if let Some(wrap_up) = self.state.budget.wrap_up.as_ref().filter(|_| !self.state.budget.told) {
            let words = format!("The budget is nearly used up: {}. {FINISH_NOW}", wrap_up.describe());
            self.tell_budget(words);
        }
    }

    fn warned_level(&self, standing: &Standing) -> u8 {
        match standing.scope {
            BudgetScope::Run => self.state.budget.level(standing.limit),
            scope => self.memory.budget().level(scope, standing.limit, self.now, self.config.budget.days),
        }
    }

    fn tell_budget(&mut self, words: String) {
        let mut message = AgentMessage::note(SECTION, words);
        message.assign_id(|| self.message_id());
        self.stamp_message(&mut message);
        if let AgentMessage::Llm(llm) = &mut message {
            llm.turn_id = self.turn_id();
        }
        self.record_message(Arc::new(message));
    }

    /// A budget is used up: asks for more, or stops.
    pub(super) fn run_out(&mut self, standing: Standing) {
        if self.config.budget.asks {
            let request = BudgetRequest::new(RequestId::new(self.minter.uuid()), standing);
            self.record(AgentEvent::BudgetExtensionRequested { request: Arc::new(request) });
        } else {
            self.stop_at(standing);
        }
    }

    fn stop_at(&mut self, standing: Standing) {
        let (limit, scope, note) = (standing.limit, standing.scope, standing.describe());
        self.record(AgentEvent::LimitReached { limit, scope, note });
    }

    /// Puts the question that waits; false when there is none.
    pub(super) fn asks_for_more(&mut self) -> bool {
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
                self.end_question();
                self.stop_at(asked.standing);
            }
        }
    }

    /// Somebody allows more, asked or not.
    pub(super) fn on_extended(&mut self, scope: BudgetScope, limits: BudgetLimits, by: String) {
        if !self.state.started {
            self.entry.extended.push((scope, limits, by));
            return;
        }
        self.end_question();
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

    /// Nobody needs to answer any more.
    pub(super) fn end_question(&mut self) {
        if let Activity::AskingForMore { request } = self.activity {
            self.activity = Activity::None;
            self.out.push_back(Effect::Withdraw { request });
        }
    }

    /// The cap that forbids another tool call, of those that are weighed here.
    pub(super) fn out_of_calls(&self) -> Option<Standing> {
        let run = self.run_limits().and_then(|limits| limits.tool_calls);
        let used = self.state.budget.tool_calls;
        let run = run.map(|cap| Standing::new(BudgetScope::Run, LimitKind::ToolCalls, used, cap));
        let used = self.memory.ledger().spent().tool_calls;
        let session = self.session_limits().tool_calls;
        let session = session.map(|cap| Standing::new(BudgetScope::Session, LimitKind::ToolCalls, used, cap));
        run.into_iter().chain(session).find(|standing| standing.used >= standing.cap)
    }
}

/// What a model is told of a call that no budget allows.
pub(super) fn no_calls_left(standing: &Standing) -> String {
    format!("{NO_CALLS_LEFT}, {}. Answer with what you know.", standing.describe())
}
