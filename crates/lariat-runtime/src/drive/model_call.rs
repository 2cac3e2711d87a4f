//! The stream of an active model call.
//!
//! Dropping it cancels the request. A provider that panics fails the call.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll, ready};

use futures_util::stream;
use lariat_core::cancel::CancellationToken;
use lariat_core::model::{ModelStream, ProviderError, StreamConfig, StreamProvider};
use lariat_core::run::{Input, ModelSignal, OpId};

/// An active model call.
pub(crate) struct ModelCall {
    op: OpId,
    stream: Option<ModelStream>,
    cancel: CancellationToken,
}

impl ModelCall {
    pub(crate) fn start(
        op: OpId,
        provider: &dyn StreamProvider,
        request: StreamConfig,
        parent: &CancellationToken,
    ) -> Self {
        let cancel = parent.child_token();
        let stream = if cancel.is_cancelled() {
            // The run was stopped while the request was being prepared.
            Some(Box::pin(stream::once(async { Err(ProviderError::Cancelled) })) as ModelStream)
        } else {
            catch_unwind(AssertUnwindSafe(|| provider.stream(request, cancel.clone()))).ok()
        };
        Self { op, stream, cancel }
    }

    pub(crate) const fn op(&self) -> OpId {
        self.op
    }

    /// Polls for the next signal. Must not be called after the stream's end.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Input> {
        let op = self.op;
        let Some(stream) = &mut self.stream else {
            let error = ProviderError::Other("the provider panicked".into());
            return Poll::Ready(Input::Model { op, signal: ModelSignal::Failed(error) });
        };
        let next = match catch_unwind(AssertUnwindSafe(|| stream.as_mut().poll_next(context))) {
            Ok(next) => ready!(next),
            Err(_) => Some(Err(ProviderError::Other("the provider panicked".into()))),
        };
        let signal = match next {
            Some(Ok(event)) => ModelSignal::Event(event),
            Some(Err(error)) => ModelSignal::Failed(error),
            None => ModelSignal::Ended,
        };
        Poll::Ready(Input::Model { op, signal })
    }
}

impl Drop for ModelCall {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}
