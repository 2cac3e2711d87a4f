//! Passes a run's events to callbacks and senders, in parallel with the run.
//!
//! Finishes when the run is over and all its published events were passed on. A slow receiver delays only
//! this, never the run itself.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use futures_util::StreamExt;
use lariat_core::cancel::{Cancellation, CancellationToken};
use lariat_core::event::Event;

use crate::observe::Subscription;

/// Receives the events of a run. Any function that takes an event is one.
pub trait EventSender: Send {
    /// Receives one event.
    fn send(&mut self, event: Event);
}

impl<F: FnMut(Event) + Send> EventSender for F {
    fn send(&mut self, event: Event) {
        self(event);
    }
}

/// Signals that a run will publish no more events.
#[derive(Clone, Debug, Default)]
pub(super) struct EndSignal {
    token: CancellationToken,
    until: Arc<OnceLock<u64>>,
}

impl EndSignal {
    /// Signals the end. With `until`, the run published everything before that position; without, the run
    /// failed and the position is unknown.
    pub(super) fn set(&self, until: Option<u64>) {
        if !self.token.is_cancelled() {
            if let Some(until) = until {
                let _ = self.until.set(until);
            }
            self.token.cancel();
        }
    }

    pub(super) fn wait_for_end(&self) -> Cancellation {
        self.token.cancelled()
    }

    /// Polls for the next event; `None` once the run is over and all events were passed on.
    pub(super) fn poll_next(
        &self,
        events: &mut Subscription,
        waiting: &mut Cancellation,
        context: &mut Context<'_>,
    ) -> Poll<Option<Event>> {
        if let Poll::Ready(next) = events.poll_next_unpin(context) {
            return Poll::Ready(next);
        }
        if pin!(waiting).poll(context).is_pending() {
            return Poll::Pending;
        }
        // Poll again, to not miss events published between the two checks.
        if let Poll::Ready(next) = events.poll_next_unpin(context) {
            return Poll::Ready(next);
        }
        let until = self.until.get().copied().unwrap_or_default();
        // A subscription never re-reads its first event: without a position, no event will follow.
        if events.position().is_none_or(|position| position >= until) {
            return Poll::Ready(None);
        }
        Poll::Pending
    }
}

/// Passes events on until the run is over and everything it published was passed on.
pub(super) async fn forward_events(
    mut events: Subscription,
    mut sender: impl EventSender,
    end_signal: EndSignal,
) {
    let mut waiting = end_signal.wait_for_end();
    while let Some(event) = poll_fn(|context| end_signal.poll_next(&mut events, &mut waiting, context)).await
    {
        sender.send(event);
    }
}
