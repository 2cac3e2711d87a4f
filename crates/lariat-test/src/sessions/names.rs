//! The names of one run of a script. Scripts share a store and a model, so every run has texts and ids of its own.

use std::sync::atomic::{AtomicU64, Ordering};

use super::model::{ModelScript, Turn};

/// Numbers the runs of this process.
static RUNS: AtomicU64 = AtomicU64::new(1);

/// The names of a run.
pub(super) struct Names(String);

impl Names {
    /// The names of the next run.
    pub(super) fn next() -> Self {
        Self(format!("r{}", RUNS.fetch_add(1, Ordering::Relaxed)))
    }

    /// What is unique to the run.
    pub(super) fn run(&self) -> &str {
        &self.0
    }

    /// The text by which a prompt is recognised everywhere.
    pub(super) fn key(&self, name: &str) -> String {
        format!("[{}/{name}]", self.0)
    }

    /// The text of a prompt.
    pub(super) fn prompt(&self, name: &str) -> String {
        format!("{} Please.", self.key(name))
    }

    /// A gate or a mark of this run. It is also the id of a tool call, so it has no spaces.
    pub(super) fn name(&self, name: &str) -> String {
        format!("{}-{}", self.0, name.replace(' ', "-"))
    }

    /// Plans the replies to a prompt.
    pub(super) fn plan(&self, model: &ModelScript, key: &str, turns: &[Turn]) {
        let turns = turns.iter().map(|turn| self.own_turn(turn)).collect();
        model.plan(self.key(key), turns);
    }

    fn own_turn(&self, turn: &Turn) -> Turn {
        match turn {
            Turn::Text { .. } => turn.clone(),
            Turn::Call { mark, approval } => Turn::Call { mark: self.name(mark), approval: *approval },
            Turn::Fail { until } => Turn::Fail { until: self.name(until) },
            Turn::Gate { gate, then } => {
                Turn::Gate { gate: self.name(gate), then: Box::new(self.own_turn(then)) }
            }
        }
    }
}
