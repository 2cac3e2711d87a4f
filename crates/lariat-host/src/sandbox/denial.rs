//! What a command was refused, in words for a model and for a person.

use std::fmt;
use std::path::{Path, PathBuf};

use lariat_core::opening::{Blocked, BlockedBy, Opening};

/// Denials that are kept of one command; the rest is the same again.
const KEPT: usize = 32;

/// One thing that a command was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Denial {
    /// What it tried.
    pub what: String,
    /// The rule that refused it.
    pub rule: Rule,
    /// The path it was about, where it was about one.
    pub path: Option<PathBuf>,
}

/// The rule of a policy that refused something.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rule {
    /// The path is beneath no writable root.
    NotWritable,
    /// The path is protected: agents and tools obey or execute what is there.
    Protected(PathBuf),
    /// The network is off.
    NetworkOff,
    /// The destination is not on the list.
    NotListed,
    /// The destination is on the list, but its address belongs to this machine or its network.
    InternalAddress,
    /// Sockets of other programs on this machine.
    LocalSockets,
    /// A call into the kernel that no command needs and escapes are made of.
    KernelCall,
}

impl Denial {
    /// A denial that is not about a path.
    pub(crate) fn new(what: impl Into<String>, rule: Rule) -> Self {
        Self { what: what.into(), rule, path: None }
    }

    /// What was blocked, with the opening that would have let it through.
    pub fn blocked(&self) -> Blocked {
        let (by, opening) = match &self.rule {
            Rule::NotWritable => {
                let folder = self.path.as_deref().and_then(Path::parent).and_then(Path::to_str);
                (BlockedBy::NotWritable, folder.map(|folder| Opening::Write(folder.to_owned())))
            }
            Rule::Protected(root) => {
                let of_git = root.file_name().is_some_and(|name| name == ".git");
                (BlockedBy::Protected, of_git.then_some(Opening::Git))
            }
            Rule::NetworkOff | Rule::NotListed => (BlockedBy::Network, Some(Opening::Network)),
            Rule::InternalAddress | Rule::LocalSockets => (BlockedBy::LocalService, None),
            Rule::KernelCall => (BlockedBy::SystemCall, None),
        };
        Blocked::new(self.to_string(), by, opening)
    }

    /// Adds a denial to a list, once.
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
            Self::NotWritable => {
                f.write_str("the sandbox lets commands write only in the workspace and in /tmp")
            }
            Self::Protected(path) => {
                write!(
                    f,
                    "the sandbox protects {}: what is there steers agents or is executed",
                    path.display()
                )
            }
            Self::NetworkOff => f.write_str("the network is off in the sandbox"),
            Self::NotListed => f.write_str("the host is not on the sandbox's list of allowed hosts"),
            Self::InternalAddress => f.write_str(
                "the host is allowed, but its address is one of this machine or of an internal network",
            ),
            Self::LocalSockets => {
                f.write_str("the sandbox refuses sockets of other programs on this machine")
            }
            Self::KernelCall => f.write_str("the sandbox refuses this system call"),
        }
    }
}
