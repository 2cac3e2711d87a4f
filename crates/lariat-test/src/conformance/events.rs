//! Creates events like those of a run, with reproducible ids and times.

use std::sync::Arc;
use std::time::Duration;

use lariat_core::event::{AgentEvent, Description, Event, EventRecord, FORMAT_VERSION, RecordedMessage};
use lariat_core::id::{EventId, MessageId, SessionId};
use lariat_core::message::AgentMessage;
use lariat_core::store::{Append, Epoch, SessionStore};
use lariat_core::time::{Minter, Stamp, Timestamp};

/// A writer: its claim, its position, and how it makes events.
pub struct Script {
    /// The session.
    pub session_id: SessionId,
    /// The writer's epoch.
    pub epoch: Epoch,
    /// Everything written so far, for comparison.
    pub written: Vec<Event>,
    minter: Minter,
    now: Timestamp,
}

impl Script {
    /// Claims a session. Its events start at `at` milliseconds and are one second apart.
    pub async fn claim(store: &dyn SessionStore, session: &str, at: u64) -> Self {
        let session_id = SessionId::from(session);
        let epoch = store.claim(&session_id).await.unwrap();
        let now = Timestamp::from_millis(at);
        let mut minter = Minter::default();
        let entropy =
            session.bytes().fold(at ^ epoch.0, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        minter.stamp(Stamp { now, entropy });
        Self { session_id, epoch, written: Vec::new(), minter, now }
    }

    /// Adopts what is already in the journal, as a fork needs.
    pub async fn catch_up(&mut self, store: &dyn SessionStore) {
        self.written = store.read(&self.session_id, 0, usize::MAX).await.unwrap();
    }

    /// Creates the next events of these kinds without writing them.
    pub fn make(&mut self, kinds: impl IntoIterator<Item = AgentEvent>) -> Vec<Event> {
        let first = self.written.len() as u64;
        let number = |(event, seq): (AgentEvent, u64)| {
            self.now = self.now.after(Duration::from_secs(1));
            let event = match event {
                AgentEvent::MessageEnd { message: RecordedMessage::Full(message) }
                    if message.id().is_nil() =>
                {
                    let mut named = AgentMessage::clone(&message);
                    named.assign_id(|| MessageId::new(self.minter.uuid()));
                    AgentEvent::MessageEnd { message: RecordedMessage::Full(Arc::new(named)) }
                }
                other => other,
            };
            let id = EventId::new(self.minter.uuid());
            Arc::new(EventRecord { v: FORMAT_VERSION, seq, id, timestamp: self.now, loop_id: None, event })
        };
        kinds.into_iter().zip(first..).map(number).collect()
    }

    /// Writes events of these kinds. Panics unless the store acknowledges them.
    pub async fn write(&mut self, store: &dyn SessionStore, kinds: impl IntoIterator<Item = AgentEvent>) {
        let events = self.make(kinds);
        let first = self.written.len() as u64;
        let ack = store.append(Append::new(&self.session_id, self.epoch, first, &events)).await.unwrap();
        self.written.extend(events);
        assert_eq!(ack.next_seq, self.written.len() as u64);
    }

    /// Checks that the journal has exactly what was written.
    pub async fn check(&self, store: &dyn SessionStore) {
        assert_eq!(store.head(&self.session_id).await.unwrap(), self.written.len() as u64);
        let read = store.read(&self.session_id, 0, usize::MAX).await.unwrap();
        assert_eq!(read.len(), self.written.len());
        for (read, written) in read.iter().zip(&self.written) {
            assert_eq!(read, written);
        }
    }
}

/// An event in which the user says this.
pub fn message_event(text: &str) -> AgentEvent {
    AgentEvent::MessageEnd { message: RecordedMessage::Full(Arc::new(AgentMessage::user(text))) }
}

/// An event that sets title, directory and tags of the session.
pub fn description_event(title: Option<&str>, cwd: Option<&str>, tags: Option<&[&str]>) -> AgentEvent {
    let mut description = Description::default();
    description.title = title.map(str::to_owned);
    description.cwd = cwd.map(str::to_owned);
    description.tags = tags.map(|tags| tags.iter().map(|tag| (*tag).to_owned()).collect());
    AgentEvent::SessionDescribed(Box::new(description))
}
