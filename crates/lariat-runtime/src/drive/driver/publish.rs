//! Records events: collects durable ones in a batch and lets the journal write and publish it.

use std::sync::Arc;

use lariat_core::event::{AgentEvent, Event, EventRecord, QueueKind};
use lariat_core::message::SharedMessage;

use super::super::approvals;
use super::super::command::CommandReply;
use super::Driver;

impl Driver {
    pub(super) fn record(&mut self, mut record: EventRecord) {
        if record.is_durable() || !self.batch.is_empty() {
            self.batch.push(record);
        } else {
            record.seq = self.journal.next_seq();
            self.journal.hub().publish(Arc::new(record));
        }
    }

    pub(super) fn start_flush(&mut self) {
        let mut batch = std::mem::take(&mut self.batch);
        self.unsaved_messages.extend(batch.records.iter().filter_map(queued_message));
        batch.loop_start = self.start_seq;
        let (journal, cancel) = (Arc::clone(&self.journal), self.handle.cancel.clone());
        self.flush = Some(Box::pin(async move { journal.append_batch(batch, &cancel).await }));
    }

    /// Takes note of a written batch, which the journal has published.
    pub(super) fn take_flushed(&mut self, events: &[Event]) {
        self.written = events.last().map_or(self.written, |last| last.seq + 1);
        events.iter().for_each(|event| self.track(event));
    }

    fn track(&mut self, event: &Event) {
        self.changes.observe(&event.event);
        match &event.event {
            AgentEvent::AgentStart(_) => self.start_seq = Some(event.seq),
            AgentEvent::AgentEnd { messages, .. } => {
                self.messages = messages.iter().filter_map(|message| message.shared().cloned()).collect();
            }
            AgentEvent::FindingShared(finding) => self.share_finding(finding),
            AgentEvent::CommandAccepted(command) => {
                let at = self.unacknowledged.iter().position(|(id, _)| *id == command.command_id);
                if let Some((_, reply)) = at.map(|at| self.unacknowledged.remove(at)) {
                    let _ = reply.send(CommandReply::Recorded(event.seq));
                }
            }
            _ => {}
        }
        if let Some(answered) = self.approvals.observe(&event.event) {
            approvals::deliver(&*self.ports.policy, &answered);
            self.answer_tool(&answered.0, &answered.1);
        }
    }

    pub(super) fn record_live(&mut self, event: AgentEvent) {
        let record = self.run.live_record(event, self.ports.stamp());
        self.record(record);
    }
}

/// Returns the queued user message that an event saves.
pub(super) fn queued_message(record: &EventRecord) -> Option<(QueueKind, SharedMessage)> {
    match &record.event {
        AgentEvent::MessageQueued { queue, message } => Some((*queue, Arc::clone(message))),
        _ => None,
    }
}
