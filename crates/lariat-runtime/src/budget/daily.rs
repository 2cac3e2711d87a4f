//! A budget for the day, whoever spends it.
//!
//! Owns which day it is and what was spent on it before: read from the log when a day begins, written to it after every
//! call. A log that cannot be read refuses calls: what cannot be counted is not spent. One that cannot be written costs
//! its record of that call; within the process it counts all the same.

use std::sync::{Arc, Mutex, PoisonError};

use lariat_core::BoxFuture;
use lariat_core::budget::{BudgetLimits, BudgetScope, Day, DayStart, SpendingLog, Spent, Standing};
use lariat_core::event::LimitKind;
use lariat_core::time::Timestamp;

use super::pool::{BudgetPool, Reservation};

/// Caps on what is spent in a day. Cheap to clone; all clones are the same budget.
#[derive(Clone)]
pub struct DailyBudget(Arc<Daily>);

struct Daily {
    limits: BudgetLimits,
    days: DayStart,
    log: Arc<dyn SpendingLog>,
    today: Mutex<Option<(Day, BudgetPool)>>,
}

impl DailyBudget {
    /// Caps on every day, which begins at midnight UTC.
    pub fn new(limits: BudgetLimits, log: Arc<dyn SpendingLog>) -> Self {
        Self::with_days(limits, log, DayStart::UTC)
    }

    /// Caps on every day, which begins at midnight somewhere else.
    pub fn with_days(limits: BudgetLimits, log: Arc<dyn SpendingLog>, days: DayStart) -> Self {
        Self(Arc::new(Daily { limits, days, log, today: Mutex::default() }))
    }

    pub(super) fn days(&self) -> DayStart {
        self.0.days
    }

    fn known(&self, day: Day) -> Option<BudgetPool> {
        let today = self.0.today.lock().unwrap_or_else(PoisonError::into_inner);
        today.as_ref().filter(|(known, _)| *known == day).map(|(_, pool)| pool.clone())
    }

    async fn pool(&self, day: Day) -> Result<BudgetPool, Standing> {
        if let Some(pool) = self.known(day) {
            return Ok(pool);
        }
        let spent = self.0.log.total(day).await.map_err(|_| self.unknown())?;
        let mut today = self.0.today.lock().unwrap_or_else(PoisonError::into_inner);
        // Somebody else may have read it meanwhile, and spent since.
        match today.as_ref().filter(|(known, _)| *known == day) {
            Some((_, pool)) => Ok(pool.clone()),
            None => {
                let pool = BudgetPool::with_spent(self.0.limits, spent);
                *today = Some((day, pool.clone()));
                Ok(pool)
            }
        }
    }

    /// Stands for a day of which nobody knows what was spent.
    fn unknown(&self) -> Standing {
        let capped = LimitKind::ALL.into_iter().find_map(|kind| Some((kind, self.0.limits.cap(kind)?)));
        let (kind, cap) = capped.unwrap_or((LimitKind::Tokens, 0));
        Standing::new(BudgetScope::Day, kind, cap, cap)
    }

    pub(super) async fn admit(&self, estimate: Spent, now: Timestamp) -> Result<OfDay, Standing> {
        let day = self.0.days.day(now);
        let pool = self.pool(day).await?;
        let reservation = pool.admit(estimate).await.map_err(of_day)?;
        Ok(OfDay { budget: self.clone(), day, reservation })
    }

    /// Where the caps of a day stand, as far as it was asked for.
    pub fn standings(&self, now: Timestamp) -> Vec<Standing> {
        let pool = self.known(self.0.days.day(now));
        pool.map(|pool| pool.standings().into_iter().map(of_day).collect()).unwrap_or_default()
    }

    /// Gives more room, today.
    pub fn extend(&self, more: &BudgetLimits) {
        let today = self.0.today.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, pool)) = today.as_ref() {
            pool.extend(more);
        }
    }
}

fn of_day(standing: Standing) -> Standing {
    Standing::new(BudgetScope::Day, standing.limit, standing.used, standing.cap)
}

/// What is reserved of a day.
pub(super) struct OfDay {
    budget: DailyBudget,
    day: Day,
    reservation: Reservation,
}

impl OfDay {
    /// What was used, and the writing of it.
    pub(super) fn settle(self, spent: Spent) -> BoxFuture<'static, ()> {
        self.reservation.settle(spent);
        let (log, day) = (Arc::clone(&self.budget.0.log), self.day);
        Box::pin(async move {
            let _ = log.add(day, spent).await;
        })
    }
}

impl std::fmt::Debug for DailyBudget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DailyBudget").field("limits", &self.0.limits).finish_non_exhaustive()
    }
}
