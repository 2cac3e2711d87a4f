//! A fault: its name, what it does to an answer, and how a run may end under it.

use std::fmt;

use super::cell::Cell;
use super::outcome::Allowed;
use super::plan::Plan;

/// A fault.
#[derive(Clone, Copy)]
pub struct Fault {
    /// Names it in the table.
    pub name: &'static str,
    /// What part of an answer it concerns.
    pub group: Group,
    /// What the server does.
    pub plan: fn(&Cell) -> Plan,
    /// How a run may end.
    pub allowed: Allowed,
}

/// What part of an answer a fault concerns, and what the seven positions mean for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Status, headers and bodies that are no stream. Position: how much of the body comes before it breaks (even
    /// positions: is cut off), or how long it takes.
    Opening,
    /// The stream. Position: where in it.
    Stream,
    /// A stream in order, of a model that is not. Position: into how large pieces it is cut.
    Turn,
}

impl Group {
    /// The groups in the order of the table.
    pub const ALL: [Self; 3] = [Self::Opening, Self::Stream, Self::Turn];

    /// A heading.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Opening => {
                "Before the stream (position: part of the body that arrives, or time that passes)"
            }
            Self::Stream => "In the stream (position: where)",
            Self::Turn => "Bad turns (position: size of the pieces)",
        }
    }
}

impl fmt::Debug for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fault").field("name", &self.name).field("group", &self.group).finish_non_exhaustive()
    }
}
