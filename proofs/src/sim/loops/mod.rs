//! A world of one session below the SDK: the real machine and the real driver, without an agent.
//!
//! `life` has the lives of the simulated process, `process` what it does, `world` and `loop_ports` its environment, `order` and
//! `check` the invariants. Half of what the process does are branches: loops that run at the same time in one session, each a
//! task of its own, so that the seed also decides which loop runs next. After the run, prefixes of its journal are recovered.

mod check;
mod entry;
mod life;
mod loop_ports;
mod order;
mod process;
mod reader;
mod watch;
mod world;

use lariat_test::SeededRandom;

use super::choice::Choices;
use super::report::{Failure, Report};
pub(super) use check::{Tolerance, check_journal, check_prefixes, check_queues};
pub(super) use world::verdict_roll;

/// Runs one seed.
pub(super) fn play(seed: u64, choices: Choices) -> Result<Report, Box<Failure>> {
    let mut session = life::Session::new(&SeededRandom::new(seed), choices);
    let played = super::guarded(|| session.play().and_then(|()| check::finished(&session)));
    match played {
        Ok(prefixes) => Ok(session.report(prefixes)),
        Err(violation) => Err(Box::new(session.failure(violation))),
    }
}
