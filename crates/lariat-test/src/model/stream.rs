//! Plays a reply: one step per poll, without allocations.
//!
//! Waits for the clock, forever, or for one extra poll between events. Invariant: nothing follows an error or
//! an end.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use lariat_core::BoxFuture;
use lariat_core::cancel::{Cancellation, CancellationToken};
use lariat_core::clock::Clock;
use lariat_core::model::{ProviderError, StreamEvent};
use lariat_core::time::Timestamp;

use super::reply::{Ending, OnCancel, Reply, ReplyOpening, ReplyStep};

type StreamItem = Result<StreamEvent, ProviderError>;

/// Whether a stream returns `Pending` before every event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pacing {
    /// Every event is ready at once.
    Ready,
    /// Pending once before every event.
    Yielding,
}

/// What a stream needs from the model and the request.
pub(super) struct StreamContext {
    pub(super) clock: Option<Arc<dyn Clock>>,
    pub(super) cancel: CancellationToken,
    pub(super) pacing: Pacing,
}

/// A reply being played.
pub(super) struct ReplyStream {
    setting: StreamContext,
    on_cancel: OnCancel,
    start: Option<StreamEvent>,
    steps: std::vec::IntoIter<ReplyStep>,
    done: Option<StreamEvent>,
    waiting: WaitState,
    cancelled: Option<Cancellation>,
    yielded: bool,
    over: bool,
}

enum WaitState {
    No,
    Until(BoxFuture<'static, ()>),
    Forever,
}

impl ReplyStream {
    pub(super) fn new(reply: Reply, model: &str, setting: StreamContext) -> Self {
        let start =
            (reply.opens == ReplyOpening::Start).then(|| StreamEvent::Start { model: model.to_owned() });
        let done = (reply.ending == Ending::Done).then(|| reply.done());
        Self {
            setting,
            on_cancel: reply.on_cancel,
            start,
            steps: reply.steps.into_iter(),
            done,
            waiting: WaitState::No,
            cancelled: None,
            yielded: false,
            over: false,
        }
    }

    fn end(&mut self, error: ProviderError) -> Poll<Option<StreamItem>> {
        self.over = true;
        Poll::Ready(Some(Err(error)))
    }

    /// Waits until the condition is met or the request is cancelled.
    fn wait(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let waited = match &mut self.waiting {
            WaitState::No => return Poll::Ready(()),
            WaitState::Until(sleep) => sleep.as_mut().poll(context),
            WaitState::Forever => Poll::Pending,
        };
        if waited.is_ready() {
            self.waiting = WaitState::No;
        } else if self.on_cancel == OnCancel::Stop {
            let cancelled = self.cancelled.get_or_insert_with(|| self.setting.cancel.cancelled());
            // Only registers the waker; the flag itself is checked after every wait.
            let _ = Pin::new(cancelled).poll(context);
        }
        waited
    }

    fn take(&mut self, action: ReplyStep) -> Option<StreamItem> {
        match action {
            ReplyStep::Emit(event) => return Some(Ok(event)),
            ReplyStep::Fail(error) => return Some(Err(error)),
            ReplyStep::Stall => self.waiting = WaitState::Forever,
            ReplyStep::Wait(duration) => return self.sleep(|now| now.after(duration)),
            ReplyStep::WaitUntil(instant) => return self.sleep(|_| instant),
        }
        None
    }

    fn sleep(&mut self, deadline: impl FnOnce(Timestamp) -> Timestamp) -> Option<StreamItem> {
        let Some(clock) = &self.setting.clock else {
            let message = "the script waits, but the scripted model has no clock: use `with_clock`";
            return Some(Err(ProviderError::Other(message.into())));
        };
        self.waiting = WaitState::Until(clock.sleep_until(deadline(clock.now())));
        None
    }
}

impl Stream for ReplyStream {
    type Item = StreamItem;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<StreamItem>> {
        let this = self.get_mut();
        if this.over {
            return Poll::Ready(None);
        }
        loop {
            let waiting = this.wait(context).is_pending();
            // Checked after the wait has registered its waker, so that a cancellation in between is not
            // missed.
            if this.on_cancel == OnCancel::Stop && this.setting.cancel.is_cancelled() {
                return this.end(ProviderError::Cancelled);
            }
            if waiting {
                return Poll::Pending;
            }
            if this.setting.pacing == Pacing::Yielding && !std::mem::replace(&mut this.yielded, true) {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            if let Some(start) = this.start.take() {
                this.yielded = false;
                return Poll::Ready(Some(Ok(start)));
            }
            let Some(action) = this.steps.next() else {
                this.over = true;
                return Poll::Ready(this.done.take().map(Ok));
            };
            match this.take(action) {
                Some(Ok(event)) => {
                    this.yielded = false;
                    return Poll::Ready(Some(Ok(event)));
                }
                Some(Err(error)) => return this.end(error),
                None => {}
            }
        }
    }
}
