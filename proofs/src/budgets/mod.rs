//! The proof of budgets: runs random trees of runs and children with one pool on the real driver.
//!
//! `usage_records` independently counts only what the model delivered and which tools ran; pools, journals
//! and ledgers are compared with it.
//! Invariant: the same seed gives the same tree, the same order of polls and the same records.

mod tree;
mod usage_records;

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use lariat_core::budget::BudgetScope;
use lariat_core::event::{AgentEvent, Event, LimitKind, RunOutcome};
use lariat_core::id::{LoopId, SessionId};
use lariat_core::session::SessionFold;
use lariat_core::store::SessionStore;
use lariat_core::usage::Usage;
use lariat_test::{Executor, SeededRandom, block_on};

use tree::World;

/// Steps after which a tree is considered endless.
const STEPS: u64 = 400_000;
/// Events of a session read at once; no tree has more.
const EVENTS: usize = 100_000;

/// What happened in a tree.
#[derive(Clone, Copy, Debug, Default)]
pub struct Report {
    /// Runs, including children.
    pub runs: u64,
    /// Model calls that were made.
    pub model_calls: u64,
    /// Tool calls that were made.
    pub tool_calls: u64,
    /// Runs that a budget ended.
    pub stopped: u64,
    /// Budget warnings.
    pub warnings: u64,
    /// Limits exceeded by the one model call in progress.
    pub crossed: u64,
}

impl std::ops::AddAssign for Report {
    fn add_assign(&mut self, other: Self) {
        self.runs += other.runs;
        self.model_calls += other.model_calls;
        self.tool_calls += other.tool_calls;
        self.stopped += other.stopped;
        self.warnings += other.warnings;
        self.crossed += other.crossed;
    }
}

/// A violation found in a tree.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The seed that reproduces it.
    pub seed: u64,
    /// Description of the violation.
    pub what: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed {}: {}", self.seed, self.what)
    }
}

/// Runs the tree of a seed and checks it.
///
/// # Errors
/// Returns the first violation.
pub fn prove(seed: u64) -> Result<Report, Failure> {
    let failed = |what: String| Failure { seed, what };
    let random = SeededRandom::new(seed);
    let world = World::new(&random);
    let mut executor = Executor::new(world.clock.clone(), random.fork("order"));
    for run in tree::roots(&world) {
        executor.spawn(run);
    }
    executor.run(STEPS).map_err(|halt| failed(halt.to_string()))?;
    check(&world).map_err(failed)
}

fn check(world: &Arc<World>) -> Result<Report, String> {
    let usage_records = world.usage_records();
    if let Some(breach) = usage_records.breaches.first() {
        return Err(breach.clone());
    }
    let mut report = Report { runs: usage_records.sessions.len() as u64, ..Report::default() };
    for (at, page) in usage_records.pages.iter().enumerate() {
        let (spent, recorded) = (page.pool.spent(), &page.recorded);
        if !page.pool.is_idle() {
            return Err(format!("pool {at} still has reservations"));
        }
        let reported = (spent.tokens, spent.cost, spent.tool_calls);
        if reported != (recorded.tokens, recorded.cost, recorded.tool_calls) {
            return Err(format!("pool {at} says {reported:?}, but {recorded:?} was used"));
        }
        let over = |kind| page.limits.cap(kind).is_some_and(|cap| recorded.amount(kind) > cap);
        if over(LimitKind::Turns) || over(LimitKind::ToolCalls) {
            return Err(format!("pool {at} with {:?} had {recorded:?}", page.limits));
        }
        report.crossed +=
            [LimitKind::Tokens, LimitKind::Cost].into_iter().filter(|kind| over(*kind)).count() as u64;
    }
    let mut total = Usage::default();
    let mut tool_calls = 0;
    for session in &usage_records.sessions {
        let events = read(world, session)?;
        let ledger = SessionFold::of(&events).memory().ledger().clone();
        let mut sum = Usage::default();
        ledger.sources().for_each(|(_, entry)| sum += entry.usage);
        if sum != *ledger.usage() {
            return Err(format!(
                "the ledger of {session} has {sum:?} in its parts and {:?} in total",
                ledger.usage()
            ));
        }
        total += sum;
        tool_calls += ledger.spent().tool_calls;
        events_are_right(&events, &mut report)?;
    }
    let Some(root) = usage_records.pages.first() else { return Err("no pool was created".to_owned()) };
    let counted = (total.total(), total.cost, tool_calls);
    if counted != (root.recorded.tokens, root.recorded.cost, root.recorded.tool_calls) {
        return Err(format!("the ledgers say {counted:?}, but {:?} was used", root.recorded));
    }
    if let Some(day) = world.logged()? {
        let logged = (day.tokens, day.cost, day.tool_calls);
        if logged != counted {
            return Err(format!("the log of the day says {logged:?}, but {counted:?} was used"));
        }
    }
    (report.model_calls, report.tool_calls) = (root.recorded.turns, tool_calls);
    Ok(report)
}

fn read(world: &World, session: &SessionId) -> Result<Vec<Event>, String> {
    let reading = block_on(&world.clock, world.store.read(session, 0, EVENTS));
    reading.map_err(|halt| halt.to_string())?.map_err(|error| error.to_string())
}

/// Checks that each warning level is reported once, and that runs ended by a budget say so.
fn events_are_right(events: &[Event], report: &mut Report) -> Result<(), String> {
    let mut warned: HashSet<(Option<LoopId>, BudgetScope, LimitKind, u8)> = HashSet::new();
    for event in events {
        match &event.event {
            AgentEvent::BudgetWarning { scope, limit, level, .. } => {
                report.warnings += 1;
                // The model is asked to finish once per run; other warnings occur once per session.
                let whose = event.loop_id.clone().filter(|_| *level >= 95 || *scope == BudgetScope::Run);
                if !warned.insert((whose, *scope, *limit, *level)) {
                    return Err(format!("warned twice of {level} % of {limit:?} for {scope:?}"));
                }
            }
            AgentEvent::AgentEnd { outcome: RunOutcome::LimitReached { .. }, .. } => report.stopped += 1,
            AgentEvent::AgentEnd { outcome: RunOutcome::Failed { error }, .. } => {
                return Err(format!("a run failed: {error}"));
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_hundred_trees_stay_within_their_budgets() {
        let mut crossed = 0;
        for seed in 0..100 {
            crossed += super::prove(seed).unwrap_or_else(|failure| panic!("{failure}")).crossed;
        }
        assert!(crossed > 0, "some trees should use up their budget");
    }
}
