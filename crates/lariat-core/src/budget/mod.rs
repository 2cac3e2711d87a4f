//! Budgets: limits, amounts that were spent, and how much of each limit is used.
//!
//! Defines the levels at which a run warns the user, asks the model to finish and stops. The machine enforces the limits of a run and of a session; the runtime enforces
//! limits that several runs share (a pool, a day). Amounts are whole numbers in the unit of their kind, so
//! sums are exact.

mod limits;
mod log;
mod request;
mod status;

pub use limits::{BudgetLimits, LimitKind, SpentAmounts};
pub use log::{Day, DayStart, SpendingLog, SpendingLogError};
pub use request::{BudgetConfig, BudgetRequest};
pub(crate) use status::FINISH_NOW;
pub use status::{Admission, BudgetScope, BudgetStatus, WARN_AT, WRAP_UP_AT};

#[cfg(test)]
mod tests;
