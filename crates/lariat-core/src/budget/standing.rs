//! How much of one cap is used, and what follows from it.
//!
//! Owns the levels. A cap of a few calls is a choice rather than a budget: it is kept, and nobody is warned of it. The
//! wrap-up turn of a cap on turns is the last one it allows, so that no turn is lost to it. Tool calls that are used up
//! are refused one by one; what stops the run is the turn after the model was told so.

use serde::{Deserialize, Serialize};

use super::{BudgetLimits, Spent};
use crate::event::LimitKind;
use crate::usage::Cost;

/// Shares of a cap, in percent, at which observers are warned.
pub const WARN_AT: [u8; 2] = [70, 90];
/// Share of a cap, in percent, at which the model is told to finish.
pub const WRAP_UP_AT: u8 = 95;
/// Caps on calls below this are not warned of.
const FEW_CALLS: u64 = 5;
/// What a model is told to do when a budget is nearly used up.
pub(crate) const FINISH_NOW: &str =
    "This is the last reply of this run: finish what you can and say what is left to do.";

/// What a cap is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum BudgetScope {
    /// One loop.
    #[default]
    Run,
    /// All loops of a session.
    Session,
    /// All that is spent in a day.
    Day,
    /// A tree of runs that share a pool.
    Pool,
}

/// How much of one cap is used. Amounts are in the unit of the kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Standing {
    /// What the cap is for.
    pub scope: BudgetScope,
    /// What is capped.
    pub limit: LimitKind,
    /// How much is used.
    pub used: u64,
    /// How much may be used.
    pub cap: u64,
}

/// What a budget that others draw on as well says about the next call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Admission {
    /// Where its caps stand.
    pub standings: Vec<Standing>,
    /// The cap that forbids the call.
    pub refused: Option<Standing>,
}

impl Standing {
    /// How much of a cap is used.
    pub const fn new(scope: BudgetScope, limit: LimitKind, used: u64, cap: u64) -> Self {
        Self { scope, limit, used, cap }
    }

    /// Where every cap stands.
    pub fn all(scope: BudgetScope, limits: &BudgetLimits, spent: &Spent) -> Vec<Self> {
        let standing = |kind| Some(Self::new(scope, kind, spent.amount(kind), limits.cap(kind)?));
        LimitKind::ALL.into_iter().filter_map(standing).collect()
    }

    /// The share that is used, in percent, rounded down.
    pub fn percent(&self) -> u8 {
        let percent = u128::from(self.used) * 100 / u128::from(self.cap.max(1));
        if self.cap == 0 { 100 } else { u8::try_from(percent).unwrap_or(u8::MAX) }
    }

    /// The highest level that is reached: 0, one of [`WARN_AT`], [`WRAP_UP_AT`] or 100.
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

    /// In words, for a person and for the model.
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
