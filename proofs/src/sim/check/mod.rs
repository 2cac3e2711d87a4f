//! The invariants of a finished session: `journal` checks its journal, `groups` its branches, `prefix` recovers from every
//! prefix of it.
//!
//! [`super::order`] and the world itself check what is observable during the run.

mod groups;
mod journal;
mod prefix;

use super::life::Session;
use super::violation::Violation;
use super::world::{FORBIDDEN, verdict_roll};

/// Checks a finished session and returns the number of recovered prefixes.
pub(super) fn finished(session: &Session) -> Result<u64, Violation> {
    let world = &session.world;
    if let Some(breach) = world.model.violations().first() {
        return Err(Violation::InvalidRequest(format!("{breach:?}")));
    }
    if let Some(misuse) = world.store.misuses().first() {
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
    let events = world.store.survivors(&world.session_id);
    journal::check(&events, &world.config)?;
    groups::check(&events)?;
    prefix::check(&events, &world.config)
}
