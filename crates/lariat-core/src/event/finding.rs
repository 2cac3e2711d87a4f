//! A finding: what one agent of a tree shares with the others.
//!
//! The agent that found it records it in its own session, and each agent above records a copy, so that a session knows what the agents
//! below it found without reading their journals. The text is that of a model, and nothing has checked it.

use serde::{Deserialize, Serialize};

use crate::id::SessionId;

/// Start of the section of notes that contain a finding; the id of the finding follows.
const SECTION: &str = "finding:";

/// Something that an agent found and that the other agents of its tree receive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Finding {
    /// Id of the finding, the same in every session that records it.
    pub finding_id: String,
    /// Session of the agent that found it.
    pub session_id: SessionId,
    /// Names of the sub-agents from below the root to the one that found it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
    /// What was found, in the words of the model.
    pub text: String,
    /// Files that it is about, as the model names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}

impl Finding {
    /// Maximum number of findings that one agent shares.
    pub const MAX_OF_AGENT: usize = 20;
    /// Maximum number of findings of a tree of agents; those that are shared after it are refused.
    pub const MAX_OF_TREE: usize = 100;
    /// Maximum bytes of the text.
    pub const MAX_TEXT: usize = 2_000;
    /// Maximum number of files.
    pub const MAX_FILES: usize = 20;
    /// Maximum bytes of the name of a file.
    pub const MAX_FILE: usize = 300;

    /// Creates a finding of an agent.
    pub fn new(finding_id: impl Into<String>, session_id: SessionId, text: impl Into<String>) -> Self {
        let (agents, files) = (Vec::new(), Vec::new());
        Self { finding_id: finding_id.into(), session_id, agents, text: text.into(), files }
    }

    /// Sets the path to the agent that found it.
    #[must_use]
    pub fn by(mut self, agents: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.agents = agents.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the files that it is about.
    #[must_use]
    pub fn about(mut self, files: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.files = files.into_iter().map(Into::into).collect();
        self
    }

    /// Returns the section of the note that gives this finding to another agent.
    pub fn section(&self) -> String {
        format!("{SECTION}{}", self.finding_id)
    }

    /// Returns the id of the finding that a note with this section contains.
    pub fn id_of_section(section: &str) -> Option<&str> {
        section.strip_prefix(SECTION)
    }
}
