//! Which workspaces may steer the agent.
//!
//! Until a person trusts a workspace, nothing that it brings executes or raises privilege: hooks, servers, variables,
//! allow rules, addresses, scripts of skills, agents, configuration. Owns three things: what a workspace brings
//! ([`Manifest`]), which directory it is ([`Identity`]), and what the person said about it ([`TrustBook`]).
//! Invariant: trust is of one directory and of these very bytes; of a file of settings, of what it says. A link, a worktree
//! or a copy borrows none, and what changed is asked about.

mod book;
mod effects;
mod git;
mod manifest;

pub use book::{TrustBook, Trusted};
pub use effects::{Brought, BroughtKind};
pub use manifest::{Brings, Entry, Look, Manifest, ManifestError};

use serde::{Deserialize, Serialize};

/// A directory, by what it is and not by a name that leads there.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Identity {
    /// Its real path.
    pub path: String,
    /// The device it is on.
    pub device: u64,
    /// Its number there. Another directory that is put at the same path has another one.
    pub inode: u64,
}

/// What the person's word on a workspace is worth now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nobody was asked, and it brings nothing that would take effect. That is no trust: git obeys what lies in a
    /// repository, and a person's word covers that, too.
    Harmless,
    /// A person trusts it, as it is.
    Trusted,
    /// Nobody was asked.
    Unknown,
    /// A person trusted it, and it brings something else now.
    Changed(Vec<Difference>),
}

impl Standing {
    /// True when a person trusts it as it is.
    pub const fn is_trusted(&self) -> bool {
        matches!(self, Self::Trusted)
    }
}

/// One file that is not what was trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Its path in the workspace.
    pub path: String,
    /// What was trusted; `None` for a new file. Only the beginning of a long one.
    pub before: Option<String>,
    /// What is there; `None` for a file that is gone.
    pub now: Option<String>,
}

#[cfg(test)]
#[path = "trust_tests.rs"]
mod tests;
