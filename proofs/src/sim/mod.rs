//! The simulator: runs the real machine and the real driver in a world generated from a seed.
//!
//! The seed decides everything: what the model replies and how its stream breaks, what tools do, who approves
//! when or never, which store operations fail, when a user sends a message or cancels, where the process
//! dies. After every step the invariants are checked; after the run, every prefix of its journal is
//! recovered. The same seed gives the same run.
//! `life` has the lives of the simulated process, `process` what it does, `world` and `loop_ports` its environment, `order` and
//! `check` the invariants. Half of what the process does are branches: loops that run at the same time in one session, each a
//! task of its own, so that the seed also decides which loop runs next.

mod check;
mod entry;
mod life;
mod loop_ports;
mod order;
mod process;
mod violation;
mod watch;
mod world;

use std::fmt;

use lariat_test::SeededRandom;

pub use violation::Violation;

/// Totals of one seed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Events in the journal.
    pub events: u64,
    /// Number of processes.
    pub lives: u64,
    /// Faults the store injected.
    pub faults: u64,
    /// Tool executions.
    pub executions: u64,
    /// Requests to the model.
    pub requests: u64,
    /// Recovered prefixes of the journal.
    pub prefixes: u64,
    /// Virtual milliseconds.
    pub virtual_ms: u64,
    /// A hash of all observations: equal for equal runs.
    pub fingerprint: u64,
}

impl Report {
    /// Adds the totals of another seed.
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
    /// All observations up to then, one per line.
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
/// Fails if an invariant is broken.
pub fn simulate(seed: u64) -> Result<Report, Box<Failure>> {
    let mut session = life::Session::new(&SeededRandom::new(seed));
    let outcome = session.play().and_then(|()| check::finished(&session));
    match outcome {
        Ok(prefixes) => Ok(session.report(prefixes)),
        Err(violation) => Err(Box::new(Failure { seed, violation, log: session.log() })),
    }
}
