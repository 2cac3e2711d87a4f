//! The tools of a server that the user accepted, one file per server in the state directory.
//!
//! No command and no file tool of an agent can write there. The file's name is the server's identity, so a changed command,
//! argument, variable or directory is a server without a record.

use lariat_connect::mcp::{McpToolInfo, ProtocolEra};
use lariat_guard::{StateFile, StateFileError};
use serde::{Deserialize, Serialize};

use crate::UserDirectories;

/// The record of one server.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Record {
    /// The name, for users who read the file.
    name: String,
    /// The era that the server spoke last.
    pub(super) era: Option<ProtocolEra>,
    /// The accepted tools; `None` before the first contact.
    pub(super) tools: Option<Vec<McpToolInfo>>,
}

/// The file with the record of one server.
pub(super) struct AcceptedTools(StateFile);

impl AcceptedTools {
    pub(super) fn of(folders: &UserDirectories, identity: &str) -> Self {
        Self(StateFile::new(folders.mcp().join(format!("{identity}.json"))))
    }

    pub(super) fn load(&self) -> Result<Record, StateFileError> {
        self.0.load()
    }

    pub(super) fn save(
        &self,
        name: &str,
        era: Option<ProtocolEra>,
        tools: Option<Vec<McpToolInfo>>,
    ) -> Result<(), StateFileError> {
        let record = Record { name: name.to_owned(), era, tools };
        self.0.update(|saved: &mut Record| *saved = record)
    }
}
