//! What a command was refused, in words for a model and for a person.

use std::fmt;
use std::path::PathBuf;

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
