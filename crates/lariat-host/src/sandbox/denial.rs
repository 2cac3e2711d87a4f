//! Describes what the sandbox denied a command, in words for models and users.

use std::fmt;
use std::path::{Path, PathBuf};

use lariat_core::opening::{BlockedAction, BlockedBy, SandboxOpening};

/// Maximum number of denials to keep per command.
const KEPT: usize = 32;

/// One action that the sandbox denied.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Denial {
    /// What the command tried to do.
    pub what: String,
    /// The rule that denied it.
    pub rule: Rule,
    /// The path that it concerned, if any.
    pub path: Option<PathBuf>,
}

/// The rule of a policy that denied an action.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rule {
    /// The path is outside all writable roots.
    NotWritable,
    /// The path is protected, because agents or tools obey or execute its content.
    Protected(PathBuf),
    /// The network is disabled.
    NetworkOff,
    /// The destination is not on the allow-list.
    NotListed,
    /// The destination is on the allow-list, but its address belongs to this machine or an internal network.
    InternalAddress,
    /// Sockets of other programs on this machine are blocked.
    LocalSockets,
    /// A system call that commands do not need and that could be used to escape.
    KernelCall,
}

impl Denial {
    /// A denial that does not concern a path.
    pub(crate) fn new(what: impl Into<String>, rule: Rule) -> Self {
        Self { what: what.into(), rule, path: None }
    }

    /// What was blocked, and the opening that would have allowed it.
    pub fn blocked_action(&self) -> BlockedAction {
        let (by, opening) = match &self.rule {
            Rule::NotWritable => {
                let folder = self.path.as_deref().and_then(Path::parent).and_then(Path::to_str);
                (BlockedBy::NotWritable, folder.map(|folder| SandboxOpening::Write(folder.to_owned())))
            }
            Rule::Protected(root) => {
                let of_git = root.file_name().is_some_and(|name| name == ".git");
                (BlockedBy::Protected, of_git.then_some(SandboxOpening::Git))
            }
            Rule::NetworkOff | Rule::NotListed => (BlockedBy::Network, Some(SandboxOpening::Network)),
            Rule::InternalAddress | Rule::LocalSockets => (BlockedBy::LocalService, None),
            Rule::KernelCall => (BlockedBy::SystemCall, None),
        };
        BlockedAction::new(self.to_string(), by, opening)
    }

    /// Adds a denial to a list, unless it is already there.
    pub(crate) fn note(list: &mut Vec<Self>, denial: Self) {
        if list.len() < KEPT && !list.contains(&denial) {
            list.push(denial);
        }
    }
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.rule)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotWritable => f.write_str(
                "the sandbox allows commands to write only in the workspace and in their own /tmp",
            ),
            Self::Protected(path) => {
                write!(
                    f,
                    "the sandbox protects {}: agents or tools obey or execute its content",
                    path.display()
                )
            }
            Self::NetworkOff => f.write_str("the sandbox has no network access"),
            Self::NotListed => f.write_str("the host is not on the sandbox's allow-list"),
            Self::InternalAddress => f.write_str(
                "the host is allowed, but its address belongs to this machine or to an internal network",
            ),
            Self::LocalSockets => f.write_str("the sandbox blocks sockets of other programs on this machine"),
            Self::KernelCall => f.write_str("the sandbox blocks this system call"),
        }
    }
}
