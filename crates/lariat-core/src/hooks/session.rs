//! The contract between a run and the hooks that the user configured for a session.
//!
//! A run calls hooks when a session starts, a prompt arrives, the model stops and so on ([`LifecycleEvent`]). Hooks
//! for tool calls are not included: the [permission policy](crate::permission::PermissionPolicy) calls those.
//! The contract is asynchronous, because a hook may be a program or a URL.
//!
//! Invariant: when no hook wants a moment, the run does not wait for it and writes nothing about it to the
//! journal.

use crate::BoxFuture;
use crate::compaction::CompactionCause;
use crate::id::{LoopId, SessionId};

/// When a hook can be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum LifecycleEventKind {
    /// A session starts or resumes.
    SessionStart,
    /// A session ends.
    SessionEnd,
    /// The user sent a prompt.
    Prompt,
    /// The model is done.
    Stop,
    /// The run is about to end with an error.
    StopFailure,
    /// Compaction is about to run.
    PreCompact,
    /// Compaction has run.
    PostCompact,
    /// The user receives a notification.
    Notification,
    /// A sub-agent starts.
    SubagentStart,
    /// A sub-agent is done.
    SubagentStop,
}

impl LifecycleEventKind {
    /// All kinds.
    pub const ALL: [Self; 10] = [
        Self::SessionStart,
        Self::SessionEnd,
        Self::Prompt,
        Self::Stop,
        Self::StopFailure,
        Self::PreCompact,
        Self::PostCompact,
        Self::Notification,
        Self::SubagentStart,
        Self::SubagentStop,
    ];

    /// Returns true if a hook can block what is about to happen.
    pub const fn can_block(self) -> bool {
        matches!(self, Self::Prompt | Self::Stop | Self::PreCompact | Self::SubagentStop)
    }
}

/// How a session starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SessionSource {
    /// A new session.
    Startup,
    /// Resumed from its journal.
    Resume,
    /// A new session, after the user cleared another.
    Clear,
    /// Continued with a compacted context.
    Compact,
}

impl SessionSource {
    /// Returns the name that hooks receive.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Resume => "resume",
            Self::Clear => "clear",
            Self::Compact => "compact",
        }
    }
}

/// A moment in a session at which hooks are called, with the data that they receive.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LifecycleEvent {
    /// A session starts or resumes.
    SessionStart {
        /// How the session starts.
        source: SessionSource,
    },
    /// A session ends.
    SessionEnd {
        /// Reason, as one word.
        reason: String,
    },
    /// The user sent a prompt that the model has not received yet.
    Prompt {
        /// Text of the prompt.
        prompt: String,
    },
    /// The run is about to end with an error. The answer is ignored.
    StopFailure {
        /// Kind of the error, as one word.
        kind: String,
        /// Text of the error.
        error: String,
        /// Text of the model's last message.
        last_message: String,
    },
    /// The model is done and the run is about to end.
    Stop {
        /// True if a hook kept the run from ending just before.
        continued: bool,
        /// Text of the model's last message.
        last_message: String,
    },
    /// Compaction is about to run.
    PreCompact {
        /// Why compaction runs.
        cause: CompactionCause,
    },
    /// Compaction has run.
    PostCompact {
        /// Why compaction ran.
        cause: CompactionCause,
        /// The summary that replaces the removed messages; empty if there is none.
        summary: String,
    },
    /// The user receives a notification.
    Notification {
        /// Kind of the notification, as one word.
        kind: String,
        /// Text of the notification.
        message: String,
    },
    /// A sub-agent starts.
    SubagentStart {
        /// Id of the sub-agent.
        agent_id: String,
        /// Type of the sub-agent.
        agent_type: String,
    },
    /// A sub-agent is done.
    SubagentStop {
        /// Id of the sub-agent.
        agent_id: String,
        /// Type of the sub-agent.
        agent_type: String,
        /// True if a hook kept the sub-agent from ending just before.
        continued: bool,
        /// Text of the sub-agent's last message.
        last_message: String,
    },
}

