//! Budget settings of a run, and the request for more budget.

use serde::{Deserialize, Serialize};

use super::{BudgetLimits, BudgetStatus, DayStart};
use crate::id::RequestId;

/// Budget settings of a run, besides its own hard limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BudgetConfig {
    /// Limits for all loops of the session together.
    pub session: BudgetLimits,
    /// Whether other runs draw on the same budget. If so, that budget must admit every call first.
    pub is_shared: bool,
    /// When the days of a daily budget start.
    pub days: DayStart,
    /// Whether the run can ask the user for more. If not, the run ends when a budget is used up.
    pub asks: bool,
}

/// A request to the user to raise a budget.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BudgetRequest {
    /// Id of the request.
    pub id: RequestId,
    /// The budget that is used up.
    #[serde(flatten)]
    pub standing: BudgetStatus,
    /// The proposed increase; the user may grant another amount.
    pub proposed: BudgetLimits,
}

impl BudgetRequest {
    /// Creates a request that proposes to double the limit.
    pub fn new(id: RequestId, standing: BudgetStatus) -> Self {
        Self { id, standing, proposed: BudgetLimits::of(standing.limit, standing.cap.max(1)) }
    }
}
