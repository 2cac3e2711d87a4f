//! Performs one exchange with a provider: builds the request, attaches the key, sends it, checks status and
//! content type, then reads and decodes the response.
//!
//! Every exchange ends within the [`Deadlines`](super::Deadlines): with `Done`, or with one typed error after
//! all events that preceded it.

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
use lariat_core::cancel::{Cancellation, CancellationToken};
use lariat_core::clock::Clock;
use lariat_core::model::{ModelConfig, ProviderError, StreamConfig, StreamEvent};

use super::credentials::attach;
use super::deadlines::DeadlineTracker;
use super::provider::HttpProvider;
use super::redact::Redactor;
use crate::protocol::Protocol;
use crate::wire::{Decoder, Failure, ListedModel, OutgoingRequest};
use lariat_http::{BodyStream, HttpResponse};

/// Maximum number of bytes to read of a response that is not a stream.
const ERROR_BODY_LIMIT: usize = 64 * 1024;
/// Time to read such a response. Its status already said the most important part, and some bodies never end.
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of bytes to read of a model list or a token count.
const JSON_BODY_LIMIT: usize = 16 * 1024 * 1024;

/// A stream of the events of one reply.
pub(crate) struct Exchange {
    phase: Phase,
    decoder: Decoder,
    request: StreamConfig,
    /// The error that ended the body. It is reported after the events that came before it.
    failure: Option<ProviderError>,
    redactor: Redactor,
    deadlines: DeadlineTracker,
    timer: BoxFuture<'static, ()>,
    clock: Arc<dyn Clock>,
    cancelled: Cancellation,
}

enum Phase {
    Opening(BoxFuture<'static, OpenResult>),
    Reading(BodyStream),
    /// The body has ended: the decoder's remaining events follow, then the error if there is one.
    Draining,
    Ended,
}

/// The opened body or an error, and the secrets that the request used.
type OpenResult = (Result<BodyStream, ProviderError>, Redactor);

impl Exchange {
    pub(crate) fn new(provider: HttpProvider, request: StreamConfig, cancel: &CancellationToken) -> Self {
        let clock = Arc::clone(&provider.clock);
        let now = clock.now();
        let deadlines = DeadlineTracker::new(provider.deadlines, now);
        let decoder = provider.protocol.decoder(&request);
        let built = provider.protocol.request(&request);
        let model = Arc::clone(&request.model_config);
        Self {
            phase: Phase::Opening(Box::pin(open(provider, built, model))),
            decoder,
            request,
            failure: None,
            redactor: Redactor::default(),
            timer: clock.sleep_until(deadlines.next().0),
            deadlines,
            clock,
            cancelled: cancel.cancelled(),
        }
    }

    fn fail(&mut self, error: ProviderError) {
        self.failure = Some(self.redactor.error(error));
        self.phase = Phase::Draining;
    }

    fn on_bytes(&mut self, bytes: &Bytes) {
        let fed = self.decoder.feed(bytes);
        let now = self.clock.now();
        self.deadlines.on_bytes(now, bytes.len(), self.decoder.progress());
        // Checked here as well, because a body that never pauses never lets the timer fire.
        match fed.and_then(|()| self.deadlines.expired(now).map_or(Ok(()), Err)) {
            Err(_) if self.decoder.is_done() => self.phase = Phase::Draining,
            Err(error) => self.fail(error),
            // Bytes after the end of the reply are not waited for.
            Ok(()) if self.decoder.is_done() => self.phase = Phase::Draining,
            Ok(()) => {}
        }
    }