impl LifecycleEvent {
    /// Returns the kind of this moment.
    pub const fn kind(&self) -> LifecycleEventKind {
        match self {
            Self::SessionStart { .. } => LifecycleEventKind::SessionStart,
            Self::SessionEnd { .. } => LifecycleEventKind::SessionEnd,
            Self::Prompt { .. } => LifecycleEventKind::Prompt,
            Self::Stop { .. } => LifecycleEventKind::Stop,
            Self::StopFailure { .. } => LifecycleEventKind::StopFailure,
            Self::PreCompact { .. } => LifecycleEventKind::PreCompact,
            Self::PostCompact { .. } => LifecycleEventKind::PostCompact,
            Self::Notification { .. } => LifecycleEventKind::Notification,
            Self::SubagentStart { .. } => LifecycleEventKind::SubagentStart,
            Self::SubagentStop { .. } => LifecycleEventKind::SubagentStop,
        }
    }

    /// Returns the texts that come from users, models and tools.
    pub fn texts_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let (text, more) = match self {
            Self::StopFailure { error, last_message, .. } => (Some(error), Some(last_message)),
            Self::Prompt { prompt: text }
            | Self::Stop { last_message: text, .. }
            | Self::SubagentStop { last_message: text, .. }
            | Self::PostCompact { summary: text, .. }
            | Self::Notification { message: text, .. } => (Some(text), None),
            _ => (None, None),
        };
        text.into_iter().chain(more)
    }
}

/// The combined answer of all hooks of a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HookAnswer {
    /// Block what is about to happen, for this reason. Ignored unless [`LifecycleEventKind::can_block`].
    pub block: Option<String>,
    /// Additional texts for the model.
    pub context: Vec<String>,
    /// End the whole run, for this reason.
    pub stop: Option<String>,
    /// Messages for the user. The model does not receive them.
    pub messages: Vec<String>,
}

impl HookAnswer {
    /// Creates an answer that blocks what is about to happen.
    pub fn block(reason: impl Into<String>) -> Self {
        Self { block: Some(reason.into()), ..Self::default() }
    }

    /// Creates an answer that adds a text for the model.
    pub fn add_context(context: impl Into<String>) -> Self {
        Self { context: vec![context.into()], ..Self::default() }
    }

    /// Creates an answer that ends the whole run.
    pub fn stop(reason: impl Into<String>) -> Self {
        Self { stop: Some(reason.into()), ..Self::default() }
    }

    /// Returns the answer to use when a hook failed: block where that is possible.
    pub fn of_failed_hook(kind: LifecycleEventKind) -> Self {
        if kind.can_block() { Self::block("a hook failed") } else { Self::default() }
    }

    /// Returns every text of the answer.
    pub fn texts_mut(&mut self) -> impl Iterator<Item = &mut String> {
        self.block.iter_mut().chain(&mut self.context).chain(&mut self.stop).chain(&mut self.messages)
    }
}

/// Calls the hooks of a session.
pub trait SessionHooks: Send + Sync {
    /// Returns whether a hook wants moments of this kind. The answer does not change while a session runs.
    fn wants(&self, kind: LifecycleEventKind) -> bool;

    /// Calls the hooks of a moment and waits for their answer. The run drops the future if it ends first.
    fn notify<'a>(&'a self, session_id: &'a SessionId, moment: LifecycleEvent) -> BoxFuture<'a, HookAnswer>;

    /// Returns the reason if a tool call hook wants this run to end. Returns it only once.
    fn take_stop(&self, loop_id: &LoopId) -> Option<String> {
        let _ = loop_id;
        None
    }

    /// Returns the messages for the user from tool call hooks of this run. Returns each only once.
    fn take_messages(&self, loop_id: &LoopId) -> Vec<String> {
        let _ = loop_id;
        Vec::new()
    }
}
