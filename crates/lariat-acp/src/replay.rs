//! Rebuilds the conversation of a session for an editor that opens it.
//!
//! The editor gets the conversation as it is now: without the messages that a rewind left behind and without removed ones.
//! The updates of the whole conversation are in memory until the end of the log is known.

use lariat_core::event::{AgentEvent, EventRecord};
use lariat_core::id::MessageId;

use crate::transcript::Transcript;
use crate::wire::Update;

/// The updates of a conversation, by message.
#[derive(Default)]
pub(crate) struct Replay {
    parts: Vec<(Option<MessageId>, Vec<Update>)>,
    /// The newest task list.
    plan: Option<Update>,
}

impl Replay {
    /// Includes an event.
    pub(crate) fn apply(&mut self, record: &EventRecord, transcript: &mut Transcript) {
        match &record.event {
            AgentEvent::Rewound { tip } => return self.rewind(*tip),
            AgentEvent::AgentStart(start) if start.base.is_some() => self.rewind(start.base),
            AgentEvent::MessageRemoved { message_id } => {
                self.parts.retain(|(id, _)| *id != Some(*message_id));
            }
            _ => {}
        }
        let mut updates = transcript.durable(record);
        if let Some(at) = updates.iter().rposition(|update| matches!(update, Update::Plan { .. })) {
            self.plan = Some(updates.swap_remove(at));
        }
        match &record.event {
            AgentEvent::MessageEnd { message } => self.parts.push((Some(message.id()), updates)),
            AgentEvent::MessagesImported { messages, .. } => {
                self.parts.push((messages.last().map(|message| message.id()), updates));
            }
            _ => match self.parts.last_mut() {
                Some((_, newest)) => newest.append(&mut updates),
                None => self.parts.push((None, updates)),
            },
        }
    }

    /// Leaves out what is after a message, or everything without one.
    fn rewind(&mut self, tip: Option<MessageId>) {
        match tip {
            None => self.parts.clear(),
            Some(_) => {
                if let Some(at) = self.parts.iter().rposition(|(id, _)| *id == tip) {
                    self.parts.truncate(at + 1);
                }
            }
        }
    }

    /// The updates in order, and the task list last.
    pub(crate) fn finish(self) -> impl Iterator<Item = Update> {
        self.parts.into_iter().flat_map(|(_, updates)| updates).chain(self.plan)
    }
}
