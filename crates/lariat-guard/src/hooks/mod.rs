//! Hooks of a person's configuration, by Claude Code's contract: programs and addresses that are told of an event and
//! may answer it.
//!
//! Owns what is configured ([`HookBook`]), what a handler is told ([`Told`]), what its answer means ([`Answer`]) and
//! what several answers mean together ([`Outcome`]). Starts nothing: whoever has processes and a network implements
//! [`HookRunner`].
//! Invariant: an allow of a hook beats no rule that denies or asks, and answers only the question that is asked because no
//! rule speaks of the call. A handler that fails or takes too long on an event that it may block has blocked it, unless its
//! entry says otherwise; one that may not run any more has blocked it whatever its entry says.

mod answer;
mod book;
mod matcher;
mod run;
pub(crate) mod scripts;
mod subject;
mod told;

pub use answer::{Answer, Decision, Outcome};
pub use book::{Handler, HookBook, HookProblem, OnFailure, Way};
pub use matcher::Matcher;
pub use run::{Ended, HookRunner, Round, Spent};
pub use scripts::{Pin, Scripts};
pub use subject::{Subject, claude_input, claude_name};
pub use told::Told;

use serde::{Deserialize, Serialize};

/// What happened, by the names of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum HookEvent {
    /// A session begins or goes on.
    SessionStart,
    /// A session ends.
    SessionEnd,
    /// A person sends a prompt.
    UserPromptSubmit,
    /// A tool is about to be called.
    PreToolUse,
    /// A person is about to be asked.
    PermissionRequest,
    /// A tool ended.
    PostToolUse,
    /// A tool failed.
    PostToolUseFailure,
    /// The agent wants to stop.
    Stop,
    /// A sub-agent begins.
    SubagentStart,
    /// A sub-agent wants to stop.
    SubagentStop,
    /// The context is about to be made smaller.
    PreCompact,
    /// The context was made smaller.
    PostCompact,
    /// A person is told something.
    Notification,
}

impl HookEvent {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::SessionStart,
        Self::SessionEnd,
        Self::UserPromptSubmit,
        Self::PreToolUse,
        Self::PermissionRequest,
        Self::PostToolUse,
        Self::PostToolUseFailure,
        Self::Stop,
        Self::SubagentStart,
        Self::SubagentStop,
        Self::PreCompact,
        Self::PostCompact,
        Self::Notification,
    ];

    /// Its name in the contract.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SessionStart => "SessionStart",
            Self::SessionEnd => "SessionEnd",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::PreToolUse => "PreToolUse",
            Self::PermissionRequest => "PermissionRequest",
            Self::PostToolUse => "PostToolUse",
            Self::PostToolUseFailure => "PostToolUseFailure",
            Self::Stop => "Stop",
            Self::SubagentStart => "SubagentStart",
            Self::SubagentStop => "SubagentStop",
            Self::PreCompact => "PreCompact",
            Self::PostCompact => "PostCompact",
            Self::Notification => "Notification",
        }
    }

    /// True when a handler can stop what is about to happen.
    pub const fn can_block(self) -> bool {
        matches!(
            self,
            Self::PreToolUse | Self::UserPromptSubmit | Self::Stop | Self::SubagentStop | Self::PreCompact
        )
    }

    /// True when it is about a call of a tool, so that a permission rule can be held against it.
    pub const fn is_about_a_call(self) -> bool {
        matches!(
            self,
            Self::PreToolUse | Self::PermissionRequest | Self::PostToolUse | Self::PostToolUseFailure
        )
    }

    /// True when handlers can choose by a matcher what they hear of. Where they cannot, they hear of everything.
    pub const fn has_matcher(self) -> bool {
        !matches!(self, Self::UserPromptSubmit | Self::Stop)
    }

    /// True when the plain output of a handler is read by the model.
    pub const fn adds_context(self) -> bool {
        matches!(self, Self::SessionStart | Self::UserPromptSubmit)
    }
}

#[cfg(test)]
#[path = "hooks_tests.rs"]
mod tests;
