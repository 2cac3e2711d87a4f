//! The invariants of a finished session: `journal` checks its journal, `groups` its branches, `queues` its messages, `prefix`
//! recovers from prefixes of it.
//!
//! [`super::order`] and the world itself check what is observable during the run.

mod groups;
mod journal;
mod prefix;
mod queues;

use super::life::Session;
pub(in crate::sim) use journal::{Tolerance, check as check_journal};
pub(in crate::sim) use prefix::check as check_prefixes;
pub(in crate::sim) use queues::check as check_queues;

use super::super::violation::Violation;
use super::world::{FORBIDDEN, verdict_roll};

/// Number of prefixes of a journal to recover, about.
const PREFIXES: u64 = 64;

/// Checks a finished session and returns the number of recovered prefixes.
pub(super) fn finished(session: &Session) -> Result<u64, Violation> {
    let world = &session.world;
    if let Some(breach) = world.model.violations().first() {
        return Err(Violation::InvalidRequest(format!("{breach:?}")));
    }
    if let Some(misuse) = world.disk.store.misuses().first() {
        return Err(Violation::Misuse(format!("{misuse:?}")));
    }
    for (_, ledger) in world.ports.ledgers() {
        let mut seen = std::collections::HashSet::new();
        for execution in ledger.all() {
            if !seen.insert(execution.call_id.clone()) {
                return Err(Violation::RanTwice(execution.call_id));
            }
            if FORBIDDEN.contains(&verdict_roll(session.seed, &execution.call_id)) {
                return Err(Violation::RanForbidden(execution.call_id));
            }
            if execution.tool != "read" && !execution.beside.is_empty() {
                return Err(Violation::RanBeside(execution.call_id));
            }
        }
    }
    let events = world.disk.store.survivors(&world.session_id);
    let tolerance = Tolerance { jumped: session.jumped, ..Tolerance::default() };
    journal::check(&events, world.config.limits.as_ref(), tolerance)?;
    groups::check(&events)?;
    queues::check(&events)?;
    prefix::check(&events, &world.config, session.seed, PREFIXES)
}
