//! The messages of the conversation as a tree, to list the user's messages and to say where a rewind leads.

use std::collections::HashMap;

use lariat_core::id::MessageId;

/// A message with the one before it.
#[derive(Clone, Debug)]
struct Node {
    before: Option<MessageId>,
    /// The text, if the user wrote it.
    user: Option<String>,
}

/// All messages, and the last one of the current conversation.
#[derive(Clone, Debug, Default)]
pub(super) struct Conversation {
    nodes: HashMap<MessageId, Node>,
    tip: Option<MessageId>,
}

impl Conversation {
    /// Adds a message after the current tip; `user` is its text if the user wrote it.
    pub(super) fn push(&mut self, id: MessageId, user: Option<String>) {
        if self.nodes.contains_key(&id) {
            return;
        }
        self.nodes.insert(id, Node { before: self.tip, user });
        self.tip = Some(id);
    }

    /// Continues from an earlier message, or from the start. An unknown message changes nothing.
    pub(super) fn rewind(&mut self, tip: Option<MessageId>) {
        if tip.is_none_or(|tip| self.nodes.contains_key(&tip)) {
            self.tip = tip;
        }
    }

    /// Removes a message from the current conversation.
    pub(super) fn remove(&mut self, id: MessageId) {
        let Some(before) = self.nodes.get(&id).map(|node| node.before) else { return };
        if self.tip == Some(id) {
            self.tip = before;
        }
        // The message itself keeps its place, so that a rewind to it still works.
        for (other, node) in &mut self.nodes {
            if node.before == Some(id) && *other != id {
                node.before = before;
            }
        }
    }

    /// The message before another one.
    pub(super) fn before(&self, id: MessageId) -> Option<MessageId> {
        self.nodes.get(&id).and_then(|node| node.before)
    }

    /// The user's messages of the current conversation, oldest first.
    pub(super) fn user_messages(&self) -> Vec<(MessageId, String)> {
        let mut messages: Vec<_> = self
            .from(self.tip)
            .filter_map(|(id, node)| node.user.as_ref().map(|text| (id, text.clone())))
            .collect();
        messages.reverse();
        messages
    }

    /// The last message of the user up to this one.
    pub(super) fn last_user_message(&self, at: MessageId) -> Option<&str> {
        self.from(Some(at)).find_map(|(_, node)| node.user.as_deref())
    }

    /// The messages from one back to the first.
    fn from(&self, at: Option<MessageId>) -> impl Iterator<Item = (MessageId, &Node)> {
        let node = |id: MessageId| self.nodes.get(&id).map(|node| (id, node));
        // A message comes after one that was there before it, so there is no circle.
        std::iter::successors(at.and_then(node), move |(_, before)| before.before.and_then(node))
    }
}

#[cfg(test)]
#[path = "conversation_tests.rs"]
mod tests;
