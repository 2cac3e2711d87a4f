//! One request and its answer, from the first byte to the last event.
//!
//! Owns the order: build, attach the key, send, look at status and type, read, decode. Whatever happens, it ends: with
//! `Done`, or with one typed error after the events that came before it, within the [`Deadlines`](super::Deadlines).

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_core::Stream;
use futures_util::StreamExt;
use http::Request;
use http::header::CONTENT_TYPE;
use lariat_core::BoxFuture;
use lariat_core::cancel::{CancellationToken, Cancelled};
use lariat_core::clock::Clock;
use lariat_core::model::{ModelConfig, ProviderError, StreamConfig, StreamEvent};

use super::credentials::attach;
use super::deadlines::Watch;
use super::provider::HttpProvider;
use super::redact::Redactor;
use super::transport::{BodyStream, Incoming};
use crate::protocol::Protocol;
use crate::wire::{Decoder, Failure, ListedModel, Outgoing};

/// Bytes read of an answer that is not a stream.
const FAILURE_LIMIT: usize = 64 * 1024;
/// Time to read such an answer: its status has said the most important already, and not every body ends.
const FAILURE_PATIENCE: Duration = Duration::from_secs(10);
/// Bytes read of a list of models, or of a count.
const LIST_LIMIT: usize = 16 * 1024 * 1024;

/// A reply in the making, as a stream of events.
pub(crate) struct Exchange {
    phase: Phase,
    decoder: Decoder,
    request: StreamConfig,
    /// What ended the body, to be told after the events that came before it.
    failed: Option<ProviderError>,
    redactor: Redactor,
    watch: Watch,
    alarm: BoxFuture<'static, ()>,
    clock: Arc<dyn Clock>,
    cancelled: Cancelled,
}

enum Phase {
    Opening(BoxFuture<'static, Opening>),
    Reading(BodyStream),
    /// Everything was read; the decoder's last events, then the failure if there is one.
    Draining,
    Over,
}

/// What opening an exchange came to, and the secrets it used.
type Opening = (Result<BodyStream, ProviderError>, Redactor);

impl Exchange {
    pub(crate) fn new(provider: HttpProvider, request: StreamConfig, cancel: &CancellationToken) -> Self {
        let clock = Arc::clone(&provider.clock);
        let now = clock.now();
        let watch = Watch::new(provider.deadlines, now);
        let decoder = provider.protocol.decoder(&request);
        let built = provider.protocol.request(&request);
        let model = Arc::clone(&request.model_config);
        Self {
            phase: Phase::Opening(Box::pin(open(provider, built, model))),
            decoder,
            request,
            failed: None,
            redactor: Redactor::default(),
            alarm: clock.sleep_until(watch.next().0),
            watch,
            clock,
            cancelled: cancel.cancelled(),
        }
    }

    fn fail(&mut self, error: ProviderError) {
        self.failed = Some(self.redactor.error(error));
        self.phase = Phase::Draining;
    }

    fn on_bytes(&mut self, bytes: &Bytes) {
        let fed = self.decoder.feed(bytes);
        let now = self.clock.now();
        self.watch.on_bytes(now, bytes.len(), self.decoder.progress());
        // Here too, because a body that never pauses never lets the timer ring.
        match fed.and_then(|()| self.watch.expired(now).map_or(Ok(()), Err)) {
            Err(_) if self.decoder.is_done() => self.phase = Phase::Draining,
            Err(error) => self.fail(error),
            // What a server sends after the end is not waited for.
            Ok(()) if self.decoder.is_done() => self.phase = Phase::Draining,
            Ok(()) => {}
        }
    }

    /// Reads on; ready when something changed.
    fn advance(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match &mut self.phase {
            Phase::Opening(opening) => {
                let Poll::Ready((opened, redactor)) = opening.as_mut().poll(context) else {
                    return Poll::Pending;
                };
                self.redactor = redactor;
                match opened {
                    Ok(body) => self.phase = Phase::Reading(body),
                    Err(error) => self.fail(error),
                }
            }
            Phase::Reading(body) => match body.as_mut().poll_next(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Ok(bytes))) => self.on_bytes(&bytes),
                Poll::Ready(Some(Err(error))) => self.fail(error.into()),
                Poll::Ready(None) => match self.decoder.end() {
                    Ok(()) => self.phase = Phase::Draining,
                    Err(error) => self.fail(error),
                },
            },
            Phase::Draining | Phase::Over => {}
        }
        Poll::Ready(())
    }

    /// Ready when a deadline has passed. One timer is set for the next limit and set again only when it rings early,
    /// because bytes moved the limit: resetting it for every chunk would cost more than the chunk.
    fn poll_deadline(&mut self, context: &mut Context<'_>) -> Poll<ProviderError> {
        while self.alarm.as_mut().poll(context).is_ready() {
            if let Some(error) = self.watch.expired(self.clock.now()) {
                return Poll::Ready(error);
            }
            self.alarm = self.clock.sleep_until(self.watch.next().0);
        }
        Poll::Pending
    }

    /// The event as it leaves, with what the reply cost.
    fn priced(&self, mut event: StreamEvent) -> StreamEvent {
        if let (StreamEvent::Done { usage, .. }, Some(cost)) = (&mut event, &self.request.model_config.cost) {
            usage.cost = cost.of(usage);
        }
        event
    }
}

