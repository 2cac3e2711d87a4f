//! Publishes the events of a session to all subscribers.
//!
//! Holds the list of subscribers and the position up to which the journal was published. Publishing takes a
//! short lock per subscriber and wakes consumers after releasing all locks, so that a waker may call the hub.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use lariat_core::event::Event;
use lariat_core::id::SessionId;
use lariat_core::store::SessionStore;

use super::queue::Queue;
use super::replay::JournalReplay;
use super::subscription::Subscription;

/// Fans the events of one session out to its observers. Dropping it closes it.
///
/// Durable events are published after their append was acknowledged, in the order of their `seq`. Several loops may
/// publish through one hub.
///
/// ```
/// use std::sync::Arc;
/// use lariat_core::id::SessionId;
/// use lariat_runtime::memory::MemoryStore;
/// use lariat_runtime::observe::{SubscriptionEnd, DEFAULT_CAPACITY, EventHub};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let hub = EventHub::new(Arc::new(MemoryStore::new()), SessionId::from("s"));
/// let mut events = hub.subscribe(DEFAULT_CAPACITY);
/// hub.close();
/// assert_eq!(events.recv().await, Err(SubscriptionEnd::Ended));
/// # }
/// ```
pub struct EventHub {
    shared: Arc<SharedHub>,
}

pub(super) struct SharedHub {
    store: Arc<dyn SessionStore>,
    session_id: SessionId,
    state: Mutex<HubState>,
}

#[derive(Default)]
struct HubState {
    subscribers: Vec<Arc<Queue>>,
    /// The `seq` after the last durable event published here; `None` before the first.
    published: Option<u64>,
    closed: bool,
}

impl EventHub {
    /// Creates a hub for a session, without subscribers. Durable events are re-read from `store`.
    pub fn new(store: Arc<dyn SessionStore>, session_id: SessionId) -> Self {
        Self { shared: Arc::new(SharedHub { store, session_id, state: Mutex::default() }) }
    }

    /// Passes an event to every subscriber. Never waits for subscribers. Does nothing after [`Self::close`].
    pub fn publish(&self, event: Event) {
        let mut wakers = Vec::new();
        {
            let mut state = self.shared.lock();
            if event.is_durable() {
                state.published = state.published.max(Some(event.seq.saturating_add(1)));
            }
            wakers.extend(state.subscribers.iter().filter_map(|queue| queue.push(&event)));
        }
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Subscribes to events from now on. `capacity` is the number of events that may wait, at least 1.
    pub fn subscribe(&self, capacity: usize) -> Subscription {
        self.admit(|published| (Queue::of_live_events(capacity, published), published))
    }

    /// Subscribes from a position in the journal: reads existing events first, then continues live.
    pub fn subscribe_from(&self, capacity: usize, from_seq: u64) -> Subscription {
        self.admit(|published| (Queue::after_journal(capacity, from_seq, published), Some(from_seq)))
    }

    /// Creates a queue for the current position, and adds it before anything else is published.
    fn admit(&self, queue: impl FnOnce(Option<u64>) -> (Queue, Option<u64>)) -> Subscription {
        let mut state = self.shared.lock();
        let (queue, position) = queue(state.published);
        let queue = Arc::new(queue);
        if state.closed {
            queue.close();
        } else {
            state.subscribers.push(Arc::clone(&queue));
        }
        let replay = JournalReplay::new(Arc::clone(&self.shared.store), self.shared.session_id.clone());
        Subscription::new(queue, Arc::downgrade(&self.shared), replay, position)
    }

    /// Whether there are subscribers; if not, a live event need not be created.
    pub fn has_subscribers(&self) -> bool {
        !self.shared.lock().subscribers.is_empty()
    }

    /// Ends the stream: subscribers receive what was published before, then the end.
    pub fn close(&self) {
        let subscribers = {
            let mut state = self.shared.lock();
            state.closed = true;
            std::mem::take(&mut state.subscribers)
        };
        subscribers.iter().filter_map(|queue| queue.close()).for_each(Waker::wake);
    }
}

impl Drop for EventHub {
    fn drop(&mut self) {
        self.close();
    }
}

impl fmt::Debug for EventHub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.shared.lock();
        f.debug_struct("EventHub")
            .field("session_id", &self.shared.session_id)
            .field("subscribers", &state.subscribers.len())
            .field("published", &state.published)
            .field("closed", &state.closed)
            .finish()
    }
}

impl SharedHub {
    fn lock(&self) -> MutexGuard<'_, HubState> {
        // No user code runs under this lock, so the state is intact after a panic elsewhere.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn remove(&self, queue: &Arc<Queue>) {
        self.lock().subscribers.retain(|subscriber| !Arc::ptr_eq(subscriber, queue));
    }
}
