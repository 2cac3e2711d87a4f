//! What observers can rely on, tested without a clock: the tests poll futures by hand.

mod delivery;
mod pressure;
mod replay;
mod schedules;

use std::sync::Arc;
use std::sync::Mutex;

use futures_util::future::FutureExt;
use lariat_core::BoxFuture;
use lariat_core::event::{
    AgentEvent, Event, EventRecord, FORMAT_VERSION, MessageRef, StreamDelta, TurnTrigger,
};
use lariat_core::id::{EventId, LoopId, MessageId, SessionId};
use lariat_core::store::{Ack, Append, BlobHash, Epoch, SessionStore, StoreError};
use lariat_core::time::Timestamp;

use super::{EventHub, Subscription, SubscriptionEnd};
use crate::memory::MemoryStore;

/// A journal, the hub in front of it, and the position of both.
struct Session {
    store: Arc<UnreliableStore>,
    hub: Arc<EventHub>,
    id: SessionId,
    epoch: Epoch,
    journal: Vec<Event>,
    published: usize,
}

impl Session {
    fn new() -> Self {
        Self::with_history(0)
    }

    /// Creates a session whose journal has events from before the hub was created.
    fn with_history(events: u64) -> Self {
        let (store, id) = (Arc::new(UnreliableStore::default()), SessionId::from("s"));
        let epoch = store.claim(&id).now_or_never().unwrap().unwrap();
        let hub = Arc::new(EventHub::new(store.clone(), id.clone()));
        let mut session = Self { store, hub, id, epoch, journal: Vec::new(), published: 0 };
        (0..events).for_each(|_| session.append(turn()));
        session.published = session.journal.len();
        session
    }

    fn next_seq(&self) -> u64 {
        self.journal.len() as u64
    }

    /// Appends a durable event, acknowledged but not yet published.
    fn append(&mut self, event: AgentEvent) {
        let event = self.record(self.next_seq(), event);
        let append = Append::new(&self.id, self.epoch, self.next_seq(), std::slice::from_ref(&event));
        self.store.append(append).now_or_never().unwrap().unwrap();
        self.journal.push(event);
    }

    /// Publishes the first unpublished durable event; returns false if there is none.
    fn publish_next(&mut self) -> bool {
        let Some(event) = self.journal.get(self.published) else { return false };
        self.published += 1;
        self.hub.publish(event.clone());
        true
    }

    fn durable(&mut self, event: AgentEvent) {
        self.append(event);
        while self.publish_next() {}
    }

    fn live(&self, event: AgentEvent) {
        self.hub.publish(self.record(self.published as u64, event));
    }

    fn record(&self, seq: u64, event: AgentEvent) -> Event {
        Arc::new(EventRecord {
            v: FORMAT_VERSION,
            seq,
            id: EventId::default(),
            timestamp: Timestamp::from_millis(seq),
            loop_id: Some(LoopId::compose(&self.id, "c", 0)),
            event,
        })
    }
}

fn turn() -> AgentEvent {
    AgentEvent::TurnStart { turn_index: 0, triggered_by: TurnTrigger::User }
}

fn message_id(n: u128) -> MessageId {
    MessageId::new(uuid::Uuid::from_u128(n))
}

fn text(message: u128, delta: impl Into<String>) -> AgentEvent {
    let message = MessageRef::unresolved(message_id(message));
    AgentEvent::MessageUpdate { message, delta: StreamDelta::Text { delta: delta.into() } }
}

fn progress(call: &str, text: &str) -> AgentEvent {
    AgentEvent::ProgressMessage { tool_call_id: call.into(), tool_name: "t".into(), text: text.into() }
}

/// Polls once, with a waker that does nothing.
fn poll(subscription: &mut Subscription) -> Option<Result<Event, SubscriptionEnd>> {
    subscription.recv().now_or_never()
}

