//! What compaction must leave as it is.
//!
//! Owns the rule, once, for strategies that keep to it and for the machine that enforces it: a person's own words,
//! pinned messages, the head and the recent tail.

use std::collections::{BTreeSet, HashSet};

use crate::config::ContextConfig;
use crate::id::MessageId;
use crate::message::{AgentMessage, Origin};
use crate::transcript::Window;

/// The messages that must stay as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verbatim {
    ids: HashSet<MessageId>,
}

impl Verbatim {
    /// Those of a conversation.
    pub fn of(window: &Window, config: &ContextConfig, pins: &BTreeSet<MessageId>) -> Self {
        let tail = window.len().saturating_sub(config.keep_recent);
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
