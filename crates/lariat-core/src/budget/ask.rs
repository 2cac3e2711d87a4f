//! Asking for more.

use serde::{Deserialize, Serialize};

use super::{BudgetLimits, DayStart, Standing};
use crate::id::RequestId;

/// What a run knows about budgets besides its own hard caps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BudgetConfig {
    /// Caps on all loops of the session together.
    pub session: BudgetLimits,
    /// Whether others draw on a budget of this run: every call is admitted by it first.
    pub is_shared: bool,
    /// When its days begin.
    pub days: DayStart,
    /// Whether somebody can be asked for more. Without, a budget that is used up ends the run.
    pub asks: bool,
}

/// A question to a person: may more be spent?
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BudgetRequest {
    /// Identity of the question.
    pub id: RequestId,
    /// What is used up.
    #[serde(flatten)]
    pub standing: Standing,
    /// How much more is proposed; the answer may be another amount.
    pub proposed: BudgetLimits,
}

impl BudgetRequest {
    /// Asks for as much again as the cap was.
    pub fn new(id: RequestId, standing: Standing) -> Self {
        Self { id, standing, proposed: BudgetLimits::of(standing.limit, standing.cap.max(1)) }
    }
}
