//! Rebuilds the conversation of a session for an editor that opens it.
//!
//! The editor gets the conversation as it is now: without the messages that a rewind left behind and without removed ones. What
//! a log leaves behind is known only at its end, so the log is read twice: a [`Survey`] finds the positions to leave out, then
//! a [`Replay`] turns the rest into updates, one event at a time. The only thing in memory that grows with the session is the
//! position of each message, during the survey.

use std::ops::Range;

use lariat_core::event::{AgentEvent, EventRecord};
use lariat_core::id::MessageId;

use crate::transcript::EditorTranscript;
use crate::wire::Update;

/// Finds what a log leaves behind.
#[derive(Default)]
pub(crate) struct Survey {
    /// The messages of the conversation, each with the position where it begins.
    messages: Vec<(MessageId, u64)>,
    left_out: Vec<Range<u64>>,
}

/// The positions of events that are not part of the conversation: in order, without overlaps.
#[derive(Debug)]
pub(crate) struct LeftOut(Vec<Range<u64>>);

impl Survey {
    /// Includes an event.
    pub(crate) fn apply(&mut self, record: &EventRecord) {
        match &record.event {
            AgentEvent::Rewound { tip } => {
                self.rewind(*tip, record.seq);
                // Not a message about a rewind that the editor does not see.
                self.left_out.push(record.seq..record.seq + 1);
            }
            AgentEvent::AgentStart(start) if start.base.is_some() => self.rewind(start.base, record.seq),
            AgentEvent::MessageRemoved { message_id } => self.remove(*message_id, record.seq),
            AgentEvent::MessageEnd { message } => self.messages.push((message.id(), record.seq)),
            AgentEvent::MessagesImported { messages, .. } => {
                self.messages.extend(messages.last().map(|message| (message.id(), record.seq)));
            }
            _ => {}
        }
    }

    /// Leaves out what is after a message, or everything without one.
    fn rewind(&mut self, tip: Option<MessageId>, now: u64) {
        let kept = match tip {
            None => 0,
            Some(tip) => match self.messages.iter().rposition(|(id, _)| *id == tip) {
                Some(at) => at + 1,
                None => return,
            },
        };
        let from = if tip.is_none() { Some(0) } else { self.messages.get(kept).map(|(_, seq)| *seq) };
        self.left_out.extend(from.map(|from| from..now));
        self.messages.truncate(kept);
    }

    /// Leaves out a message and what belongs to it.
    fn remove(&mut self, message: MessageId, now: u64) {
        while let Some(at) = self.messages.iter().rposition(|(id, _)| *id == message) {
            let (_, from) = self.messages.remove(at);
            let to = self.messages.get(at).map_or(now, |(_, next)| *next);
            self.left_out.push(from..to);
        }
    }

    /// Returns what the whole log leaves behind.
    pub(crate) fn finish(mut self) -> LeftOut {
        self.left_out.sort_unstable_by_key(|range| range.start);
        let mut merged: Vec<Range<u64>> = Vec::new();
        for range in self.left_out {
            match merged.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        LeftOut(merged)
    }
}

impl LeftOut {
    fn has(&self, seq: u64) -> bool {
        let at = self.0.partition_point(|range| range.end <= seq);
        self.0.get(at).is_some_and(|range| range.contains(&seq))
    }
}

/// Turns events into the updates of the conversation.
pub(crate) struct Replay {
    left_out: LeftOut,
    /// The newest task list.
    plan: Option<Update>,
}

impl Replay {
    pub(crate) const fn new(left_out: LeftOut) -> Self {
        Self { left_out, plan: None }
    }

    /// Returns the updates for the next event.
    pub(crate) fn updates(&mut self, record: &EventRecord, transcript: &mut EditorTranscript) -> Vec<Update> {
        let mut updates = transcript.durable(record);
        if let Some(at) = updates.iter().rposition(|update| matches!(update, Update::Plan { .. })) {
            self.plan = Some(updates.swap_remove(at));
        }
        if self.left_out.has(record.seq) { Vec::new() } else { updates }
    }

    /// Returns the newest task list, which comes last.
    pub(crate) fn finish(self) -> Option<Update> {
        self.plan
    }
}
