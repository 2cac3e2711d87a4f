//! Everything a run draws on together with others.
//!
//! Owns the order of admission, pool before day: the same for all, so that nobody waits for another in a circle.

use lariat_core::BoxFuture;
use lariat_core::budget::{BudgetLimits, BudgetScope, DayStart, Spent, Standing};
use lariat_core::model::ModelConfig;
use lariat_core::time::Timestamp;
use lariat_core::usage::Usage;

use super::daily::{DailyBudget, OfDay};
use super::pool::{BudgetPool, Reservation};

/// Tokens that a reply may take when neither the request nor the model says how many.
const REPLY_TOKENS: u64 = 8_192;

/// The budgets that a run shares with others.
#[derive(Clone, Debug, Default)]
pub struct SharedBudget {
    /// Of the task and its children.
    pub pool: Option<BudgetPool>,
    /// Of the day.
    pub daily: Option<DailyBudget>,
}

impl SharedBudget {
    /// True when nothing is shared.
    pub const fn is_none(&self) -> bool {
        self.pool.is_none() && self.daily.is_none()
    }

    /// Whether money is capped.
    pub(crate) fn caps_money(&self) -> bool {
        let pool = self.pool.as_ref().is_some_and(BudgetPool::caps_money);
        pool || self.daily.as_ref().is_some_and(DailyBudget::caps_money)
    }

    pub(crate) fn days(&self) -> DayStart {
        self.daily.as_ref().map(DailyBudget::days).unwrap_or_default()
    }

    /// Reserves what a call may use, of every budget or of none.
    pub(crate) async fn admit(&self, estimate: Spent, now: Timestamp) -> Result<Hold, Standing> {
        let pool = match &self.pool {
            Some(pool) => Some(pool.admit(estimate).await?),
            None => None,
        };
        let day = match &self.daily {
            Some(daily) => Some(daily.admit(estimate, now).await?),
            None => None,
        };
        Ok(Hold { pool, day, since: now })
    }

    /// Where the caps stand.
    pub(crate) fn standings(&self, now: Timestamp) -> Vec<Standing> {
        let pool = self.pool.iter().flat_map(BudgetPool::standings);
        pool.chain(self.daily.iter().flat_map(|daily| daily.standings(now))).collect()
    }

    /// Gives a budget more room.
    pub(crate) fn extend(&self, scope: BudgetScope, more: &BudgetLimits) {
        match (scope, &self.pool, &self.daily) {
            (BudgetScope::Pool, Some(pool), _) => pool.extend(more),
            (BudgetScope::Day, _, Some(daily)) => daily.extend(more),
            _ => {}
        }
    }
}

/// What is reserved for a call.
pub(crate) struct Hold {
    pool: Option<Reservation>,
    day: Option<OfDay>,
    since: Timestamp,
}

impl Hold {
    /// How long the call took.
    pub(crate) fn took(&self, now: Timestamp) -> std::time::Duration {
        now.since(self.since)
    }

    /// What was used, and the writing of it if it is written.
    pub(crate) fn settle(self, spent: Spent) -> Option<BoxFuture<'static, ()>> {
        if let Some(pool) = self.pool {
            pool.settle(spent);
        }
        self.day.map(|day| day.settle(spent))
    }
}

/// What a model call of this many tokens may use: the request, with some room for a wrong guess, and the longest reply.
pub(crate) fn estimate(tokens: u64, max_tokens: Option<u32>, model: &ModelConfig) -> Spent {
    let reply = max_tokens.or(model.max_tokens).map_or(REPLY_TOKENS, u64::from);
    let mut usage = Usage::new(tokens.saturating_add(tokens / 4).max(1), reply);
    usage.cost = model.cost.as_ref().map(|price| price.of(&usage)).unwrap_or_default();
    Spent::reply(&usage)
}
