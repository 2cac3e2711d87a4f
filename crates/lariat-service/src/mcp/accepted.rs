//! The tools of a server that the user accepted, one file per server in the state directory.
//!
//! No command and no file tool of an agent can write there. The file's name is the server's identity, so a changed command,
//! argument, variable or directory is a server without a record.

use std::path::PathBuf;

use lariat_connect::mcp::{AcceptedTool, McpPromptInfo, McpResourceInfo, ProtocolEra};
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
    pub(super) tools: Option<Vec<AcceptedTool>>,
    /// The prompts that the server had when it ran last. The user invokes them by name, so they need no acceptance.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) prompts: Vec<McpPromptInfo>,
    /// The resources that the server had when it ran last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) resources: Vec<McpResourceInfo>,
    /// Whether the server refused the last request because the user must log in.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) needs_login: bool,
}

/// The file with the record of one server.
pub(super) struct AcceptedTools(StateFile);

impl AcceptedTools {
    pub(super) fn of(folders: &UserDirectories, identity: &str) -> Self {
        Self(StateFile::new(Self::path(folders, identity)))
    }

    pub(super) fn path(folders: &UserDirectories, identity: &str) -> PathBuf {
        folders.mcp().join(format!("{identity}.json"))
    }

    pub(super) fn load(&self) -> Result<Record, StateFileError> {
        self.0.load()
    }

    /// Changes the record of the server with this name.
    pub(super) fn update(&self, name: &str, change: impl FnOnce(&mut Record)) -> Result<(), StateFileError> {
        self.0.update(|saved: &mut Record| {
            saved.name = name.to_owned();
            change(saved);
        })
    }
}
