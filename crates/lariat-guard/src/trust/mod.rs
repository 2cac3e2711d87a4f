//! Decides which workspaces may control the agent.
//!
//! Until the user trusts a workspace, nothing in it executes or raises privileges: hooks, servers, variables, allow rules,
//! addresses, scripts of skills, agents, configuration. [`Manifest`] lists what a workspace contains, [`Identity`] says
//! which directory it is, and [`TrustStore`] stores which ones the user trusts.
//! Trust applies to one directory and its exact bytes (of a settings file, its exact settings). It does not extend to a
//! link, a worktree or a copy, and a change requires the user's consent again.

mod effects;
mod git;
mod manifest;
mod store;

pub use crate::workspace_reader::{Entry, WorkspaceReader};
pub use effects::{WorkspaceEffect, WorkspaceEffectKind};
pub use manifest::{Manifest, ManifestError, ManifestFile};
pub use store::{TrustStore, TrustedWorkspace};

use serde::{Deserialize, Serialize};

/// A directory, identified by what it is and not by a path that leads there.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Identity {
    /// Its real path.
    pub path: String,
    /// The device that contains it.
    pub device: u64,
    /// Its inode number. Another directory at the same path has another one.
    pub inode: u64,
}

/// Whether the user trusts a workspace in its current state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrustStatus {
    /// The user has not been asked, and nothing in it would take effect. This is not trust: git obeys what lies in a
    /// repository, and trust covers that, too.
    Harmless,
    /// The user trusts it in its current state.
    Trusted,
    /// The user has not been asked.
    Unknown,
    /// The user trusted it, but it has changed since.
    Changed(Vec<Difference>),
}

impl TrustStatus {
    /// Whether the user trusts it in its current state.
    pub const fn is_trusted(&self) -> bool {
        matches!(self, Self::Trusted)
    }
}

/// One file that differs from what the user trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Its path in the workspace.
    pub path: String,
    /// The trusted content, or its beginning; `None` for a new file.
    pub before: Option<String>,
    /// The current content; `None` for a file that was removed.
    pub now: Option<String>,
}

#[cfg(test)]
mod tests;
