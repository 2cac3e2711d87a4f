//! Reads a long reply with our provider and with hyper's client, which receives the same bytes and decodes
//! nothing.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use futures_util::StreamExt;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use lariat_core::cancel::CancellationToken;
use lariat_core::model::{StreamEvent, StreamProvider};
use lariat_model::http::{HttpClient, HttpProvider};
use lariat_proofs::server::Wire;
use lariat_proofs::wire::{protocol, request};
use tokio::runtime::Runtime;

use super::super::Size;
use super::super::measure::{figure, goal, median, thread_cpu_ns};
use super::service::{Delivery, Service};
use super::{WIRES, frames, wire_named};

/// How much longer than the bare client our provider may take.
const GOAL_RATIO: f64 = 1.5;
/// A short run is not exact; this limit only catches large regressions.
const GOAL_RATIO_SHORT: f64 = 3.0;

/// Time that reading one reply took.
struct ReadTime {
    wall_ns: f64,
    cpu_ns: f64,
}

pub(super) fn measure(size: Size) -> bool {
    let (events, rounds, limit) = match size {
        Size::Full => (100_000, 15, GOAL_RATIO),
        Size::Short => (10_000, 5, GOAL_RATIO_SHORT),
    };
    let mut met = true;
    for wire in WIRES {
        let frames = frames(wire, events);
        let bytes: usize = frames.iter().map(Vec::len).sum();
        figure(&format!("{}: events", wire.name()), frames.len());
        figure(&format!("{}: bytes per event", wire.name()), bytes / frames.len().max(1));
        for delivery in [Delivery::Single, Delivery::Large] {
            let Some((bare, ours)) = compare(wire, &frames, delivery, rounds) else {
                println!("{}: a reply did not arrive as it was written", wire.name());
                return false;
            };
            met &= report(wire, delivery, frames.len() as f64, (&bare, &ours), limit);
        }
    }
    met
}

fn report(
    wire: Wire,
    delivery: Delivery,
    events: f64,
    (bare, ours): (&[ReadTime], &[ReadTime]),
    limit: f64,
) -> bool {
    let name = match delivery {
        Delivery::Single => format!("{}, a write per event", wire.name()),
        Delivery::Large => format!("{}, large writes", wire.name()),
    };
    let middle = |took: &[ReadTime], of: fn(&ReadTime) -> f64| median(took.iter().map(of).collect()) / events;
    let (bare_wall, ours_wall) = (middle(bare, |took| took.wall_ns), middle(ours, |took| took.wall_ns));
    let (bare_cpu, ours_cpu) = (middle(bare, |took| took.cpu_ns), middle(ours, |took| took.cpu_ns));
    figure(&format!("{name}: wall per event, bare / ours"), format!("{bare_wall:.0} / {ours_wall:.0} ns"));
    figure(&format!("{name}: CPU per event, bare / ours"), format!("{bare_cpu:.0} / {ours_cpu:.0} ns"));
    let ratio = ours_wall / bare_wall;
    match delivery {
        Delivery::Single => goal(&format!("{name}: wall, ours against bare"), ratio, "×", limit),
        Delivery::Large => {
            figure(&format!("{name}: wall, ours against bare"), format!("{ratio:.2} ×"));
            true
        }
    }
}

/// Alternates between the clients, so that other load on the machine affects both.
fn compare(
    wire: Wire,
    frames: &[Vec<u8>],
    delivery: Delivery,
    rounds: usize,
) -> Option<(Vec<ReadTime>, Vec<ReadTime>)> {
    let service = Service::start(wire, frames, delivery).ok()?;
    let runtime = runtime()?;
    let bytes: usize = frames.iter().map(Vec::len).sum();
    let ours_client = Arc::new(HttpClient::default());
    let (mut bare, mut ours) = (Vec::new(), Vec::new());
    for round in 0..=rounds {
        let (read, took_bare) = timed(|| runtime.block_on(bare_read(&service.url())));
        let (events, took_ours) = timed(|| runtime.block_on(our_read(&ours_client, wire, &service.url())));
        if read? != bytes || events? * 2 < frames.len() {
            return None;
        }
        // The first round warms up: connections, caches, the allocator.
        if round > 0 {
            bare.push(took_bare);
            ours.push(took_ours);
        }
    }
    Some((bare, ours))
}

/// Reads one reply with one client, so that another process can count its instructions.
pub(super) fn once(client: &str, wire: &str, url: &str) -> Option<bool> {
    let (wire, runtime) = (wire_named(wire)?, runtime()?);
    let read = match client {
        "bare" => runtime.block_on(bare_read(url)),
        "ours" => runtime.block_on(our_read(&Arc::new(HttpClient::default()), wire, url)),
        _ => return None,
    };
    Some(read.is_some_and(|read| read > 0))
}

pub(super) fn runtime() -> Option<Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().ok()
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, ReadTime) {
    let (started, before) = (Instant::now(), thread_cpu_ns());
    let result = work();
    let took = ReadTime {
        wall_ns: started.elapsed().as_nanos() as f64,
        cpu_ns: thread_cpu_ns().saturating_sub(before) as f64,
    };
    (result, took)
}

/// Number of bytes in the body.
async fn bare_read(url: &str) -> Option<usize> {
    let address = url.strip_prefix("http://")?;
    let stream = tokio::net::TcpStream::connect(address).await.ok()?;
    stream.set_nodelay(true).ok()?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake::<_, Full<Bytes>>(TokioIo::new(stream)).await.ok()?;
    let connection = tokio::spawn(connection);
    let asked = http::Request::post("/").header("host", address).body(Full::new(Bytes::from_static(b"{}")));
    let mut body = sender.send_request(asked.ok()?).await.ok()?.into_body();
    let mut read = 0;
    while let Some(frame) = body.frame().await {
        read += frame.ok()?.data_ref().map_or(0, Bytes::len);
    }
    connection.abort();
    Some(read)
}

/// Number of events in the reply, or `None` if the reply was incomplete.
async fn our_read(client: &Arc<HttpClient>, wire: Wire, url: &str) -> Option<usize> {
    let provider = HttpProvider::new(protocol(wire), Arc::clone(client) as _);
    let mut stream = provider.stream(request(wire, url), CancellationToken::new());
    let (mut events, mut done) = (0, false);
    while let Some(event) = stream.next().await {
        let event = event.inspect_err(|error| eprintln!("{}: {error}", wire.name())).ok()?;
        done = matches!(event, StreamEvent::Done { .. });
        events += 1;
    }
    done.then_some(events)
}
