//! Ends a run early: cancellation, a hook, the deadline, limits.
//!
//! Decides when a limit is exceeded. Every stop is recorded first, so that the run still stops if it crashes
//! meanwhile.

use super::{Effect, Run};
use crate::budget::{BudgetScope, BudgetStatus};
use crate::event::{AgentEvent, LimitKind};

impl Run {
    pub(super) fn on_cancel(&mut self) {
        if self.state.stop_outcome().is_some() {
            return;
        }
        if self.state.started {
            self.record(AgentEvent::AbortRequested);
        } else {
            // Nothing is recorded of this loop yet; it ends after its first callback returned.
            self.state.aborted = true;
        }
        self.break_off();
    }

    pub(super) fn on_halt(&mut self, reason: String) {
        if self.state.stop_outcome().is_some() {
            return;
        }
        if self.state.started {
            self.record(AgentEvent::HookStopped { reason });
        } else {
            self.state.halted = Some(reason);
        }
        self.break_off();
    }

    pub(super) fn on_deadline(&mut self) {
        if self.state.stop_outcome().is_some() {
            return;
        }
        let limit = self.run_limits().and_then(|limits| limits.duration).unwrap_or_default();
        let note = format!("stopped after {} seconds", limit.as_secs());
        let (limit, scope) = (LimitKind::Duration, BudgetScope::Run);
        self.record(AgentEvent::LimitReached { limit, scope, note });
        self.break_off();
    }

    /// Sets the timer that ends the run at its deadline.
    pub(super) fn arm_deadline(&mut self) {
        let Some(limit) = self.run_limits().and_then(|limits| limits.duration) else { return };
        let left = limit.saturating_sub(self.state.active(self.now));
        let at = self.now.after(left);
        let op = self.op();
        self.deadline = Some(op);
        self.out.push_back(Effect::StartTimer { op, at });
    }

    /// Returns the limit of the run that forbids another turn, if any.
    pub(super) fn exceeded_limit(&self) -> Option<BudgetStatus> {
        let limits = self.run_limits()?;
        let statuses = BudgetStatus::all(BudgetScope::Run, &limits, &self.run_spent());
        statuses.into_iter().find(|standing| standing.level() >= 100)
    }
}
