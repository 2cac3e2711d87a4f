//! Budget state of a session: the warnings given and the extensions granted.

use serde::{Deserialize, Serialize};

use crate::budget::{BudgetLimits, BudgetScope, DayStart, WRAP_UP_AT};
use crate::event::{AgentEvent, EventRecord, LimitKind};
use crate::time::Timestamp;

/// Budget state of a session, computed from its journal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionBudget {
    warned: Vec<GivenWarning>,
    more: BudgetLimits,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct GivenWarning {
    scope: BudgetScope,
    limit: LimitKind,
    level: u8,
    at: Timestamp,
}

impl SessionBudget {
    pub(super) fn apply(&mut self, record: &EventRecord) {
        match &record.event {
            AgentEvent::BudgetWarning { limit, scope, level, .. }
                if *scope != BudgetScope::Run && *level < WRAP_UP_AT =>
            {
                self.warned.retain(|warned| (warned.scope, warned.limit) != (*scope, *limit));
                let (scope, limit, level, at) = (*scope, *limit, *level, record.timestamp);
                self.warned.push(GivenWarning { scope, limit, level, at });
            }
            AgentEvent::BudgetExtended { scope, limits, .. } => {
                self.warned.retain(|warned| warned.scope != *scope);
                if *scope == BudgetScope::Session {
                    self.more = self.more.plus(limits);
                }
            }
            _ => {}
        }
    }

    /// Returns the extensions of the session's limits.
    pub const fn more(&self) -> &BudgetLimits {
        &self.more
    }

    /// Returns the highest warning level that still applies. A warning about a daily budget applies on its
    /// day only.
    pub fn level(&self, scope: BudgetScope, limit: LimitKind, now: Timestamp, days: DayStart) -> u8 {
        let applies = |warned: &&GivenWarning| {
            let today = scope != BudgetScope::Day || days.day(warned.at) == days.day(now);
            (warned.scope, warned.limit) == (scope, limit) && today
        };
        self.warned.iter().find(applies).map_or(0, |warned| warned.level)
    }
}
