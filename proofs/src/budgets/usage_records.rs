//! An independent record of what was really used, to compare the budget pools with.
//!
//! The rule: no model call begins when a limit is used up, and none ends after a limit was exceeded. So only
//! the one call in progress can exceed a limit.

use lariat_core::budget::{BudgetLimits, SpentAmounts};
use lariat_core::event::LimitKind;
use lariat_core::id::SessionId;
use lariat_core::usage::Usage;
use lariat_runtime::budget::BudgetPool;

/// The records of a tree.
#[derive(Default)]
pub(super) struct UsageRecords {
    pub(super) pages: Vec<PoolRecord>,
    pub(super) sessions: Vec<SessionId>,
    pub(super) breaches: Vec<String>,
    /// The daily budget that all runs share.
    pub(super) daily: BudgetLimits,
}

/// Record of one pool.
pub(super) struct PoolRecord {
    pub(super) pool: BudgetPool,
    pub(super) parent: Option<usize>,
    pub(super) limits: BudgetLimits,
    pub(super) recorded: SpentAmounts,
}

impl UsageRecords {
    /// Adds a record for a pool.
    pub(super) fn open(&mut self, pool: BudgetPool, parent: Option<usize>, limits: BudgetLimits) -> usize {
        self.pages.push(PoolRecord { pool, parent, limits, recorded: SpentAmounts::default() });
        self.pages.len() - 1
    }

    fn above(&self, page: usize) -> Vec<usize> {
        std::iter::successors(Some(page), |at| self.pages.get(*at)?.parent).collect()
    }

    /// Records the start of a model call.
    pub(super) fn call_begins(&mut self, page: usize) {
        self.note(
            page,
            "a call begins",
            [LimitKind::Tokens, LimitKind::Cost, LimitKind::Turns],
            |recorded| {
                recorded.turns += 1;
            },
        );
    }

    /// Records the end of a model call.
    pub(super) fn call_ends(&mut self, page: usize, usage: &Usage) {
        let spent = SpentAmounts::usage(usage);
        self.note(page, "a call ends", [LimitKind::Tokens, LimitKind::Cost], |recorded| *recorded += spent);
    }

    /// Records a tool call.
    pub(super) fn tool_runs(&mut self, page: usize) {
        self.note(page, "a tool runs", [LimitKind::ToolCalls], |recorded| recorded.tool_calls += 1);
    }

    /// Records something that must not happen once one of these limits is used up.
    fn note<const N: usize>(
        &mut self,
        page: usize,
        what: &str,
        kinds: [LimitKind; N],
        change: impl Fn(&mut SpentAmounts),
    ) {
        for at in self.above(page) {
            let Some(page) = self.pages.get_mut(at) else { continue };
            let daily = self.daily;
            for kind in kinds {
                let caps = [page.limits.cap(kind), daily.cap(kind).filter(|_| at == 0)];
                for cap in caps.into_iter().flatten() {
                    let used = page.recorded.amount(kind);
                    if used >= cap {
                        self.breaches
                            .push(format!("{what} under pool {at} with {used} of {cap} {kind:?} used"));
                    }
                }
            }
            change(&mut page.recorded);
        }
    }
}
