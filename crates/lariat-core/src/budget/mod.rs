//! Budgets: what may be spent, what was spent by whom, and where that stands.
//!
//! Owns the vocabulary, the levels at which a run is warned, told to wrap up and stopped, and the ledger as a fold over
//! a journal. Does not own the caps themselves: those of a run and of a session are checked by the machine, those that
//! several runs share (a pool, a day) by the runtime.
//! Invariant: amounts are whole numbers in the unit of their kind, so sums are exact.

mod ask;
mod ledger;
mod limits;
mod log;
mod standing;
#[cfg(test)]
mod tests;

pub use ask::{BudgetConfig, BudgetRequest};
pub use ledger::{Entry, Ledger, Source};
pub use limits::{BudgetLimits, Spent};
pub use log::{Day, DayStart, SpendingLog, SpendingLogError};
pub(crate) use standing::FINISH_NOW;
pub use standing::{Admission, BudgetScope, Standing, WARN_AT, WRAP_UP_AT};
