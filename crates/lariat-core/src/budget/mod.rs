//! Budgets: limits, what was spent by which source, and how much of each limit is used.
//!
//! Defines the levels at which a run warns the user, asks the model to finish and stops, and computes the
//! ledger from a journal. The machine enforces the limits of a run and of a session; the runtime enforces
//! limits that several runs share (a pool, a day). Amounts are whole numbers in the unit of their kind, so
//! sums are exact.

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
