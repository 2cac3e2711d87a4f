//! Hooks of a session: whoever is told of its moments and may answer.
//!
//! Owns the contract between a run and configured hooks, for everything but calls of tools (those are told by the
//! [policy](crate::permission::PermissionPolicy)). Asynchronous, because a hook may be a program or an address.
//! Invariant: a moment that nobody wants is not told, waits for nobody and leaves no mark in the journal.

use crate::BoxFuture;
use crate::event::CompactionCause;
use crate::id::{LoopId, SessionId};

/// The kinds of moments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum MomentKind {
    /// A session begins or goes on.
    SessionStart,
    /// A session ends.
    SessionEnd,
    /// A person sent a prompt.
    Prompt,
    /// The model is done.
    Stop,
    /// Room is about to be made in the context.
    PreCompact,
    /// Room was made in the context.
    PostCompact,
    /// A person is told something.
    Notification,
    /// A sub-agent begins.
    SubagentStart,
    /// A sub-agent is done.
    SubagentStop,
}

impl MomentKind {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::SessionStart,
        Self::SessionEnd,
        Self::Prompt,
        Self::Stop,
        Self::PreCompact,
        Self::PostCompact,
        Self::Notification,
        Self::SubagentStart,
        Self::SubagentStop,
    ];

    /// True when an answer can block what is about to happen.
    pub const fn can_block(self) -> bool {
        matches!(self, Self::Prompt | Self::Stop | Self::PreCompact | Self::SubagentStop)
    }
}

/// How a session begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SessionSource {
    /// As a new one.
    Startup,
    /// With what its journal holds.
    Resume,
    /// As a new one, after another was left.
    Clear,
    /// With a context that was made smaller.
    Compact,
}

impl SessionSource {
    /// Its name in the contract of hooks.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Resume => "resume",
            Self::Clear => "clear",
            Self::Compact => "compact",
        }
    }
}

/// A moment of a session, with what hooks are told about it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Moment {
    /// A session begins or goes on.
    SessionStart {
        /// How.
        source: SessionSource,
    },
    /// A session ends.
    SessionEnd {
        /// Why, in a word.
        reason: String,
    },
    /// A person sent a prompt, and the model has not seen it yet.
    Prompt {
        /// Its text.
        prompt: String,
    },
    /// The model is done, and the run would end.
    Stop {
        /// True when a hook kept the run from ending just before.
        continued: bool,
        /// The model's last words.
        last_message: String,
    },
    /// Room is about to be made in the context.
    PreCompact {
        /// Why.
        cause: CompactionCause,
    },
    /// Room was made in the context.
    PostCompact {
        /// Why.
        cause: CompactionCause,
        /// What stands for what was taken out; empty when nothing does.
        summary: String,
    },
    /// A person is told something.
    Notification {
        /// Of which kind, in a word.
        kind: String,
        /// What.
        message: String,
    },
    /// A sub-agent begins.
    SubagentStart {
        /// Its identity.
        agent_id: String,
        /// Its kind.
        agent_type: String,
    },
    /// A sub-agent is done.
    SubagentStop {
        /// Its identity.
        agent_id: String,
        /// Its kind.
        agent_type: String,
        /// True when a hook kept it from ending just before.
        continued: bool,
        /// Its last words.
        last_message: String,
    },
}

impl Moment {
    /// Its kind.
    pub const fn kind(&self) -> MomentKind {
        match self {
            Self::SessionStart { .. } => MomentKind::SessionStart,
            Self::SessionEnd { .. } => MomentKind::SessionEnd,
            Self::Prompt { .. } => MomentKind::Prompt,
            Self::Stop { .. } => MomentKind::Stop,
            Self::PreCompact { .. } => MomentKind::PreCompact,
            Self::PostCompact { .. } => MomentKind::PostCompact,
            Self::Notification { .. } => MomentKind::Notification,
            Self::SubagentStart { .. } => MomentKind::SubagentStart,
            Self::SubagentStop { .. } => MomentKind::SubagentStop,
        }
    }

    /// The texts in it that come from people, models and tools.
    pub fn texts_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let text = match self {
            Self::Prompt { prompt: text }
            | Self::Stop { last_message: text, .. }
            | Self::SubagentStop { last_message: text, .. }
            | Self::PostCompact { summary: text, .. }
            | Self::Notification { message: text, .. } => Some(text),
            _ => None,
        };
        text.into_iter()
    }
}

/// What the hooks of a moment say together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HookAnswer {
    /// It must not happen, for this reason. Counts only where [`MomentKind::can_block`].
    pub block: Option<String>,
    /// What the model is told besides.
    pub context: Vec<String>,
    /// The whole run must end, for this reason.
    pub stop: Option<String>,
}

impl HookAnswer {
    /// It must not happen.
    pub fn blocks(reason: impl Into<String>) -> Self {
        Self { block: Some(reason.into()), ..Self::default() }
    }

    /// The model is told something besides.
    pub fn tells(context: impl Into<String>) -> Self {
        Self { context: vec![context.into()], ..Self::default() }
    }

    /// The whole run must end.
    pub fn stops(reason: impl Into<String>) -> Self {
        Self { stop: Some(reason.into()), ..Self::default() }
    }

    /// What it means when telling a moment failed: it is blocked where it can be.
    pub fn failed(kind: MomentKind) -> Self {
        if kind.can_block() { Self::blocks("a hook failed") } else { Self::default() }
    }

    /// Every text in it.
    pub fn texts_mut(&mut self) -> impl Iterator<Item = &mut String> {
        self.block.iter_mut().chain(&mut self.context).chain(&mut self.stop)
    }
}

/// Whoever is told of the moments of a session.
pub trait SessionHooks: Send + Sync {
    /// Whether such moments should be told at all. The answer does not change while a session runs.
    fn wants(&self, kind: MomentKind) -> bool;

    /// Tells a moment and waits for the answer. The future is dropped when the run ends meanwhile.
    fn told<'a>(&'a self, session_id: &'a SessionId, moment: Moment) -> BoxFuture<'a, HookAnswer>;

    /// The reason why a hook about a call of a tool wants this run to end, if one does. Given once.
    fn take_stop(&self, loop_id: &LoopId) -> Option<String> {
        let _ = loop_id;
        None
    }
}
