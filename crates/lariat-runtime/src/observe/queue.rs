//! The bounded queue of one subscriber.
//!
//! When it is full, chunks of a message are joined, and other live events replace older ones of their kind or
//! are dropped. A durable event that does not fit switches the queue to [`QueueFeed::Missing`], and the consumer
//! reads the journal from there until it has caught up. Invariant: queued durable events have consecutive
//! `seq`, and the next expected one follows the last queued one.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use lariat_core::event::Event;
use lariat_core::id::MessageId;

use super::merge::{self, Merge};

/// Maximum number of messages remembered as incomplete, the newest ones. More than stream into one session at
/// a time.
const MAX_INCOMPLETE: usize = 32;

pub(super) struct Queue {
    capacity: usize,
    state: Mutex<ConsumerState>,
}

struct ConsumerState {
    events: VecDeque<Event>,
    feed: QueueFeed,
    /// The `seq` after the last published durable event; `None` before the first.
    published: Option<u64>,
    closed: bool,
    incomplete: VecDeque<MessageId>,
    waker: Option<Waker>,
}

/// Where the subscriber's next durable event comes from, after the queued ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QueueFeed {
    /// From the publisher. `None` accepts any position.
    Live { expected: Option<u64> },
    /// From the journal, starting at this `seq`: the publisher was faster.
    Missing { from: u64 },
}

/// What the consumer does next.
pub(super) enum NextStep {
    /// Delivers this event.
    Event(Event),
    /// Reads the journal from `from`, at least to `until` if it is known.
    Missing { from: u64, until: Option<u64> },
    /// Waits; the queue holds its waker.
    Wait,
    /// Stops: everything was delivered.
    Ended,
}

impl Queue {
    /// Creates a queue for events published from now on.
    pub(super) fn of_live_events(capacity: usize, published: Option<u64>) -> Self {
        Self::new(capacity, QueueFeed::Live { expected: published }, published)
    }

    /// Creates a queue whose consumer starts with the journal.
    pub(super) fn after_journal(capacity: usize, from: u64, published: Option<u64>) -> Self {
        Self::new(capacity, QueueFeed::Missing { from }, published)
    }

    fn new(capacity: usize, feed: QueueFeed, published: Option<u64>) -> Self {
        let state = ConsumerState {
            events: VecDeque::new(),
            feed,
            published,
            closed: false,
            incomplete: VecDeque::new(),
            waker: None,
        };
        Self { capacity: capacity.max(1), state: Mutex::new(state) }
    }

    /// Adds an event if it fits. Returns the waker of a consumer that waits for it.
    pub(super) fn push(&self, event: &Event) -> Option<Waker> {
        let mut state = self.lock();
        let is_new = if event.is_durable() {
            state.push_durable(event, self.capacity)
        } else {
            state.push_live(event, self.capacity)
        };
        if is_new { state.waker.take() } else { None }
    }

    /// Closes the queue. Returns the waker of a waiting consumer.
    pub(super) fn close(&self) -> Option<Waker> {
        let mut state = self.lock();
        state.closed = true;
        state.waker.take()
    }

    /// Returns what the consumer does next; stores its waker if it must wait.
    pub(super) fn next(&self, waker: &Waker) -> NextStep {
        let mut state = self.lock();
        if let Some(event) = state.events.pop_front() {
            return NextStep::Event(event);
        }
        if let QueueFeed::Missing { from } = state.feed {
            if state.published.is_none_or(|published| from < published) {
                return NextStep::Missing { from, until: state.published };
            }
            state.feed = QueueFeed::Live { expected: Some(from) };
        }
        if state.closed {
            return NextStep::Ended;
        }
        match &mut state.waker {
            Some(stored) => stored.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
        NextStep::Wait
    }

    /// Records that the consumer has read everything before `seq` from the journal.
    pub(super) fn mark_read_up_to(&self, seq: u64) {
        let mut state = self.lock();
        if let QueueFeed::Missing { from } = &mut state.feed {
            *from = seq;
        }
    }

    /// Records that the journal has nothing at `from`. It is the end only if nothing was published meanwhile.
    pub(super) fn mark_journal_end(&self) {
        let mut state = self.lock();
        if let (QueueFeed::Missing { from }, None) = (state.feed, state.published) {
            state.feed = QueueFeed::Live { expected: Some(from) };
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.lock().events.len()
    }

    #[cfg(test)]
    pub(super) fn allocated_capacity(&self) -> usize {
        self.lock().events.capacity()
    }

    fn lock(&self) -> MutexGuard<'_, ConsumerState> {
        // Cloning a waker is the only user code under this lock, and it changes nothing here.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConsumerState {
    fn push_durable(&mut self, event: &Event, capacity: usize) -> bool {
        self.published = self.published.max(Some(event.seq.saturating_add(1)));
        let QueueFeed::Live { expected } = self.feed else { return false };
        let expected = expected.unwrap_or(event.seq);
        if event.seq < expected {
            // The consumer already read it from the journal, before it was published.
            return false;
        }
        if event.seq > expected || self.events.len() >= capacity {
            self.feed = QueueFeed::Missing { from: expected };
        } else {
            self.events.push_back(event.clone());
            self.feed = QueueFeed::Live { expected: Some(event.seq.saturating_add(1)) };
        }
        true
    }

    fn push_live(&mut self, event: &Event, capacity: usize) -> bool {
        let message = merge::streamed_message(event);
        if message.is_some_and(|id| self.incomplete.contains(&id)) {
            return false;
        }
        let taken = self.is_up_to_date()
            && match merge::merge(&mut self.events, event, capacity) {
                Merge::Joined => true,
                Merge::Append if self.events.len() < capacity => {
                    self.events.push_back(event.clone());
                    true
                }
                Merge::Append => false,
            };
        if let (false, Some(id)) = (taken, message) {
            self.mark_incomplete(id);
        }
        taken
    }

    /// Whether live events can be queued. Not while the consumer reads the journal, and not while it is ahead
    /// of the publisher after that: a live event would then be on the wrong side of a durable one.
    fn is_up_to_date(&self) -> bool {
        match self.feed {
            QueueFeed::Missing { .. } => false,
            QueueFeed::Live { expected } => self.published.is_none() || expected <= self.published,
        }
    }

    /// Marks a message as incomplete after one of its chunks was dropped: later chunks would leave a gap, so
    /// they are dropped, too.
    fn mark_incomplete(&mut self, id: MessageId) {
        if self.incomplete.len() >= MAX_INCOMPLETE {
            self.incomplete.pop_front();
        }
        self.incomplete.push_back(id);
    }
}