    /// Reads more of the response; ready if the state changed.
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
            Phase::Draining | Phase::Ended => {}
        }
        Poll::Ready(())
    }

    /// Ready when a deadline has passed. One timer is set for the next limit. When it fires early, because
    /// bytes have moved the limit since, it is set again: resetting it for every chunk would cost more than
    /// the chunk.
    fn poll_deadline(&mut self, context: &mut Context<'_>) -> Poll<ProviderError> {
        while self.timer.as_mut().poll(context).is_ready() {
            if let Some(error) = self.deadlines.expired(self.clock.now()) {
                return Poll::Ready(error);
            }
            self.timer = self.clock.sleep_until(self.deadlines.next().0);
        }
        Poll::Pending
    }

    /// Adds the cost of the reply to its last event.
    fn with_cost(&self, mut event: StreamEvent) -> StreamEvent {
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
            if let Phase::Ended = exchange.phase {
                return Poll::Ready(None);
            }
            if let Some(event) = exchange.decoder.next_event() {
                return Poll::Ready(Some(Ok(exchange.with_cost(event))));
            }
            if let Phase::Draining = exchange.phase {
                exchange.phase = Phase::Ended;
                return Poll::Ready(exchange.failure.take().map(Err));
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
    built: Result<OutgoingRequest, ProviderError>,
    model: Arc<ModelConfig>,
) -> OpenResult {
    let mut redactor = Redactor::default();
    let opened = async {
        let request = authorize(&provider, built?, &model, &mut redactor).await?;
        let incoming = provider.transport.send(request).await?;
        if incoming.status / 100 == 2 && may_be_stream(&incoming) {
            return Ok(incoming.body);
        }
        Err(read_error(provider.protocol, incoming, &*provider.clock).await)
    };
    let opened = opened.await;
    (opened, redactor)
}

async fn authorize(
    provider: &HttpProvider,
    outgoing: OutgoingRequest,
    model: &ModelConfig,
    redactor: &mut Redactor,
) -> Result<Request<Bytes>, ProviderError> {
    let secret = provider.credentials.secret(model).await?;
    attach(outgoing, &secret, model, provider.clock.now(), redactor)
}

/// Whether the response may be an event stream. Providers send `text/event-stream` or AWS's equivalent, but
/// small servers send another type or none. Only types that are certainly not a stream are rejected.
fn may_be_stream(incoming: &HttpResponse) -> bool {
    let stated = incoming.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let stated = stated.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    !matches!(
        stated.as_str(),
        "application/json" | "text/html" | "application/xhtml+xml" | "application/problem+json"
    )
}

async fn read_error(protocol: &dyn Protocol, incoming: HttpResponse, clock: &dyn Clock) -> ProviderError {
    let HttpResponse { status, headers, body } = incoming;
    // What arrived before the connection broke says more than that it broke.
    let mut error_body = BytesMut::new();
    let timeout = clock.sleep_until(clock.now().after(ERROR_BODY_TIMEOUT));
    futures_util::future::select(Box::pin(read(body, ERROR_BODY_LIMIT, &mut error_body)), timeout).await;
    protocol.classify(&Failure { status, headers: &headers, body: &error_body, now: clock.now() })
}

/// Reads the start of a body until `limit`, the end or an error.
async fn read(mut body: BodyStream, limit: usize, read: &mut BytesMut) {
    while read.len() < limit
        && let Some(Ok(bytes)) = body.next().await
    {
        let room = limit - read.len();
        read.extend_from_slice(bytes.get(..room).unwrap_or(&bytes));
    }
}

/// Returns the models that a provider offers.
pub(crate) async fn list(
    provider: &HttpProvider,
    model: &ModelConfig,
) -> Result<Vec<ListedModel>, ProviderError> {
    let outgoing = provider.protocol.list_request(model);
    let nothing =
        || ProviderError::Other(format!("protocol {} cannot list models", provider.protocol.api()).into());
    let list = fetch(provider, outgoing.ok_or_else(nothing)?, model, "list").await?;
    provider.protocol.parse_models(&list)
}

/// Asks the provider how many tokens a request has. Returns `None` if the protocol cannot count.
pub(crate) async fn count(
    provider: &HttpProvider,
    request: &StreamConfig,
) -> Result<Option<u64>, ProviderError> {
    let Some(outgoing) = provider.protocol.count_request(request)? else { return Ok(None) };
    let answer = fetch(provider, outgoing, &request.model_config, "count").await?;
    provider.protocol.parse_count(&answer).map(Some)
}

/// Sends a request whose response is not a stream, with the deadline that a stream has for its first byte.
async fn fetch(
    provider: &HttpProvider,
    outgoing: OutgoingRequest,
    model: &ModelConfig,
    what: &str,
) -> Result<BytesMut, ProviderError> {
    let mut redactor = Redactor::default();
    let response = async {
        let request = authorize(provider, outgoing, model, &mut redactor).await?;
        let incoming = provider.transport.send(request).await?;
        if incoming.status / 100 != 2 {
            return Err(read_error(provider.protocol, incoming, &*provider.clock).await);
        }
        let mut answer = BytesMut::new();
        read(incoming.body, JSON_BODY_LIMIT, &mut answer).await;
        Ok(answer)
    };
    let late = provider.clock.sleep_until(provider.clock.now().after(provider.deadlines.first_byte));
    let response = match futures_util::future::select(Box::pin(response), late).await {
        futures_util::future::Either::Left((response, _)) => response,
        futures_util::future::Either::Right(_) => {
            Err(ProviderError::Network(format!("the {what} request timed out").into()))
        }
    };
    response.map_err(|error| redactor.error(error))
}

#[cfg(test)]
#[path = "exchange_tests.rs"]
mod tests;
