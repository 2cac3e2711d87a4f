use lariat_core::budget::SpendingLogError;
use lariat_core::usage::Usage;

use super::super::MemorySpending;
use super::*;

fn tokens(amount: u64) -> SpentAmounts {
    SpentAmounts::reply(&Usage::new(amount, 0))
}

fn budget(log: &Arc<MemorySpending>) -> DailyBudget {
    DailyBudget::new(BudgetLimits::none().with_tokens(100), Arc::clone(log) as Arc<dyn SpendingLog>)
}

async fn spend(budget: &DailyBudget, amount: u64) -> Result<(), (u64, u64)> {
    let admitted = budget.admit(tokens(amount), Timestamp::default()).await;
    admitted.map_err(|at| (at.used, at.cap))?.settle(tokens(amount)).await;
    Ok(())
}

#[tokio::test]
async fn spending_of_another_process_is_included_before_the_next_call() {
    let log = Arc::new(MemorySpending::default());
    let (ours, theirs) = (budget(&log), budget(&log));
    assert_eq!(spend(&ours, 30).await, Ok(()));
    assert_eq!(spend(&theirs, 50).await, Ok(()));
    assert_eq!(spend(&ours, 20).await, Ok(()), "both together spent eighty before this");
    assert_eq!(spend(&ours, 1).await, Err((100, 100)));
    assert_eq!(spend(&theirs, 1).await, Err((100, 100)));
    let standing = |budget: &DailyBudget| budget.statuses(Timestamp::default()).first().map(|at| at.used);
    assert_eq!((standing(&ours), standing(&theirs)), (Some(100), Some(100)), "nothing is counted twice");
}

/// A log that can be read but not written.
struct ReadOnlyLog(MemorySpending);

impl SpendingLog for ReadOnlyLog {
    fn add(&self, _: Day, _: SpentAmounts) -> BoxFuture<'_, Result<(), SpendingLogError>> {
        Box::pin(std::future::ready(Err(SpendingLogError("full".to_owned()))))
    }

    fn total(&self, day: Day) -> BoxFuture<'_, Result<SpentAmounts, SpendingLogError>> {
        self.0.total(day)
    }
}

#[tokio::test]
async fn unwritten_spending_is_still_counted_and_hides_nothing_of_others() {
    let log = Arc::new(ReadOnlyLog(MemorySpending::default()));
    let limits = BudgetLimits::none().with_tokens(100);
    let ours = DailyBudget::new(limits, Arc::clone(&log) as Arc<dyn SpendingLog>);
    assert_eq!(spend(&ours, 40).await, Ok(()));
    let day = DayStart::UTC.day(Timestamp::default());
    log.0.add(day, tokens(60)).await.unwrap();
    assert_eq!(spend(&ours, 1).await, Err((100, 100)));
}
