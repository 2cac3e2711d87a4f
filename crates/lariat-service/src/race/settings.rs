//! Defines a race: the task, who works, who selects, and the limits.

use std::time::Duration;

use lariat_core::id::SessionId;
use lariat_core::usage::Cost;
use serde::{Deserialize, Serialize};

use crate::actor_critic::{DEFAULT_TIME, LoopAgent};

/// Maximum number of branches.
pub const MAX_BRANCHES: usize = 16;

/// How a race selects a branch among those that ended, and passed the check if there is one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RaceJudge {
    /// The branch with the smallest difference.
    SmallestDiff,
    /// Lariat with this model, or with the model of the settings, which reads the differences.
    Model(Option<String>),
}

/// What a race is asked to do. The session records it, so that a resumed race has the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RaceSettings {
    /// The task.
    pub prompt: String,
    /// Who works in each branch.
    pub branches: Vec<LoopAgent>,
    /// Who selects.
    pub judge: RaceJudge,
    /// A command that must succeed in a branch that is selected.
    #[serde(default)]
    pub check: Option<String>,
    /// Maximum time of each branch.
    pub max_time: Duration,
    /// Maximum cost of all branches and the judge together; `None` for no limit.
    #[serde(default)]
    pub max_cost: Option<Cost>,
    /// The names of variables that other agents get, in addition to those that Lariat knows they need.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<String>,
}

impl RaceSettings {
    /// A race of these agents. A model judges, unless a check is set.
    pub fn new(prompt: impl Into<String>, branches: Vec<LoopAgent>) -> Self {
        Self {
            prompt: prompt.into(),
            branches,
            judge: RaceJudge::Model(None),
            check: None,
            max_time: DEFAULT_TIME,
            max_cost: None,
            variables: Vec::new(),
        }
    }
}

/// The session of Lariat in a branch. Lists show the first 8 characters of an id.
pub(super) fn branch_session(race: &SessionId, position: usize) -> SessionId {
    SessionId::from(format!("r{}-{race}", branch_name(position)))
}

/// The session of the judge.
pub(super) fn judge_session(race: &SessionId) -> SessionId {
    SessionId::from(format!("rj-{race}"))
}

/// The name of a branch by its position: `a`, `b` and so on.
pub fn branch_name(position: usize) -> String {
    let letter = u8::try_from(position).ok().and_then(|position| b'a'.checked_add(position));
    letter
        .filter(u8::is_ascii_lowercase)
        .map_or_else(|| format!("b{position}"), |letter| char::from(letter).to_string())
}
