//! Measures the delay of the first text delta: after we received the first byte, and after the server wrote
//! it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use futures_util::StreamExt;
use http::Request;
use lariat_core::BoxFuture;
use lariat_core::cancel::CancellationToken;
use lariat_core::model::{StreamEvent, StreamProvider};
use lariat_model::http::{HttpClient, HttpProvider, HttpResponse, Transport, TransportError};
use lariat_proofs::server::{Turn, Wire, render};
use lariat_proofs::wire::{protocol, request};

use super::super::Size;
use super::super::measure::{figure, goal, median};
use super::WIRES;
use super::reading::runtime;
use super::service::{Delivery, Service};

/// Microseconds from the first byte to the first delta.
const GOAL_US: f64 = 100.0;
/// Limit on a build server that does other work at the same time.
const GOAL_US_SHORT: f64 = 2_000.0;

pub(super) fn measure(size: Size) -> bool {
    let (requests, limit) = if size == Size::Full { (2_000, GOAL_US) } else { (200, GOAL_US_SHORT) };
    let mut met = true;
    for wire in WIRES {
        let Some((received, written)) = samples(wire, requests) else {
            println!("{}: no delta came", wire.name());
            return false;
        };
        let name = |what: &str| format!("{}: first delta after {what}", wire.name());
        met &= goal(&name("the first byte, median"), median(received.clone()), "µs", limit);
        figure(&name("the first byte, p99"), format!("{:.2} µs", percentile_99(received)));
        let both = format!("{:.0} / {:.0} µs", median(written.clone()), percentile_99(written));
        figure(&name("its write by the server, median / p99"), both);
    }
    met
}

fn percentile_99(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples.get(samples.len() * 99 / 100).copied().unwrap_or_default()
}

/// Microseconds from the first byte as we received it, and as the server wrote it.
fn samples(wire: Wire, requests: usize) -> Option<(Vec<f64>, Vec<f64>)> {
    let frames = render::stream(wire, &Turn::new().model("m-1").text("Hello, world.").piece(4));
    let service = Service::start(wire, &frames, Delivery::Single).ok()?;
    let stamped = Arc::new(TimestampedClient { client: HttpClient::default(), first: Arc::default() });
    let provider = HttpProvider::new(protocol(wire), Arc::clone(&stamped) as _);
    let config = request(wire, &service.url());
    let (mut received, mut written) = (Vec::new(), Vec::new());
    runtime()?.block_on(async {
        for _ in 0..requests {
            *stamped.first.lock().unwrap_or_else(PoisonError::into_inner) = None;
            let mut stream = provider.stream(config.clone(), CancellationToken::new());
            while let Some(event) = stream.next().await {
                if !matches!(event, Ok(StreamEvent::TextDelta { .. })) {
                    continue;
                }
                let now = Instant::now();
                let first = *stamped.first.lock().unwrap_or_else(PoisonError::into_inner);
                received.push(now.duration_since(first?).as_nanos() as f64 / 1e3);
                written.push(service.since_first_byte(now) / 1e3);
                break;
            }
            // Read to the end, so that the connection is reused.
            while stream.next().await.is_some() {}
        }
        (received.len() == requests).then_some((received, written))
    })
}

/// The real HTTP client, which also records when the first bytes of a body arrive.
struct TimestampedClient {
    client: HttpClient,
    first: Arc<Mutex<Option<Instant>>>,
}

impl Transport for TimestampedClient {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'static, Result<HttpResponse, TransportError>> {
        let (sent, first) = (self.client.send(request), Arc::clone(&self.first));
        Box::pin(async move {
            let mut incoming = sent.await?;
            let noted = incoming.body.inspect(move |_| {
                first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(Instant::now);
            });
            incoming.body = Box::pin(noted);
            Ok(incoming)
        })
    }
}
