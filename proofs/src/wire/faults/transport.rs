//! A transport that responds as a plan says, on virtual time, and records the requests.
//!
//! The first request gets the plan's response; one with the tool's output gets plain text; all others get the
//! scripted turn, complete.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{HeaderMap, HeaderName, HeaderValue, Request};
use lariat_core::BoxFuture;
use lariat_core::clock::Clock;
use lariat_core::time::Timestamp;
use lariat_model::http::{BodyStream, HttpResponse, Transport, TransportError};

use super::cell::{FINAL_TEXT, TOOL_OUTPUT, well_answered};
use super::plan::{Answer, BodyStep, Head, Plan, Repetition};
use crate::server::{Turn, Wire};

/// A request as it was sent.
#[derive(Clone, Debug)]
pub struct SentRequest {
    /// When it was sent.
    pub at: Timestamp,
    /// Where to.
    pub url: String,
    /// Whether it contains the tool's output.
    pub after_tool: bool,
}

/// The transport. Clones share the record of requests.
#[derive(Clone)]
pub struct ScriptedTransport {
    wire: Wire,
    plan: Arc<Plan>,
    clock: Arc<dyn Clock>,
    sent: Arc<Mutex<Vec<SentRequest>>>,
}

impl ScriptedTransport {
    /// Creates a transport that plays a plan.
    pub fn new(wire: Wire, plan: Arc<Plan>, clock: Arc<dyn Clock>) -> Self {
        Self { wire, plan, clock, sent: Arc::default() }
    }

    /// All requests, in order.
    pub fn sent(&self) -> Vec<SentRequest> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn answer(&self, request: &Request<Bytes>) -> Answer {
        let marker = TOOL_OUTPUT.as_bytes();
        let after_tool = request.body().windows(marker.len()).any(|window| window == marker);
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        sent.push(SentRequest { at: self.clock.now(), url: request.uri().to_string(), after_tool });
        match sent.len() {
            1 => self.plan.answer.clone(),
            _ if self.plan.repeated == Repetition::Always => self.plan.answer.clone(),
            _ if after_tool => well_answered(self.wire, &Turn::new().model("m-1").text(FINAL_TEXT)),
            _ => well_answered(self.wire, &super::cell::turn()),
        }
    }
}

impl Transport for ScriptedTransport {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'static, Result<HttpResponse, TransportError>> {
        let Answer { delay, head, body } = self.answer(&request);
        let clock = Arc::clone(&self.clock);
        Box::pin(async move {
            clock.sleep_until(clock.now().after(delay)).await;
            match head {
                Head::Never => std::future::pending().await,
                Head::Fails(error) => Err(error),
                Head::Status { status, headers } => {
                    Ok(HttpResponse { status, headers: header_map(&headers), body: play(body, clock) })
                }
            }
        })
    }
}

fn header_map(headers: &[(String, String)]) -> HeaderMap {
    let parsed = headers.iter().filter_map(|(name, value)| {
        Some((HeaderName::from_bytes(name.as_bytes()).ok()?, HeaderValue::from_str(value).ok()?))
    });
    parsed.collect()
}

/// Plays a body step by step.
fn play(beats: Vec<BodyStep>, clock: Arc<dyn Clock>) -> BodyStream {
    let player = Player { beats: beats.into_iter(), repeating: None, clock };
    stream::unfold(player, Player::next).boxed()
}

struct Player {
    beats: std::vec::IntoIter<BodyStep>,
    /// Repeated bytes, how often (`None`: forever), and the delay before each.
    repeating: Option<(Bytes, Option<u32>, Duration)>,
    clock: Arc<dyn Clock>,
}

impl Player {
    async fn next(mut self) -> Option<(Result<Bytes, TransportError>, Self)> {
        loop {
            if let Some((bytes, times, every)) =
                self.repeating.take().filter(|(_, times, _)| *times != Some(0))
            {
                self.wait(every).await;
                let left = times.map(|times| times - 1);
                self.repeating = Some((bytes.clone(), left, every));
                return Some((Ok(bytes), self));
            }
            match self.beats.next()? {
                BodyStep::Bytes(bytes) => return Some((Ok(bytes), self)),
                BodyStep::Wait(duration) => self.wait(duration).await,
                BodyStep::Repeat { bytes, times, every } => self.repeating = Some((bytes, times, every)),
                BodyStep::Fails(error) => {
                    self.beats = Vec::new().into_iter();
                    return Some((Err(error), self));
                }
                BodyStep::Hangs => std::future::pending().await,
            }
        }
    }

    async fn wait(&self, duration: Duration) {
        self.clock.sleep_until(self.clock.now().after(duration)).await;
    }
}
