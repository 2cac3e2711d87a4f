//! Defines what a loop writes at once: durable events, and the live events between them.

use std::sync::Arc;

use lariat_core::event::{AgentEvent, Event, EventRecord};

use super::journal::Journal;

/// Events of one loop for one write. Observers receive them in this order.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// The durable events.
    pub(crate) records: Vec<EventRecord>,
    /// Live events, and the number of durable ones before each.
    live: Vec<(usize, EventRecord)>,
    /// The position of the loop's start, if it is known.
    pub(crate) loop_start: Option<u64>,
}

impl Batch {
    pub(crate) const fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Adds an event after those that were added before.
    pub(crate) fn push(&mut self, record: EventRecord) {
        if record.is_durable() {
            self.records.push(record);
        } else {
            self.live.push((self.records.len(), record));
        }
    }

    /// Takes the durable events and leaves what observers receive besides them.
    pub(super) fn take_records(&mut self) -> Vec<EventRecord> {
        std::mem::take(&mut self.records)
    }

    /// Publishes the written events, with the live ones in their places.
    pub(super) fn publish(self, journal: &Journal, events: &[Event]) {
        let publish_live = |mut record: EventRecord, seq: u64| {
            record.seq = seq;
            journal.hub().publish(Arc::new(record));
        };
        let mut live = self.live.into_iter().peekable();
        for (at, event) in events.iter().enumerate() {
            while let Some((_, record)) = live.next_if(|(after, _)| *after <= at) {
                publish_live(record, event.seq);
            }
            journal.hub().publish(Arc::clone(event));
        }
        live.for_each(|(_, record)| publish_live(record, journal.next_seq()));
    }

    /// Reads the messages of an ended loop back for observers: the loop's end refers to all of them, and
    /// compaction may have dropped some from memory.
    pub(super) async fn resolve_end(&self, journal: &Journal, events: &mut [Event]) {
        let Some(last) = events.last_mut() else { return };
        let AgentEvent::AgentEnd { messages, .. } = &last.event else { return };
        let is_unresolved = messages.iter().any(|message| message.shared().is_none());
        let Some(loop_start) = self.loop_start.filter(|_| is_unresolved) else { return };
        // If the journal cannot be read, observers receive unresolved references; nothing is lost.
        let Ok(written) = journal.read_from(loop_start).await else { return };
        let mut resolver = lariat_core::event::Resolver::new();
        let mut resolved = written.iter().map(|event| resolver.resolve(event));
        if let Some(resolved) = resolved.find(|event| event.id == last.id) {
            *last = resolved;
        }
    }
}

impl From<Vec<EventRecord>> for Batch {
    fn from(records: Vec<EventRecord>) -> Self {
        Self { records, ..Self::default() }
    }
}
