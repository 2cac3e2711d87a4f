//! The event hub: no durable event is lost, repeated or delivered out of order, and no subscriber waits for ever.

use ::std::sync::Arc;

use lariat_core::event::{AgentEvent, Event, EventRecord, FORMAT_VERSION, TurnTrigger};
use lariat_core::id::{EventId, LoopId, SessionId};
use lariat_core::store::{Append, SessionStore};
use lariat_core::time::Timestamp;
use shuttle::future::block_on;
use shuttle::thread;

use crate::memory::MemoryStore;
use crate::observe::{EventHub, Subscription, SubscriptionEnd};

/// Durable events of a session.
const EVENTS: u64 = 4;

/// A session whose events one thread appends and publishes.
struct Session {
    store: Arc<MemoryStore>,
    hub: Arc<EventHub>,
    id: SessionId,
}

impl Session {
    fn new() -> Self {
        let (store, id) = (Arc::new(MemoryStore::new()), SessionId::from("s"));
        let hub = Arc::new(EventHub::new(store.clone(), id.clone()));
        Self { store, hub, id }
    }

    /// Appends and publishes every event, with a live event after each, then closes the hub.
    fn publish_all(self) {
        block_on(async {
            let Ok(epoch) = self.store.claim(&self.id).await else {
                panic!("nothing else claims the session")
            };
            for seq in 0..EVENTS {
                let turn = AgentEvent::TurnStart { turn_index: 0, triggered_by: TurnTrigger::User };
                let event = self.event(seq, turn);
                let append = Append::new(&self.id, epoch, seq, ::std::slice::from_ref(&event));
                assert!(self.store.append(append).await.is_ok(), "the store has room");
                self.hub.publish(event);
                let text = format!("after {seq}");
                let live =
                    AgentEvent::ProgressMessage { tool_call_id: "c".into(), tool_name: "t".into(), text };
                self.hub.publish(self.event(seq + 1, live));
            }
        });
        self.hub.close();
    }

    fn event(&self, seq: u64, event: AgentEvent) -> Event {
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

/// Receives until the end. Checks that durable events have no gap and that live events are not before durable ones that were published
/// earlier. Returns the first position, if there was one.
fn receive_all(mut events: Subscription) -> Option<u64> {
    let (mut first, mut next) = (None, None);
    loop {
        match block_on(events.recv()) {
            Ok(event) if event.is_durable() => {
                assert!(next.is_none_or(|next| next == event.seq), "{} after {next:?}", event.seq);
                first = first.or(Some(event.seq));
                next = Some(event.seq + 1);
            }
            Ok(live) => assert!(next.is_none_or(|next| next == live.seq), "live {} at {next:?}", live.seq),
            Err(end) => {
                assert_eq!(end, SubscriptionEnd::Ended);
                assert!(next.is_none_or(|next| next == EVENTS), "ended at {next:?}");
                return first;
            }
        }
    }
}

/// A subscriber with room for one event reads the rest from the journal.
pub(crate) fn slow_subscriber_gets_every_durable_event_in_order() {
    let session = Session::new();
    let events = session.hub.subscribe_from(1, 0);
    let publisher = thread::spawn(move || session.publish_all());
    assert_eq!(receive_all(events), Some(0));
    assert!(publisher.join().is_ok());
}

/// A subscriber that joins at any time gets everything after its position, and one that starts with the journal gets everything.
pub(crate) fn subscriber_that_joins_misses_nothing_after_its_position() {
    let session = Session::new();
    let hub = Arc::clone(&session.hub);
    let publisher = thread::spawn(move || session.publish_all());
    let whole = hub.subscribe_from(2, 0);
    let joined = thread::spawn(move || {
        let events = hub.subscribe(1);
        let (begin, first) = (events.position(), receive_all(events));
        // Without a position, nothing had been published.
        let begin = begin.unwrap_or(0);
        assert_eq!(first, (begin < EVENTS).then_some(begin));
    });
    assert_eq!(receive_all(whole), Some(0));
    assert!(publisher.join().is_ok() && joined.join().is_ok());
}
