//! Budgets that several runs share: a pool for a task and its children, a budget for the day.
//!
//! Owns admission: before each model call and each tool call what it may use is reserved, and settled afterwards with
//! what it did use. Does not own the caps of a run and of its session, which the machine weighs by itself.
//! Invariant: as long as calls keep to what was reserved for them, a cap is exceeded by at most the one call that did
//! not fit, however many runs draw on it.

mod daily;
mod memory;
mod pool;
mod shared;

pub use daily::DailyBudget;
pub use memory::MemorySpending;
pub use pool::{BudgetPool, Reservation};
pub use shared::SharedBudget;
pub(crate) use shared::{Hold, estimate};