/// Receives everything available without waiting; polls again after a read that yields.
fn drain(subscription: &mut Subscription) -> Vec<Event> {
    let (mut events, mut idle) = (Vec::new(), 0);
    while idle < 100 {
        match poll(subscription) {
            Some(Ok(event)) => {
                events.push(event);
                idle = 0;
            }
            Some(Err(_)) => break,
            None => idle += 1,
        }
    }
    events
}

fn durable_seqs(events: &[Event]) -> Vec<u64> {
    events.iter().filter(|event| event.is_durable()).map(|event| event.seq).collect()
}

/// A memory store that behaves like one across a network: slow, sometimes failing, and with serialised
/// events.
#[derive(Default)]
struct UnreliableStore {
    inner: MemoryStore,
    reads: Mutex<Reads>,
}

type DuringRead = Box<dyn FnOnce(&MemoryStore) + Send>;

#[derive(Default)]
struct Reads {
    /// Errors for the next reads.
    failures: Vec<StoreError>,
    /// State of a random generator for the number of polls before and after reading the events; 0 for none.
    delays: u64,
    /// Whether events are serialised and parsed again, which detaches the content of references.
    serialised: bool,
    /// Whether events come last first, against the contract.
    reversed: bool,
    /// An action that runs between reading the journal and returning the result.
    meanwhile: Option<DuringRead>,
    /// Number of calls of `read` so far.
    count: usize,
}

impl UnreliableStore {
    fn reads(&self) -> std::sync::MutexGuard<'_, Reads> {
        self.reads.lock().unwrap()
    }
}

impl Reads {
    fn delay(&mut self) -> u64 {
        if self.delays == 0 { 0 } else { random(&mut self.delays) % 3 }
    }
}

impl SessionStore for UnreliableStore {
    fn claim<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<Epoch, StoreError>> {
        self.inner.claim(session_id)
    }

    fn release<'a>(
        &'a self,
        session_id: &'a SessionId,
        epoch: Epoch,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.inner.release(session_id, epoch)
    }

    fn append<'a>(&'a self, append: Append<'a>) -> BoxFuture<'a, Result<Ack, StoreError>> {
        self.inner.append(append)
    }

    fn read<'a>(
        &'a self,
        session_id: &'a SessionId,
        from_seq: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Event>, StoreError>> {
        Box::pin(async move {
            let (before, after, failure, serialised) = {
                let mut reads = self.reads();
                reads.count += 1;
                (reads.delay(), reads.delay(), reads.failures.pop(), reads.serialised)
            };
            pause(before).await;
            if let Some(failure) = failure {
                return Err(failure);
            }
            let mut events = self.inner.read(session_id, from_seq, limit).await?;
            if serialised {
                events.iter_mut().for_each(|event| *event = Arc::new(reparsed(event)));
            }
            if self.reads().reversed {
                events.reverse();
            }
            let meanwhile = self.reads().meanwhile.take();
            meanwhile.into_iter().for_each(|happens| happens(&self.inner));
            pause(after).await;
            Ok(events)
        })
    }

    fn head<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<u64, StoreError>> {
        self.inner.head(session_id)
    }

    fn put_blob<'a>(&'a self, bytes: &'a [u8]) -> BoxFuture<'a, Result<BlobHash, StoreError>> {
        self.inner.put_blob(bytes)
    }

    fn blob<'a>(&'a self, hash: &'a BlobHash) -> BoxFuture<'a, Result<Vec<u8>, StoreError>> {
        self.inner.blob(hash)
    }
}

fn reparsed(event: &Event) -> EventRecord {
    EventRecord::from_json(&serde_json::to_vec(&**event).unwrap()).unwrap()
}

async fn pause(polls: u64) {
    for _ in 0..polls {
        let mut passed = false;
        std::future::poll_fn(|context| {
            if std::mem::replace(&mut passed, true) {
                return std::task::Poll::Ready(());
            }
            context.waker().wake_by_ref();
            std::task::Poll::Pending
        })
        .await;
    }
}

/// xorshift64: random enough to vary a schedule.
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}
