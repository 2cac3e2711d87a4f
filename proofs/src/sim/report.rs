//! What a seed did, and how a seed failed.

use std::fmt;

use super::World;
use super::choice::Choice;
use super::violation::Violation;

/// Totals of one seed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Events in the journals.
    pub events: u64,
    /// Number of processes.
    pub lives: u64,
    /// Faults of the store.
    pub faults: u64,
    /// Tool executions.
    pub executions: u64,
    /// Requests to the model.
    pub requests: u64,
    /// Recovered prefixes of journals.
    pub prefixes: u64,
    /// Sub-agents.
    pub sub_agents: u64,
    /// Commands of clients that a host acknowledged.
    pub commands: u64,
    /// Commands that a client sent again.
    pub retries: u64,
    /// Forked sessions.
    pub forks: u64,
    /// Rewound conversations.
    pub rewinds: u64,
    /// Connections of clients that follow a session.
    pub connections: u64,
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
        self.sub_agents += other.sub_agents;
        self.commands += other.commands;
        self.retries += other.retries;
        self.forks += other.forks;
        self.rewinds += other.rewinds;
        self.connections += other.connections;
        self.virtual_ms += other.virtual_ms;
        self.fingerprint ^= other.fingerprint;
    }
}

/// A seed that broke an invariant.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The world.
    pub world: World,
    /// The seed.
    pub seed: u64,
    /// What was broken.
    pub violation: Violation,
    /// What happened, in sentences. Empty unless the run has a story.
    pub story: Vec<String>,
    /// All observations up to then, one per line.
    pub log: Vec<String>,
    /// The disturbances of the run.
    pub(super) choices: Vec<Choice>,
    /// How many disturbances the run has less than the seed alone gives.
    pub left_out: usize,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed {} of `{}`: {}", self.seed, self.world.name(), self.violation)
    }
}
