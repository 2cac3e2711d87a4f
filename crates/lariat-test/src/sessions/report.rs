//! Reports what a run of the suite did and what it found.

use std::fmt;

/// The result of a run of the suite.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Scripts and other checks.
    pub scripts: usize,
    /// Times that a script was run, with and without faults.
    pub runs: usize,
    /// Positions at which a client connected to a log again.
    pub reconnects: usize,
    /// Crashes of the host.
    pub crashes: usize,
    /// Commands that the host acknowledged.
    pub commands: usize,
    /// Views that were compared with the journal.
    pub views: usize,
    /// Rounds in which two clients answered one ask.
    pub races: usize,
    /// Everything that was wrong.
    pub failures: Vec<SuiteFailure>,
}

/// A broken promise of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SuiteFailure {
    /// The script or check.
    pub script: String,
    /// The fault that was injected, if any.
    pub fault: String,
    /// The step, counted from 0; `None` at the end.
    pub step: Option<usize>,
    /// What the host did, and what the protocol requires.
    pub problem: String,
}

impl Report {
    /// Adds another report.
    pub fn add(&mut self, other: Self) {
        self.scripts += other.scripts;
        self.runs += other.runs;
        self.reconnects += other.reconnects;
        self.crashes += other.crashes;
        self.commands += other.commands;
        self.views += other.views;
        self.races += other.races;
        self.failures.extend(other.failures);
    }

    /// Panics with the failures, if there are any.
    ///
    /// # Panics
    /// If the host broke a promise.
    #[expect(clippy::panic, reason = "a check that fails panics")]
    pub fn check(&self) {
        if !self.failures.is_empty() {
            panic!("{self}");
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} scripts, {} runs, {} commands, {} reconnects, {} crashes, {} views, {} races, {} failures",
            self.scripts,
            self.runs,
            self.commands,
            self.reconnects,
            self.crashes,
            self.views,
            self.races,
            self.failures.len()
        )?;
        self.failures.iter().try_for_each(|failure| write!(f, "\n  {failure}"))
    }
}

impl fmt::Display for SuiteFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}, ", self.script, self.fault)?;
        match self.step {
            Some(step) => write!(f, "step {step}: ")?,
            None => f.write_str("at the end: ")?,
        }
        f.write_str(&self.problem)
    }
}
