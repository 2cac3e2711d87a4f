//! One observer's subscription to a session.
//!
//! Delivers queued and re-read events in order, then the end of the stream. Makes progress only when it is
//! polled, under any executor; dropping the future of [`Subscription::recv`] loses nothing.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use lariat_core::event::Event;
use lariat_core::store::StoreError;

use super::history::MessageHistory;
use super::hub::SharedHub;
use super::queue::{NextStep, Queue};
use super::replay::JournalReplay;

/// Default number of events that may wait before a consumer is slow. 2 KiB of pointers; a few turns of a busy
/// loop.
pub const DEFAULT_CAPACITY: usize = 256;

/// Why a subscription delivers no more events.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SubscriptionEnd {
    /// The hub was closed and everything was delivered.
    #[error("the stream of events has ended")]
    Ended,
    /// The consumer was too slow, and the missed events could not be re-read.
    #[error("cannot read missed events again: {0}")]
    Failed(#[source] StoreError),
}

impl SubscriptionEnd {
    /// Whether subscribing again from [`Subscription::position`] can help.
    pub const fn is_retryable(&self) -> bool {
        matches!(self, Self::Failed(error) if error.is_retryable())
    }
}

/// The events of a session, as one observer receives them. Dropping it unsubscribes.
///
/// As a [`Stream`], it ends without an error; [`Self::end_reason`] returns the reason.
pub struct Subscription {
    queue: Arc<Queue>,
    hub: Weak<SharedHub>,
    replay: JournalReplay,
    history: MessageHistory,
    position: Option<u64>,
    closed: Option<SubscriptionEnd>,
}

impl Subscription {
    pub(super) fn new(
        queue: Arc<Queue>,
        hub: Weak<SharedHub>,
        replay: JournalReplay,
        position: Option<u64>,
    ) -> Self {
        Self { queue, hub, replay, history: MessageHistory::default(), position, closed: None }
    }

    /// Waits for the next event.
    ///
    /// # Errors
    /// If there will be no more events; the same error every time from then on.
    pub async fn recv(&mut self) -> Result<Event, SubscriptionEnd> {
        poll_fn(|context| self.poll_event(context)).await
    }

    /// Returns where a later subscription should continue: the `seq` after the last delivered durable event.
    /// `None` if it delivered none and the hub had published none when it began.
    pub const fn position(&self) -> Option<u64> {
        self.position
    }

    /// Returns why it ended, once it has.
    pub const fn end_reason(&self) -> Option<&SubscriptionEnd> {
        self.closed.as_ref()
    }

    #[cfg(test)]
    pub(super) fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }

    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Result<Event, SubscriptionEnd>> {
        if let Some(closed) = &self.closed {
            return Poll::Ready(Err(closed.clone()));
        }
        loop {
            match self.queue.next(context.waker()) {
                NextStep::Event(event) => {
                    self.replay.go_live();
                    if event.is_durable() {
                        self.history.add(&event);
                        self.position = Some(event.seq.saturating_add(1));
                    }
                    return Poll::Ready(Ok(event));
                }
                NextStep::Missing { from, until } => {
                    match ready!(self.replay.poll_event(&mut self.history, from, until, context)) {
                        Ok(Some(event)) => {
                            let next = event.seq.saturating_add(1);
                            self.queue.mark_read_up_to(next);
                            self.position = Some(next);
                            return Poll::Ready(Ok(event));
                        }
                        Ok(None) => self.queue.mark_journal_end(),
                        Err(error) => return self.end(SubscriptionEnd::Failed(error)),
                    }
                }
                NextStep::Wait => {
                    self.replay.go_live();
                    return Poll::Pending;
                }
                NextStep::Ended => return self.end(SubscriptionEnd::Ended),
            }
        }
    }

    fn end(&mut self, closed: SubscriptionEnd) -> Poll<Result<Event, SubscriptionEnd>> {
        self.unsubscribe();
        self.replay.go_live();
        self.history = MessageHistory::default();
        self.closed = Some(closed.clone());
        Poll::Ready(Err(closed))
    }

    fn unsubscribe(&self) {
        if let Some(hub) = self.hub.upgrade() {
            hub.remove(&self.queue);
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.unsubscribe();
    }
}

impl Stream for Subscription {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        self.poll_event(context).map(Result::ok)
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription")
            .field("position", &self.position)
            .field("closed", &self.closed)
            .finish_non_exhaustive()
    }
}