impl Stream for Exchange {
    type Item = Result<StreamEvent, ProviderError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let exchange = &mut *self;
        loop {
            if let Phase::Over = exchange.phase {
                return Poll::Ready(None);
            }
            if let Some(event) = exchange.decoder.next_event() {
                return Poll::Ready(Some(Ok(exchange.priced(event))));
            }
            if let Phase::Draining = exchange.phase {
                exchange.phase = Phase::Over;
                return Poll::Ready(exchange.failed.take().map(Err));
            }
            if Pin::new(&mut exchange.cancelled).poll(context).is_ready() {
                exchange.fail(ProviderError::Cancelled);
                continue;
            }
            if exchange.advance(context).is_ready() {
                continue;
            }
            match exchange.poll_deadline(context) {
                Poll::Ready(error) => exchange.fail(error),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

async fn open(
    provider: HttpProvider,
    built: Result<Outgoing, ProviderError>,
    model: Arc<ModelConfig>,
) -> Opening {
    let mut redactor = Redactor::default();
    let opened = async {
        let request = authorised(&provider, built?, &model, &mut redactor).await?;
        let incoming = provider.transport.send(request).await?;
        if incoming.status / 100 == 2 && may_be_stream(&incoming) {
            return Ok(incoming.body);
        }
        Err(refusal(provider.protocol, incoming, &*provider.clock).await)
    };
    let opened = opened.await;
    (opened, redactor)
}

async fn authorised(
    provider: &HttpProvider,
    outgoing: Outgoing,
    model: &ModelConfig,
    redactor: &mut Redactor,
) -> Result<Request<Bytes>, ProviderError> {
    let secret = provider.credentials.secret(model).await?;
    attach(outgoing, &secret, model, provider.clock.now(), redactor)
}

/// Services say `text/event-stream` or AWS's name for theirs; small servers say something else or nothing. Only what is
/// certainly no stream is refused by its type.
fn may_be_stream(incoming: &Incoming) -> bool {
    let stated = incoming.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let stated = stated.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    !matches!(
        stated.as_str(),
        "application/json" | "text/html" | "application/xhtml+xml" | "application/problem+json"
    )
}

async fn refusal(protocol: &dyn Protocol, incoming: Incoming, clock: &dyn Clock) -> ProviderError {
    let Incoming { status, headers, body } = incoming;
    // What could be read before the connection broke still says more than the broken connection.
    let mut said = BytesMut::new();
    let patience = clock.sleep_until(clock.now().after(FAILURE_PATIENCE));
    futures_util::future::select(Box::pin(read(body, FAILURE_LIMIT, &mut said)), patience).await;
    protocol.classify(&Failure { status, headers: &headers, body: &said, now: clock.now() })
}

/// Reads the start of a body, as far as it comes.
async fn read(mut body: BodyStream, limit: usize, read: &mut BytesMut) {
    while read.len() < limit
        && let Some(Ok(bytes)) = body.next().await
    {
        let room = limit - read.len();
        read.extend_from_slice(bytes.get(..room).unwrap_or(&bytes));
    }
}

/// The models that a service offers.
pub(crate) async fn list(
    provider: &HttpProvider,
    model: &ModelConfig,
) -> Result<Vec<ListedModel>, ProviderError> {
    let outgoing = provider.protocol.list_request(model);
    let nothing =
        || ProviderError::Other(format!("{} has no list of models", provider.protocol.api()).into());
    let list = ask(provider, outgoing.ok_or_else(nothing)?, model, "list").await?;
    provider.protocol.listed(&list)
}

/// The tokens that a request would take, where the service can be asked.
pub(crate) async fn count(
    provider: &HttpProvider,
    request: &StreamConfig,
) -> Result<Option<u64>, ProviderError> {
    let Some(outgoing) = provider.protocol.count_request(request)? else { return Ok(None) };
    let answer = ask(provider, outgoing, &request.model_config, "count").await?;
    provider.protocol.counted(&answer).map(Some)
}

/// A question that is answered in one piece, within the time that a stream has for its first byte.
async fn ask(
    provider: &HttpProvider,
    outgoing: Outgoing,
    model: &ModelConfig,
    what: &str,
) -> Result<BytesMut, ProviderError> {
    let mut redactor = Redactor::default();
    let asked = async {
        let request = authorised(provider, outgoing, model, &mut redactor).await?;
        let incoming = provider.transport.send(request).await?;
        if incoming.status / 100 != 2 {
            return Err(refusal(provider.protocol, incoming, &*provider.clock).await);
        }
        let mut answer = BytesMut::new();
        read(incoming.body, LIST_LIMIT, &mut answer).await;
        Ok(answer)
    };
    let late = provider.clock.sleep_until(provider.clock.now().after(provider.deadlines.first_byte));
    let asked = match futures_util::future::select(Box::pin(asked), late).await {
        futures_util::future::Either::Left((asked, _)) => asked,
        futures_util::future::Either::Right(_) => {
            Err(ProviderError::Network(format!("no {what} came in time").into()))
        }
    };
    asked.map_err(|error| redactor.error(error))
}

#[cfg(test)]
#[path = "exchange_tests.rs"]
mod tests;
