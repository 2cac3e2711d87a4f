//! Determines the messages that compaction must not change.
//!
//! Strategies follow this rule and the machine enforces it: the user's own messages, pinned messages, the
//! first messages and the newest messages stay unchanged. In a small window fewer of the newest messages
//! stay, so that compaction remains possible.

use std::collections::{BTreeSet, HashSet};

use super::message_tokens;
use crate::config::ContextConfig;
use crate::id::MessageId;
use crate::message::{AgentMessage, Origin};
use crate::transcript::Window;

/// Percentage of the window that the newest messages may use. Messages that the model has not answered yet
/// always stay.
const TAIL_PERCENT: u64 = 25;

/// The messages that compaction must not change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerbatimMessages {
    ids: HashSet<MessageId>,
}

impl VerbatimMessages {
    /// Determines the messages of a conversation.
    pub fn of(window: &Window, config: &ContextConfig, pins: &BTreeSet<MessageId>) -> Self {
        let tail = window.len() - tail_length(window, config);
        let stays = |at: usize, message: &AgentMessage| {
            let origin = message.as_user().map(|user| &user.origin);
            // A summary is not part of the start of a conversation: the next summary replaces it.
            let head = at < config.keep_first && origin != Some(&Origin::Summary);
            head || at >= tail || origin.is_some_and(Origin::is_from_user) || pins.contains(&message.id())
        };
        let kept = window.iter().enumerate().filter(|(at, message)| stays(*at, message));
        Self { ids: kept.map(|(_, message)| message.id()).collect() }
    }

    /// Returns whether a message must stay unchanged.
    pub fn contains(&self, id: MessageId) -> bool {
        self.ids.contains(&id)
    }

    /// Returns the number of such messages.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Returns true if every message may be changed.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}

/// Returns the number of newest messages that stay.
fn tail_length(window: &Window, config: &ContextConfig) -> usize {
    let most = (config.max_context_tokens as u64).saturating_mul(TAIL_PERCENT) / 100;
    let (mut tokens, mut unanswered) = (0, true);
    let recent = window.iter_back().take(config.keep_recent).take_while(|message| {
        tokens += message_tokens(message);
        let stays = unanswered || tokens <= most;
        unanswered &= message.as_assistant().is_none();
        stays
    });
    recent.count()
}

#[cfg(test)]
#[path = "verbatim_tests.rs"]
mod tests;
