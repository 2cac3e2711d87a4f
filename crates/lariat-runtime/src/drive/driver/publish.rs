//! Records events: collects durable ones in a batch, writes the batch to the journal, and publishes all
//! events in order.

use std::sync::Arc;

use lariat_core::event::{AgentEvent, Event, EventRecord, QueueKind};
use lariat_core::message::SharedMessage;
use lariat_core::planted::{Planted, planted};

use super::super::journal::Journal;
use super::super::questions;
use super::Driver;

/// A live event, and the number of durable events of the batch before it.
pub(super) struct Placed {
    after: usize,
    record: EventRecord,
}

impl Driver {
    pub(super) fn record(&mut self, mut record: EventRecord) {
        if record.is_durable() {
            if planted(Planted::PublishesBeforeAck) {
                self.journal.hub().publish(Arc::new(record.clone()));
            }
            self.batch.push(record);
        } else if self.batch.is_empty() {
            record.seq = self.journal.next_seq();
            self.journal.hub().publish(Arc::new(record));
        } else {
            self.published_late.push(Placed { after: self.batch.len(), record });
        }
    }

    pub(super) fn start_flush(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        self.in_flight.extend(batch.iter().filter_map(queued));
        let (journal, cancel) = (Arc::clone(&self.journal), self.handle.cancel.clone());
        let begun = self.begun;
        self.flush = Some(Box::pin(async move {
            let mut events = journal.append(batch, &cancel).await?;
            if let Some(last) = events.last_mut() {
                resolve_end(&journal, last, begun).await;
            }
            Ok(events)
        }));
    }

    /// Publishes a written batch, with the live events in their places.
    pub(super) fn publish_flushed(&mut self, events: Vec<Event>) {
        let mut late = std::mem::take(&mut self.published_late).into_iter().peekable();
        for (at, event) in events.into_iter().enumerate() {
            while let Some(placed) = late.next_if(|placed| placed.after <= at) {
                self.publish_live(placed.record, event.seq);
            }
            self.note(&event);
            if !planted(Planted::PublishesBeforeAck) {
                self.journal.hub().publish(event);
            }
        }
        let seq = self.journal.next_seq();
        late.for_each(|placed| self.publish_live(placed.record, seq));
    }

    fn publish_live(&self, mut record: EventRecord, seq: u64) {
        record.seq = seq;
        self.journal.hub().publish(Arc::new(record));
    }

    fn note(&mut self, event: &Event) {
        self.changes.see(&event.event);
        match &event.event {
            AgentEvent::AgentStart(_) => self.begun = Some(event.seq),
            AgentEvent::AgentEnd { messages, .. } => {
                self.messages = messages.iter().filter_map(|message| message.shared().cloned()).collect();
            }
            _ => {}
        }
        if let Some(answered) = self.questions.see(&event.event) {
            questions::tell(&*self.ports.policy, &answered);
        }
    }

    pub(super) fn record_live(&mut self, event: AgentEvent) {
        let record = self.run.live_record(event, self.ports.stamp());
        self.record(record);
    }
}

/// Returns the queued user message that an event saves.
pub(super) fn queued(record: &EventRecord) -> Option<(QueueKind, SharedMessage)> {
    match &record.event {
        AgentEvent::MessageQueued { queue, message } => Some((*queue, Arc::clone(message))),
        _ => None,
    }
}

/// Reads the messages of an ended loop back for observers: the loop's end refers to all of them, and
/// compaction may have dropped some from memory.
async fn resolve_end(journal: &Journal, last: &mut Event, begun: Option<u64>) {
    let AgentEvent::AgentEnd { messages, .. } = &last.event else { return };
    let Some(begun) = begun.filter(|_| messages.iter().any(|message| message.shared().is_none())) else {
        return;
    };
    // If the journal cannot be read, observers receive unresolved references; nothing is lost.
    let Ok(events) = journal.read_from(begun).await else { return };
    let mut resolver = lariat_core::event::Resolver::new();
    if let Some(resolved) = events.iter().map(|event| resolver.resolve(event)).last() {
        *last = resolved;
    }
}
