//! Decides a tool call when no rule does: the permission modes.
//!
//! One table maps mode, danger level and sandbox to a decision. Deny and ask rules come before it, allow rules after it;
//! critical commands never reach it.

use std::fmt;

use lariat_core::permission::DangerLevel;

/// The permission mode: which actions run without asking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mode {
    /// Reads run; everything else requires approval.
    #[default]
    Default,
    /// Changes inside the workspace run as well.
    AcceptEdits,
    /// Nothing changes: changes are queued as a plan.
    Plan,
    /// Everything that the sandbox confines runs; the rest requires approval.
    Auto,
    /// Never asks: what is not allowed is denied.
    DontAsk,
    /// Everything runs except critical commands.
    Bypass,
}

/// Whether a sandbox confines a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Confinement {
    /// The kernel confines the command to the workspace and blocks the network.
    Sandboxed,
    /// No sandbox.
    #[default]
    Open,
}

/// A mode's decision about a part of a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ModeDecision {
    Run,
    /// Allow rules decide; without one it requires approval.
    Undecided,
    Refuse,
}

const RUN: ModeDecision = ModeDecision::Run;
const OPEN: ModeDecision = ModeDecision::Undecided;
const NO: ModeDecision = ModeDecision::Refuse;

/// For each mode: safe, moderate, dangerous in the sandbox, dangerous without one.
const DECISIONS: &[(Mode, [ModeDecision; 4])] = &[
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

    /// Parses the name of a mode, in Lariat's spelling or Claude Code's.
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

    /// The name in Lariat's spelling.
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

    /// The name in Claude Code's spelling, for hook scripts.
    pub const fn claude_name(self) -> &'static str {
        match self {
            Self::AcceptEdits => "acceptEdits",
            Self::DontAsk => "dontAsk",
            Self::Bypass => "bypassPermissions",
            Self::Default | Self::Plan | Self::Auto => self.name(),
        }
    }

    pub(crate) fn mode_decision(self, danger: DangerLevel, confinement: Confinement) -> ModeDecision {
        let column = match (danger, confinement) {
            (DangerLevel::Safe, _) => 0,
            (DangerLevel::Moderate, _) => 1,
            (DangerLevel::Dangerous, Confinement::Sandboxed) => 2,
            (DangerLevel::Dangerous, Confinement::Open) => 3,
            (DangerLevel::Critical, _) if self == Self::Plan => return NO,
            (DangerLevel::Critical, _) => return OPEN,
        };
        let row = DECISIONS.iter().find(|(mode, _)| *mode == self);
        row.and_then(|(_, stances)| stances.get(column)).copied().unwrap_or(OPEN)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
