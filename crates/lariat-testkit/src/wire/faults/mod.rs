//! The fault matrix: every fault, at every position, in every protocol, each cell a whole agent run on virtual time.
//!
//! [`fault::Fault`]s are data: what the server does ([`plan::Plan`]) and how a run may end. [`opening`], [`stream`] and
//! [`turns`] list them, [`run`] plays a cell, `judge` says whether it went as it must. Called by `cargo xtask faults`
//! and, in small, by tests.
//! Invariant: a cell is a function of its fault, protocol and position.

pub mod cell;
pub mod fault;
pub mod judge;
pub mod opening;
pub mod outcome;
pub mod plan;
pub mod run;
pub mod stream;
mod surgery;
pub mod transport;
pub mod turns;

use std::fmt::Write;
use std::time::Duration;

pub use cell::{Cell, Position};
pub use fault::{Fault, Group};
pub use outcome::Outcome;

use crate::server::Wire;

/// All faults, in the order of the table.
pub fn faults() -> impl Iterator<Item = &'static Fault> {
    opening::FAULTS.iter().chain(stream::FAULTS).chain(turns::FAULTS)
}

/// A cell that went as it must.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// How it ended.
    pub outcome: Outcome,
    /// How long it took by the virtual clock.
    pub took: Duration,
    /// Calls that ran.
    pub calls: usize,
}

/// Plays one cell.
///
/// # Errors
/// When something is wrong; in words, with all that was observed.
pub fn play(fault: &Fault, wire: Wire, position: Position) -> Result<Passed, String> {
    let plan = (fault.plan)(&Cell::new(wire, position));
    let observed = run::observe(wire, plan.clone());
    let judged = judge::judge(fault, &plan, &observed);
    let (took, calls) = (observed.took, observed.executions.len());
    judged.map(|outcome| Passed { outcome, took, calls }).map_err(|wrong| {
        let mut story = format!("`{}` × {wire} × {position:?}:\n", fault.name);
        wrong.iter().for_each(|words| writeln!(story, "  WRONG: {words}").unwrap_or_default());
        observed.tell(&mut story);
        story
    })
}

#[cfg(test)]
mod tests;
