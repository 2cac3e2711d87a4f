//! The budgets that a run shares with others.
//!
//! Reserves in a fixed order, the pool before the day, so that runs never deadlock.

use lariat_core::BoxFuture;
use lariat_core::budget::{BudgetLimits, BudgetScope, BudgetStatus, DayStart, SpentAmounts};
use lariat_core::model::ModelConfig;
use lariat_core::time::Timestamp;
use lariat_core::usage::Usage;

use super::daily::{DailyBudget, DayReservation};
use super::pool::{BudgetPool, Reservation};

/// Assumed length of a reply, in tokens, if neither the request nor the model has a limit.
const REPLY_TOKENS: u64 = 8_192;

/// The budgets that a run shares with others.
#[derive(Clone, Debug, Default)]
pub struct SharedBudget {
    /// The pool of the task and its sub-agents.
    pub pool: Option<BudgetPool>,
    /// The budget of the day.
    pub daily: Option<DailyBudget>,
}

impl SharedBudget {
    /// True if no budget is shared.
    pub const fn is_none(&self) -> bool {
        self.pool.is_none() && self.daily.is_none()
    }

    /// Whether money is limited.
    pub(crate) fn caps_money(&self) -> bool {
        let pool = self.pool.as_ref().is_some_and(BudgetPool::caps_money);
        pool || self.daily.as_ref().is_some_and(DailyBudget::caps_money)
    }

    pub(crate) fn days(&self) -> DayStart {
        self.daily.as_ref().map(DailyBudget::days).unwrap_or_default()
    }

    /// Reserves what a call may use, in every budget or in none.
    pub(crate) async fn admit(
        &self,
        estimate: SpentAmounts,
        now: Timestamp,
    ) -> Result<BudgetReservation, BudgetStatus> {
        let pool = match &self.pool {
            Some(pool) => Some(pool.admit(estimate).await?),
            None => None,
        };
        let day = match &self.daily {
            Some(daily) => Some(daily.admit(estimate, now).await?),
            None => None,
        };
        Ok(BudgetReservation { pool, day, since: now })
    }

    /// Returns how much of each limit is used.
    pub(crate) fn statuses(&self, now: Timestamp) -> Vec<BudgetStatus> {
        let pool = self.pool.iter().flat_map(BudgetPool::statuses);
        pool.chain(self.daily.iter().flat_map(|daily| daily.statuses(now))).collect()
    }

    /// Extends a budget.
    pub(crate) fn extend(&self, scope: BudgetScope, more: &BudgetLimits) {
        match (scope, &self.pool, &self.daily) {
            (BudgetScope::Pool, Some(pool), _) => pool.extend(more),
            (BudgetScope::Day, _, Some(daily)) => daily.extend(more),
            _ => {}
        }
    }
}

/// What is reserved for a call.
pub(crate) struct BudgetReservation {
    pool: Option<Reservation>,
    day: Option<DayReservation>,
    since: Timestamp,
}

impl BudgetReservation {
    /// Returns how long the call has taken.
    pub(crate) fn elapsed(&self, now: Timestamp) -> std::time::Duration {
        now.since(self.since)
    }

    /// Records what was used, and returns the future that writes it to the log of the day, if there is one.
    pub(crate) fn settle(self, spent: SpentAmounts) -> Option<BoxFuture<'static, ()>> {
        if let Some(pool) = self.pool {
            pool.settle(spent);
        }
        self.day.map(|day| day.settle(spent))
    }
}

/// Estimates what a model call may use: the tokens of the request plus a quarter for estimation errors, and
/// the longest reply.
pub(crate) fn estimate(tokens: u64, max_tokens: Option<u32>, model: &ModelConfig) -> SpentAmounts {
    let reply = max_tokens.or(model.max_tokens).map_or(REPLY_TOKENS, u64::from);
    let mut usage = Usage::new(tokens.saturating_add(tokens / 4).max(1), reply);
    usage.cost = model.cost.as_ref().map(|price| price.of(&usage)).unwrap_or_default();
    SpentAmounts::reply(&usage)
}
