//! How much of a limit is used, and at which levels the run warns, finishes and stops.
//!
//! - A limit of only a few calls is enforced without warnings: it is a deliberate choice rather than a
//!   budget.
//! - For a turn limit, the turn in which the model is asked to finish is the last allowed one, so that no
//!   turn is lost.
//! - When the tool call limit is used up, further tool calls are refused one by one. The run stops in the
//!   turn after the model received that error.

use serde::{Deserialize, Serialize};

use super::{BudgetLimits, LimitKind, SpentAmounts};
use crate::usage::Cost;

/// Percentages of a limit at which observers are warned.
pub const WARN_AT: [u8; 2] = [70, 90];
/// Percentage of a limit at which the run asks the model to finish.
pub const WRAP_UP_AT: u8 = 95;
/// Limits on calls below this number cause no warnings.
const FEW_CALLS: u64 = 5;
/// Instruction for the model when a budget is nearly used up.
pub(crate) const FINISH_NOW: &str =
    "This is the last reply of this run: finish what you can and say what is left to do.";

/// What a limit applies to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum BudgetScope {
    /// One loop.
    #[default]
    Run,
    /// All loops of a session.
    Session,
    /// Everything that is spent in a day.
    Day,
    /// A tree of runs that share a pool.
    Pool,
}

/// How much of one limit is used. Amounts are in the unit of the kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BudgetStatus {
    /// What the limit applies to.
    pub scope: BudgetScope,
    /// Kind of the limit.
    pub limit: LimitKind,
    /// Amount that is used.
    pub used: u64,
    /// Amount that may be used.
    pub cap: u64,
}

/// The answer of a shared budget to the next call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Admission {
    /// Usage of each of its limits.
    pub statuses: Vec<BudgetStatus>,
    /// The limit that forbids the call.
    pub refused: Option<BudgetStatus>,
}

impl BudgetStatus {
    /// Creates a status from an amount and its limit.
    pub const fn new(scope: BudgetScope, limit: LimitKind, used: u64, cap: u64) -> Self {
        Self { scope, limit, used, cap }
    }

    /// Returns the usage of every limit.
    pub fn all(scope: BudgetScope, limits: &BudgetLimits, spent: &SpentAmounts) -> Vec<Self> {
        let standing = |kind| Some(Self::new(scope, kind, spent.amount(kind), limits.cap(kind)?));
        LimitKind::ALL.into_iter().filter_map(standing).collect()
    }

    /// Returns the percentage used, rounded down.
    pub fn percent(&self) -> u8 {
        let percent = u128::from(self.used) * 100 / u128::from(self.cap.max(1));
        if self.cap == 0 { 100 } else { u8::try_from(percent).unwrap_or(u8::MAX) }
    }

    /// Returns the highest level reached: 0, one of [`WARN_AT`], [`WRAP_UP_AT`] or 100.
    pub fn level(&self) -> u8 {
        let calls = matches!(self.limit, LimitKind::Turns | LimitKind::ToolCalls);
        let percent = match self.limit {
            LimitKind::ToolCalls => self.percent().min(WRAP_UP_AT),
            LimitKind::Turns if self.used < self.cap => {
                let last = self.used + 1 == self.cap;
                if last { WRAP_UP_AT } else { self.percent().min(WRAP_UP_AT - 1) }
            }
            _ => self.percent(),
        };
        let used_up = self.used >= self.cap;
        match percent {
            _ if calls && self.cap < FEW_CALLS && !used_up => 0,
            100.. => 100,
            WRAP_UP_AT.. => WRAP_UP_AT,
            percent => WARN_AT.into_iter().rev().find(|level| percent >= *level).unwrap_or(0),
        }
    }

    /// Describes the status, for the user and the model.
    pub fn describe(&self) -> String {
        let (used, cap) = (self.used, self.cap);
        let amount = match self.limit {
            LimitKind::Tokens => format!("{used} of {cap} tokens"),
            LimitKind::Cost => format!("{} of {}", Cost::from_nano_usd(used), Cost::from_nano_usd(cap)),
            LimitKind::Turns => format!("{used} of {cap} turns"),
            LimitKind::Duration => format!("{} of {} seconds", used / 1000, cap / 1000),
            LimitKind::ToolCalls => format!("{used} of {cap} tool calls"),
        };
        let whose = match self.scope {
            BudgetScope::Run => "this run",
            BudgetScope::Session => "this session",
            BudgetScope::Day => "today",
            BudgetScope::Pool => "all runs of this task together",
        };
        format!("used {amount} for {whose}")
    }
}
