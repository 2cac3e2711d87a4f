//! Counts spending per day in memory, for the lifetime of the process.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use lariat_core::BoxFuture;
use lariat_core::budget::{Day, SpendingLog, SpendingLogError, SpentAmounts};

/// A spending log in memory. For tests, and for programs that store spending elsewhere.
#[derive(Debug, Default)]
pub struct MemorySpending(Mutex<BTreeMap<Day, SpentAmounts>>);

impl SpendingLog for MemorySpending {
    fn add(&self, day: Day, spent: SpentAmounts) -> BoxFuture<'_, Result<(), SpendingLogError>> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(day).or_default() += spent;
        Box::pin(std::future::ready(Ok(())))
    }

    fn total(&self, day: Day) -> BoxFuture<'_, Result<SpentAmounts, SpendingLogError>> {
        let total = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&day).copied();
        Box::pin(std::future::ready(Ok(total.unwrap_or_default())))
    }
}
