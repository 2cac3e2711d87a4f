//! What happens when no rule decides.
//!
//! Owns the modes and one table: mode × danger × whether the sandbox holds the call. Rules that deny or ask come before
//! it, rules that allow after it; what is critical never gets here.

use std::fmt;

use lariat_core::permission::DangerLevel;

/// How much runs without being asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mode {
    /// Reading runs, everything else is asked.
    #[default]
    Default,
    /// Changes inside the workspace run, too.
    AcceptEdits,
    /// Nothing is changed: changes are queued as a plan.
    Plan,
    /// Everything that the sandbox holds runs, anything beyond is asked.
    Auto,
    /// Nobody is asked: what is not allowed is denied.
    DontAsk,
    /// Everything runs but what is critical.
    Bypass,
}

/// Whether a sandbox holds a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Confinement {
    /// The kernel keeps the command inside the workspace and off the network.
    Sandboxed,
    /// Nothing holds it.
    #[default]
    Open,
}

/// What a mode says of a part of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stance {
    Run,
    /// Rules that allow decide; without one it is asked.
    Undecided,
    Refuse,
}

const RUN: Stance = Stance::Run;
const OPEN: Stance = Stance::Undecided;
const NO: Stance = Stance::Refuse;

/// For each mode: safe, moderate, dangerous in the sandbox, dangerous without one.
const TABLE: &[(Mode, [Stance; 4])] = &[
    (Mode::Default, [RUN, OPEN, OPEN, OPEN]),
    (Mode::AcceptEdits, [RUN, RUN, OPEN, OPEN]),
    (Mode::Plan, [RUN, NO, NO, NO]),
    (Mode::Auto, [RUN, RUN, RUN, OPEN]),
    (Mode::DontAsk, [RUN, OPEN, OPEN, OPEN]),
    (Mode::Bypass, [RUN, RUN, RUN, RUN]),
];

impl Mode {
    /// Every mode, in the order of the documentation.
    pub const ALL: [Self; 6] =
        [Self::Default, Self::AcceptEdits, Self::Plan, Self::Auto, Self::DontAsk, Self::Bypass];

    /// A mode by its name, in our spelling or Claude Code's.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "default" => Self::Default,
            "accept-edits" | "acceptEdits" => Self::AcceptEdits,
            "plan" => Self::Plan,
            "auto" => Self::Auto,
            "dont-ask" | "dontAsk" => Self::DontAsk,
            "bypass" | "bypassPermissions" => Self::Bypass,
            _ => return None,
        })
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::AcceptEdits => "accept-edits",
            Self::Plan => "plan",
            Self::Auto => "auto",
            Self::DontAsk => "dont-ask",
            Self::Bypass => "bypass",
        }
    }

    /// Its name in Claude Code's spelling, which hook scripts know.
    pub const fn claude_name(self) -> &'static str {
        match self {
            Self::AcceptEdits => "acceptEdits",
            Self::DontAsk => "dontAsk",
            Self::Bypass => "bypassPermissions",
            Self::Default | Self::Plan | Self::Auto => self.name(),
        }
    }

    pub(crate) fn stance(self, danger: DangerLevel, confinement: Confinement) -> Stance {
        let column = match (danger, confinement) {
            (DangerLevel::Safe, _) => 0,
            (DangerLevel::Moderate, _) => 1,
            (DangerLevel::Dangerous, Confinement::Sandboxed) => 2,
            (DangerLevel::Dangerous, Confinement::Open) => 3,
            (DangerLevel::Critical, _) if self == Self::Plan => return NO,
            (DangerLevel::Critical, _) => return OPEN,
        };
        let row = TABLE.iter().find(|(mode, _)| *mode == self);
        row.and_then(|(_, stances)| stances.get(column)).copied().unwrap_or(OPEN)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
