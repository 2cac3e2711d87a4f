//! Moving a run's events to whoever wants them, beside the run.
//!
//! Owns the way from a subscription to a callback or a sender. It runs as its own future: a slow receiver delays the
//! moment its run is called done, never the run itself.

use futures_util::future::{Either, select};
use lariat_core::cancel::CancellationToken;
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

/// Hands events on until the run is over and everything it published is handed on.
pub(super) async fn pump(mut events: Subscription, mut sender: impl EventSender, over: CancellationToken) {
    loop {
        // `select` looks at its first future first: what is there is taken before the end is.
        match select(std::pin::pin!(events.recv()), over.cancelled()).await {
            Either::Left((Ok(event), _)) => sender.send(event),
            Either::Left((Err(_), _)) | Either::Right(_) => return,
        }
    }
}
