//! Records events: collects durable ones in a batch, writes the batch to the journal, and publishes all
//! events in order.

use std::sync::Arc;

use lariat_core::event::{AgentEvent, Event, EventRecord, QueueKind};
use lariat_core::message::SharedMessage;

use super::super::approvals;
use super::super::command::CommandReply;
use super::super::journal::Journal;
use super::Driver;

/// A live event, and the number of durable events of the batch before it.
pub(super) struct LateEvent {
    after: usize,
    record: EventRecord,
}

impl Driver {
    pub(super) fn record(&mut self, mut record: EventRecord) {
        if record.is_durable() {
            self.batch.push(record);
        } else if self.batch.is_empty() {
            record.seq = self.journal.next_seq();
            self.journal.hub().publish(Arc::new(record));
        } else {
            self.late_events.push(LateEvent { after: self.batch.len(), record });
        }
    }

    pub(super) fn start_flush(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        self.unsaved_messages.extend(batch.iter().filter_map(queued_message));
        let (journal, cancel) = (Arc::clone(&self.journal), self.handle.cancel.clone());
        let start_seq = self.start_seq;
        self.flush = Some(Box::pin(async move {
            let mut events = journal.append(batch, &cancel).await?;
            if let Some(last) = events.last_mut() {
                resolve_end(&journal, last, start_seq).await;
            }
            Ok(events)
        }));
    }

    /// Publishes a written batch, with the live events in their places.
    pub(super) fn publish_flushed(&mut self, events: Vec<Event>) {
        let mut late = std::mem::take(&mut self.late_events).into_iter().peekable();
        for (at, event) in events.into_iter().enumerate() {
            while let Some(late_event) = late.next_if(|late_event| late_event.after <= at) {
                self.publish_live(late_event.record, event.seq);
            }
            self.track(&event);
            self.journal.hub().publish(event);
        }
        let seq = self.journal.next_seq();
        late.for_each(|late_event| self.publish_live(late_event.record, seq));
    }

    fn publish_live(&self, mut record: EventRecord, seq: u64) {
        record.seq = seq;
        self.journal.hub().publish(Arc::new(record));
    }

    fn track(&mut self, event: &Event) {
        self.changes.observe(&event.event);
        match &event.event {
            AgentEvent::AgentStart(_) => self.start_seq = Some(event.seq),
            AgentEvent::AgentEnd { messages, .. } => {
                self.messages = messages.iter().filter_map(|message| message.shared().cloned()).collect();
            }
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

/// Reads the messages of an ended loop back for observers: the loop's end refers to all of them, and
/// compaction may have dropped some from memory.
async fn resolve_end(journal: &Journal, last: &mut Event, start_seq: Option<u64>) {
    let AgentEvent::AgentEnd { messages, .. } = &last.event else { return };
    let Some(start_seq) = start_seq.filter(|_| messages.iter().any(|message| message.shared().is_none()))
    else {
        return;
    };
    // If the journal cannot be read, observers receive unresolved references; nothing is lost.
    let Ok(events) = journal.read_from(start_seq).await else { return };
    let mut resolver = lariat_core::event::Resolver::new();
    if let Some(resolved) = events.iter().map(|event| resolver.resolve(event)).last() {
        *last = resolved;
    }
}
