//! What is said about a session, and what outlives it: its description, learnings, goals.
//!
//! Owns the contents of the events that no loop records: people and programs write them (seed 003).

use serde::{Deserialize, Serialize};

use crate::id::SessionId;

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

/// Where an imported session came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Import {
    /// Names this import. A hash of what was imported, so that nothing inside a file can name its own import.
    pub import_id: String,
    /// The format of the file: `lariat`, `claude`, `codex` or `codeloops`.
    pub format: String,
    /// The session's id in the file.
    pub session_id: SessionId,
}

impl Import {
    /// An import of a file.
    pub fn new(import_id: impl Into<String>, format: impl Into<String>, session_id: SessionId) -> Self {
        Self { import_id: import_id.into(), format: format.into(), session_id }
    }
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
