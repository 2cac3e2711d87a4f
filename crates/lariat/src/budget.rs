//! Limits on money, tokens and time: of a run, a session, a day, or a pool that several agents share.

pub use lariat_core::budget::{
    BudgetConfig, BudgetLimits, BudgetRequest, BudgetScope, BudgetStatus, Day, DayStart, SpendingLog,
    SpendingLogError, SpentAmounts,
};
pub use lariat_core::config::{ExecutionLimits, RepetitionConfig};
pub use lariat_core::event::LimitKind;
pub use lariat_core::ledger::{Ledger, LedgerEntry, Source};
pub use lariat_core::usage::{Cost, Usage};
pub use lariat_runtime::budget::{BudgetPool, DailyBudget, MemorySpending, Reservation};
