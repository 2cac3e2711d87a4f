//! Ending early: cancellation, a hook's word, deadline, limits.
//!
//! Owns when a limit counts as exceeded. All ways of stopping are recorded first, so that a crash in the middle of
//! stopping still ends in a stop.

use super::config::RunConfig;
use super::state::LoopState;
use super::{Effect, Run};
use crate::event::{AgentEvent, LimitKind};
use crate::planted::{Planted, planted};
use crate::time::Timestamp;

impl Run {
    pub(super) fn on_cancel(&mut self) {
        if self.state.stopping().is_some() {
            return;
        }
        if self.state.started {
            self.record(AgentEvent::AbortRequested);
        } else {
            // Nothing is recorded of this loop yet; it ends as soon as its first hook answered.
            self.state.aborted = true;
        }
        self.break_off();
    }

    pub(super) fn on_halt(&mut self, reason: String) {
        if self.state.stopping().is_some() {
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
        if self.state.stopping().is_some() {
            return;
        }
        let limit = self.config.limits.as_ref().map(|limits| limits.max_duration).unwrap_or_default();
        let note = format!("stopped after {} seconds", limit.as_secs());
        self.record(AgentEvent::LimitReached { limit: LimitKind::Duration, note });
        self.break_off();
    }

    /// Sets the timer that ends the run when its time is up.
    pub(super) fn arm_deadline(&mut self) {
        let Some(limits) = &self.config.limits else { return };
        let left = limits.max_duration.saturating_sub(self.state.active(self.now));
        let at = self.now.after(left);
        let op = self.op();
        self.deadline = Some(op);
        self.out.push_back(Effect::StartTimer { op, at });
    }
}

/// The limit that forbids another turn, if one does.
pub(super) fn exceeded(config: &RunConfig, state: &LoopState, now: Timestamp) -> Option<(LimitKind, String)> {
    let limits = config.limits.as_ref()?;
    let turns = if planted(Planted::IgnoresTurnLimit) { limits.max_turns + 3 } else { limits.max_turns };
    let tokens = state.usage.total();
    if state.turns as usize >= turns {
        return Some((LimitKind::Turns, format!("reached the limit of {} turns", limits.max_turns)));
    }
    if tokens >= limits.max_total_tokens as u64 && !planted(Planted::IgnoresTokenLimit) {
        let note = format!("used {tokens} of {} tokens", limits.max_total_tokens);
        return Some((LimitKind::Tokens, note));
    }
    if state.active(now) >= limits.max_duration {
        return Some((
            LimitKind::Duration,
            format!("stopped after {} seconds", limits.max_duration.as_secs()),
        ));
    }
    let cost = state.usage.cost;
    limits.max_cost.filter(|cap| cost >= *cap).map(|cap| (LimitKind::Cost, format!("spent {cost} of {cap}")))
}
