//! Defines what a permission rule does with the tool calls that it matches.

use std::fmt;

/// The list that contains a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// What it matches never runs.
    Deny,
    /// What it matches requires approval.
    Ask,
    /// What it matches may run.
    Allow,
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Deny => "deny",
            Self::Ask => "ask",
            Self::Allow => "allow",
        })
    }
}
