//! Moving a run's events to whoever wants them, beside the run.
//!
//! Owns the way from a subscription to a callback or a sender, and the moment it is done: when the run is over and
//! everything it published was handed on. A slow receiver delays the moment its run is called done, never the run.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use futures_util::StreamExt;
use lariat_core::cancel::{CancellationToken, Cancelled};
use lariat_core::event::Event;

use crate::observe::Subscription;

/// Receives the events of a run: any function of an event.
pub trait EventSender: Send {
    /// Takes one event.
    fn send(&mut self, event: Event);
}

impl<F: FnMut(Event) + Send> EventSender for F {
    fn send(&mut self, event: Event) {
        self(event);
    }
}

/// Tells those who hand events on that no more will be published.
#[derive(Clone, Debug, Default)]
pub(super) struct Over {
    token: CancellationToken,
    until: Arc<OnceLock<u64>>,
}

impl Over {
    /// Nothing more will be published. With `until`, everything before that position was; without, the run failed
    /// and nobody knows.
    pub(super) fn set(&self, until: Option<u64>) {
        if !self.token.is_cancelled() {
            if let Some(until) = until {
                let _ = self.until.set(until);
            }
            self.token.cancel();
        }
    }

    pub(super) fn waiting(&self) -> Cancelled {
        self.token.cancelled()
    }

    /// The next event, or `None` when it is over and there is none left.
    pub(super) fn poll_next(
        &self,
        events: &mut Subscription,
        waiting: &mut Cancelled,
        context: &mut Context<'_>,
    ) -> Poll<Option<Event>> {
        if let Poll::Ready(next) = events.poll_next_unpin(context) {
            return Poll::Ready(next);
        }
        if pin!(waiting).poll(context).is_pending() {
            return Poll::Pending;
        }
        // What was published between the two looks must not be missed.
        if let Poll::Ready(next) = events.poll_next_unpin(context) {
            return Poll::Ready(next);
        }
        let until = self.until.get().copied().unwrap_or_default();
        // The first event of a subscription is never re-read: without a position there is nothing to come.
        if events.position().is_none_or(|position| position >= until) {
            return Poll::Ready(None);
        }
        Poll::Pending
    }
}

/// Hands events on until the run is over and everything it published is handed on.
pub(super) async fn pump(mut events: Subscription, mut sender: impl EventSender, over: Over) {
    let mut waiting = over.waiting();
    while let Some(event) = poll_fn(|context| over.poll_next(&mut events, &mut waiting, context)).await {
        sender.send(event);
    }
}
