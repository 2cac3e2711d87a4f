//! What is said about a session, and what outlives it: its description, learnings, goals.
//!
//! Owns the contents of the events that no loop records: people and programs write them (seed 003).

use serde::{Deserialize, Serialize};

/// What people are told about a session. What is `None` stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Description {
    /// A name given by a person or a model; an empty one takes it away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The branch that was checked out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git_branch: Option<String>,
    /// All tags, replacing those before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
}

/// Something that later sessions should know (seed 003: learnings from failures).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Learning {
    /// Unique; the same id again replaces it.
    pub learning_id: String,
    /// What was learned.
    pub text: String,
    /// What it was learned from: an error, a failed attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// Words to find it by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

/// What several sessions work towards (seed 003).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Goal {
    /// Unique; the same id again replaces it.
    pub goal_id: String,
    /// What is to be reached.
    pub text: String,
    /// Where it stands.
    pub status: GoalStatus,
}

/// Where a goal stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum GoalStatus {
    /// Worked towards.
    #[default]
    Active,
    /// Reached.
    Done,
    /// Given up.
    Dropped,
}
