//! Runs the hooks of a user's configuration, by Claude Code's contract: programs and addresses that receive an event and
//! may answer it.
//!
//! [`HookConfig`] is the configuration, [`HookInput`] the input of a handler, [`HandlerAnswer`] what its output means, [`Outcome`] what
//! several answers mean together. This module starts no processes and no requests: a [`HookRunner`] does.
//!
//! A hook's allow never overrides a permission rule that denies or asks; it only replaces the question that is asked
//! because no rule matches the tool call. A handler that fails or times out on an event it may block has blocked it, unless
//! its entry says otherwise; a handler that may no longer run has blocked it whatever its entry says.

mod answer;
mod config;
mod hook_input;
mod matcher;
mod run;
pub(crate) mod scripts;
mod subject;
mod wire_arguments;

pub use answer::{HandlerAnswer, HookDecision, Outcome};
pub use config::{Handler, HookConfig, HookProblem, Invocation, OnFailure};
pub use hook_input::HookInput;
pub use matcher::Matcher;
pub use run::{EventHandlers, HandlerResult, HookRunner, OnceHandlers};
pub use scripts::{Pin, Scripts};
pub use subject::{Subject, claude_name};
pub use wire_arguments::{claude_input, own_input};

use serde::{Deserialize, Serialize};

/// The events that hooks can handle, named as in Claude Code's contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum HookEvent {
    /// A session starts or resumes.
    SessionStart,
    /// A session ends.
    SessionEnd,
    /// The user submits a prompt.
    UserPromptSubmit,
    /// A tool is about to run.
    PreToolUse,
    /// The user is about to be asked for approval.
    PermissionRequest,
    /// A tool finished.
    PostToolUse,
    /// A tool failed.
    PostToolUseFailure,
    /// The agent wants to stop.
    Stop,
    /// The run is about to end with an error.
    StopFailure,
    /// A sub-agent starts.
    SubagentStart,
    /// A sub-agent wants to stop.
    SubagentStop,
    /// The context is about to be compacted.
    PreCompact,
    /// The context was compacted.
    PostCompact,
    /// The user is notified of something.
    Notification,
}

impl HookEvent {
    /// All events.
    pub const ALL: [Self; 14] = [
        Self::SessionStart,
        Self::SessionEnd,
        Self::UserPromptSubmit,
        Self::PreToolUse,
        Self::PermissionRequest,
        Self::PostToolUse,
        Self::PostToolUseFailure,
        Self::Stop,
        Self::StopFailure,
        Self::SubagentStart,
        Self::SubagentStop,
        Self::PreCompact,
        Self::PostCompact,
        Self::Notification,
    ];

    /// The name in the contract.
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
            Self::StopFailure => "StopFailure",
            Self::SubagentStart => "SubagentStart",
            Self::SubagentStop => "SubagentStop",
            Self::PreCompact => "PreCompact",
            Self::PostCompact => "PostCompact",
            Self::Notification => "Notification",
        }
    }

    /// Whether a handler can stop what is about to happen.
    pub const fn can_block(self) -> bool {
        matches!(
            self,
            Self::PreToolUse | Self::UserPromptSubmit | Self::Stop | Self::SubagentStop | Self::PreCompact
        )
    }

    /// Whether the event is about a tool call, so that a permission rule can be compared with it.
    pub const fn is_about_a_call(self) -> bool {
        matches!(
            self,
            Self::PreToolUse | Self::PermissionRequest | Self::PostToolUse | Self::PostToolUseFailure
        )
    }

    /// Whether a matcher limits which of these events a handler receives. Otherwise it receives all of them.
    pub const fn has_matcher(self) -> bool {
        !matches!(self, Self::UserPromptSubmit | Self::Stop)
    }

    /// Whether the model reads the plain output of a handler.
    pub const fn adds_context(self) -> bool {
        matches!(self, Self::SessionStart | Self::UserPromptSubmit)
    }
}

#[cfg(test)]
mod tests;
