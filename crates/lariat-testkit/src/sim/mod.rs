//! The simulator: the real machine and the real driver in a world made of a seed.
//!
//! One seed decides everything: what the model says and how its stream breaks, what tools do, who approves when or
//! never, what the store fails at, when a person speaks or cancels, where the process dies. After every step the
//! invariants are checked; after the run every prefix of its journal is recovered. The same seed gives the same run.
//! Owns the life of a simulated process; the world is in `world`, what must hold is in `order` and `check`.

mod check;
mod entry;
mod life;
mod order;
mod violation;
mod watch;
mod world;

use std::fmt;

pub use violation::Violation;

use crate::random::Seeded;

/// What one seed came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Events in the journal.
    pub events: u64,
    /// Processes it took.
    pub lives: u64,
    /// Faults the store injected.
    pub faults: u64,
    /// Tool executions.
    pub executions: u64,
    /// Requests to the model.
    pub requests: u64,
    /// Journal prefixes recovered.
    pub prefixes: u64,
    /// Virtual milliseconds.
    pub virtual_ms: u64,
    /// A hash over everything observed: equal for equal runs.
    pub fingerprint: u64,
}

impl Report {
    /// Adds up what several seeds came to.
    pub fn add(&mut self, other: &Self) {
        self.events += other.events;
        self.lives += other.lives;
        self.faults += other.faults;
        self.executions += other.executions;
        self.requests += other.requests;
        self.prefixes += other.prefixes;
        self.virtual_ms += other.virtual_ms;
        self.fingerprint ^= other.fingerprint;
    }
}

/// A seed that broke an invariant.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The seed.
    pub seed: u64,
    /// What was broken.
    pub violation: Violation,
    /// What was observed up to then, a line each.
    pub log: Vec<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed {}: {}", self.seed, self.violation)
    }
}

/// Runs one seed.
///
/// # Errors
/// When an invariant is broken.
pub fn simulate(seed: u64) -> Result<Report, Box<Failure>> {
    let mut session = life::Session::new(&Seeded::new(seed));
    let outcome = session.play().and_then(|()| check::finished(&session));
    match outcome {
        Ok(prefixes) => Ok(session.report(prefixes)),
        Err(violation) => Err(Box::new(Failure { seed, violation, log: session.log() })),
    }
}
