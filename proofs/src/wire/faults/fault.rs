//! A fault: its name, what it does to a response, and the allowed outcomes of a run.

use std::fmt;

use super::cell::Cell;
use super::outcome::AllowedOutcomes;
use super::plan::Plan;

/// A fault.
#[derive(Clone, Copy)]
pub struct Fault {
    /// The name in the table.
    pub name: &'static str,
    /// The part of a response that it affects.
    pub group: Group,
    /// What the server does.
    pub plan: fn(&Cell) -> Plan,
    /// The allowed outcomes.
    pub allowed: AllowedOutcomes,
}

/// The part of a response that a fault affects, and the meaning of the seven positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Status, headers and bodies other than a stream. Position: how much of the body arrives before the
    /// connection breaks (even positions: before the body ends), or the delay.
    Opening,
    /// The stream. Position: a place in it.
    Stream,
    /// A well-formed stream of a misbehaving model. Position: the size of the chunks.
    Turn,
}

impl Group {
    /// The groups in the order of the table.
    pub const ALL: [Self; 3] = [Self::Opening, Self::Stream, Self::Turn];

    /// The heading of the group.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Opening => "Before the stream (position: part of the body that arrives, or delay)",
            Self::Stream => "In the stream (position: where)",
            Self::Turn => "Bad turns (position: size of the chunks)",
        }
    }
}

impl fmt::Debug for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fault").field("name", &self.name).field("group", &self.group).finish_non_exhaustive()
    }
}
