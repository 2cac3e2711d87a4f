//! Budgets that several runs share: a pool for a task and its sub-agents, and a budget per day.
//!
//! Before each model call and tool call, the driver reserves what the call may use; afterwards it settles the
//! reservation with what the call did use. The limits of a single run and of its session are not here: the
//! state machine checks them.
//!
//! Invariant: as long as calls stay within their reservations, a limit is exceeded by at most one call,
//! however many runs share the budget.

mod daily;
mod memory;
mod pool;
mod shared;

pub use daily::DailyBudget;
pub use memory::MemorySpending;
pub use pool::{BudgetPool, Reservation};
pub use shared::SharedBudget;
pub(crate) use shared::{BudgetReservation, estimate};
