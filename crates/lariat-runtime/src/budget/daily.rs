//! A budget per day, shared by all runs and processes that log to the same place.
//!
//! Reads the log before every call, to learn what others spent today, and writes to it after every call. If
//! the log cannot be read, calls are refused: the budget spends nothing that it cannot count. If the log
//! cannot be written, the log misses that call, but this process still counts it. Without a limit, the log is
//! only written, so that a limit set later in the day includes everything spent before.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lariat_core::BoxFuture;
use lariat_core::budget::{
    BudgetLimits, BudgetScope, BudgetStatus, Day, DayStart, SpendingLog, SpentAmounts,
};
use lariat_core::event::LimitKind;
use lariat_core::time::Timestamp;

use super::pool::{BudgetPool, Reservation};

/// Limits on what is spent per day. Cheap to clone; all clones are the same budget.
#[derive(Clone)]
pub struct DailyBudget(Arc<DailyState>);

struct DailyState {
    limits: BudgetLimits,
    days: DayStart,
    log: Arc<dyn SpendingLog>,
    today: Mutex<Option<Today>>,
}

struct Today {
    day: Day,
    pool: BudgetPool,
    /// What this process passed to the log. Updated before the write, so that it is never mistaken for
    /// spending of others.
    logged: SpentAmounts,
    /// What others spent, as far as the pool includes it.
    others: SpentAmounts,
}

impl DailyBudget {
    /// Creates limits for each day, starting at midnight UTC. Without limits, spending is only logged.
    pub fn new(limits: BudgetLimits, log: Arc<dyn SpendingLog>) -> Self {
        Self::with_days(limits, log, DayStart::UTC)
    }

    /// Creates limits for each day, starting at midnight of another time zone.
    pub fn with_days(limits: BudgetLimits, log: Arc<dyn SpendingLog>, days: DayStart) -> Self {
        Self(Arc::new(DailyState { limits, days, log, today: Mutex::default() }))
    }

    pub(super) fn caps_money(&self) -> bool {
        self.0.limits.cost.is_some()
    }

    pub(super) fn days(&self) -> DayStart {
        self.0.days
    }

    fn today(&self) -> MutexGuard<'_, Option<Today>> {
        self.0.today.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn current_pool(&self, day: Day) -> Option<BudgetPool> {
        self.today().as_ref().filter(|today| today.day == day).map(|today| today.pool.clone())
    }

    async fn pool(&self, day: Day) -> Result<BudgetPool, BudgetStatus> {
        let logged = self.logged_amounts(day);
        let total = match self.0.limits.is_none() {
            true => SpentAmounts::default(),
            false => self.0.log.total(day).await.map_err(|_| self.exhausted_status())?,
        };
        let mut today = self.today();
        // Another task may have begun the day meanwhile.
        let today = match today.as_mut().filter(|today| today.day == day) {
            Some(today) => today,
            None => {
                let (pool, zero) = (BudgetPool::new(self.0.limits), SpentAmounts::default());
                today.insert(Today { day, pool, logged: zero, others: zero })
            }
        };
        let new_spending = total.less(logged).less(today.others);
        today.others += new_spending;
        today.pool.spend(new_spending);
        Ok(today.pool.clone())
    }

    fn logged_amounts(&self, day: Day) -> SpentAmounts {
        let today = self.today();
        today.as_ref().filter(|today| today.day == day).map(|today| today.logged).unwrap_or_default()
    }

    /// Updates what this process passed to the log: before a write, or after a failed one.
    fn update_logged(&self, day: Day, change: impl FnOnce(&mut SpentAmounts)) {
        if let Some(today) = self.today().as_mut().filter(|today| today.day == day) {
            change(&mut today.logged);
        }
    }

    /// Returns a used-up budget, for a day whose spending is unknown.
    fn exhausted_status(&self) -> BudgetStatus {
        let capped = LimitKind::ALL.into_iter().find_map(|kind| Some((kind, self.0.limits.cap(kind)?)));
        let (kind, cap) = capped.unwrap_or((LimitKind::Tokens, 0));
        BudgetStatus::new(BudgetScope::Day, kind, cap, cap)
    }

    pub(super) async fn admit(
        &self,
        estimate: SpentAmounts,
        now: Timestamp,
    ) -> Result<DayReservation, BudgetStatus> {
        let day = self.0.days.day(now);
        let pool = self.pool(day).await?;
        let reservation = pool.admit(estimate).await.map_err(with_day_scope)?;
        Ok(DayReservation { budget: self.clone(), day, reservation })
    }

    /// Returns how much of the day's limits is used, as far as this process has read the log.
    pub fn statuses(&self, now: Timestamp) -> Vec<BudgetStatus> {
        let pool = self.current_pool(self.0.days.day(now));
        pool.map(|pool| pool.statuses().into_iter().map(with_day_scope).collect()).unwrap_or_default()
    }

    /// Extends the limits for today.
    pub fn extend(&self, more: &BudgetLimits) {
        if let Some(today) = self.today().as_ref() {
            today.pool.extend(more);
        }
    }
}

fn with_day_scope(standing: BudgetStatus) -> BudgetStatus {
    BudgetStatus::new(BudgetScope::Day, standing.limit, standing.used, standing.cap)
}

/// A reservation in the budget of a day.
pub(super) struct DayReservation {
    budget: DailyBudget,
    day: Day,
    reservation: Reservation,
}

impl DayReservation {
    /// Records what was used, and returns the future that writes it to the log.
    pub(super) fn settle(self, spent: SpentAmounts) -> BoxFuture<'static, ()> {
        self.reservation.settle(spent);
        let (budget, day) = (self.budget, self.day);
        Box::pin(async move {
            budget.update_logged(day, |logged| *logged += spent);
            if budget.0.log.add(day, spent).await.is_err() {
                budget.update_logged(day, |logged| *logged = logged.less(spent));
            }
        })
    }
}

impl std::fmt::Debug for DailyBudget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DailyBudget").field("limits", &self.0.limits).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "daily_tests.rs"]
mod tests;
