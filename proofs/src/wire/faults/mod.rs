//! The fault matrix: every fault, at every position, in every protocol. Each cell is a whole agent run on
//! virtual time.
//!
//! [`fault::Fault`]s are data: what the server does ([`plan::Plan`]) and the allowed outcomes. [`opening`],
//! [`stream`] and [`turns`] list them, [`run`] runs a cell, `judge` checks the result. Called by `cargo xtask
//! faults` and, with fewer cells, by tests.
//! Invariant: a cell is a function of its fault, protocol and position.

pub mod cell;
pub mod fault;
mod frame_edits;
pub mod judge;
pub mod opening;
pub mod outcome;
pub mod plan;
pub mod run;
pub mod stream;
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

/// Result of a cell that passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellResult {
    /// How it ended.
    pub outcome: Outcome,
    /// Duration on the virtual clock.
    pub took: Duration,
    /// Number of tool calls that ran.
    pub calls: usize,
}

/// Runs one cell.
///
/// # Errors
/// Describes what is wrong, with everything that was observed.
pub fn play(fault: &Fault, wire: Wire, position: Position) -> Result<CellResult, String> {
    let plan = (fault.plan)(&Cell::new(wire, position));
    let observed = run::observe(wire, plan.clone());
    let judged = judge::judge(fault, &plan, &observed);
    let (took, calls) = (observed.took, observed.executions.len());
    judged.map(|outcome| CellResult { outcome, took, calls }).map_err(|wrong| {
        let mut story = format!("`{}` × {wire} × {position:?}:\n", fault.name);
        wrong.iter().for_each(|words| writeln!(story, "  WRONG: {words}").unwrap_or_default());
        observed.write_log(&mut story);
        story
    })
}

#[cfg(test)]
mod tests;
