//! What compaction must leave as it is.
//!
//! Owns the rule, once, for strategies that keep to it and for the machine that enforces it: a person's own words,
//! pinned messages, the head and the recent tail. In a small window the tail is shorter: what stays must leave room.

use std::collections::{BTreeSet, HashSet};

use super::message_tokens;
use crate::config::ContextConfig;
use crate::id::MessageId;
use crate::message::{AgentMessage, Origin};
use crate::transcript::Window;

/// Share of the window, in percent, that the tail may take. What the model has not answered yet stays whatever it takes.
const TAIL_PERCENT: u64 = 25;

/// The messages that must stay as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verbatim {
    ids: HashSet<MessageId>,
}

impl Verbatim {
    /// Those of a conversation.
    pub fn of(window: &Window, config: &ContextConfig, pins: &BTreeSet<MessageId>) -> Self {
        let tail = window.len() - tail_length(window, config);
        let stays = |at: usize, message: &AgentMessage| {
            let origin = message.as_user().map(|user| &user.origin);
            // A summary stands for what was compacted before: it is no beginning, and the next one takes it in.
            let head = at < config.keep_first && origin != Some(&Origin::Summary);
            head || at >= tail || origin.is_some_and(Origin::is_person) || pins.contains(&message.id())
        };
        let kept = window.iter().enumerate().filter(|(at, message)| stays(*at, message));
        Self { ids: kept.map(|(_, message)| message.id()).collect() }
    }

    /// Whether a message must stay as it is.
    pub fn contains(&self, id: MessageId) -> bool {
        self.ids.contains(&id)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// True when everything may go.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}

/// Messages of the recent tail.
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
