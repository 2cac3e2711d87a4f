//! The task that sends telemetry in batches.
//!
//! Retries with a delay if the collector is busy (429, 502, 503, 504) or unreachable; does not retry a batch that it rejects.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http::header::CONTENT_TYPE;
use lariat_core::clock::Clock as _;
use lariat_model::http::{HttpClient, Transport as _};
use lariat_runtime::system::SystemClock;
use lariat_runtime::trace::{Span, Telemetry};
use prost::Message as _;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::OtlpConfig;
use super::encode::Encoder;
use super::histogram::Histograms;

/// Maximum spans per request.
const BATCH: usize = 512;

/// Maximum attempts per request, and the pause after the first; it doubles each time.
const MAX_ATTEMPTS: u32 = 4;
const PAUSE: Duration = Duration::from_millis(200);

/// A message to the task.
pub(super) enum SenderMessage {
    Take(Telemetry),
    Flush(oneshot::Sender<()>),
}

pub(super) struct Sender {
    config: OtlpConfig,
    client: HttpClient,
    encoder: Encoder,
    spans: Vec<Span>,
    histograms: Histograms,
    lost: Arc<AtomicU64>,
}

/// The content of a request.
#[derive(Clone, Copy)]
enum Signal {
    Traces,
    Metrics,
}

/// The result of an attempt.
enum SendResult {
    Accepted,
    Retry,
    Rejected,
}

impl Sender {
    pub(super) fn new(config: OtlpConfig, lost: Arc<AtomicU64>) -> Self {
        let encoder = Encoder::new(&config.service_name, &config.resource);
        let client = HttpClient::new(config.client.clone());
        let histograms = Histograms::since(SystemClock.now());
        Self { config, client, encoder, spans: Vec::new(), histograms, lost }
    }

    /// Runs until all senders are dropped.
    pub(super) async fn run(mut self, mut inbox: mpsc::Receiver<SenderMessage>) {
        let mut due = Instant::now() + self.config.interval;
        loop {
            match tokio::time::timeout_at(due, inbox.recv()).await {
                Ok(Some(SenderMessage::Take(Telemetry::Measured(measured)))) => {
                    self.histograms.add(&measured)
                }
                Ok(Some(SenderMessage::Take(Telemetry::Span(span)))) => {
                    self.spans.push(*span);
                    if self.spans.len() >= BATCH {
                        self.send_spans().await;
                    }
                }
                Ok(Some(SenderMessage::Flush(done))) => {
                    self.send_all().await;
                    let _ = done.send(());
                }
                Ok(None) => return self.send_all().await,
                Err(_) => {
                    self.send_all().await;
                    due = Instant::now() + self.config.interval;
                }
            }
        }
    }

    async fn send_all(&mut self) {
        self.send_spans().await;
        if let Some(metrics) = self.histograms.take_changed(SystemClock.now()) {
            let request = self.encoder.metrics(metrics);
            // Sums are cumulative, so the next request includes what is lost now.
            let _ = self.send(Signal::Metrics, request.encode_to_vec()).await;
        }
    }

    async fn send_spans(&mut self) {
        if self.spans.is_empty() {
            return;
        }
        let spans = std::mem::take(&mut self.spans);
        let count = spans.len() as u64;
        let request = self.encoder.traces(&spans);
        if !self.send(Signal::Traces, request.encode_to_vec()).await {
            self.lost.fetch_add(count, Ordering::Relaxed);
        }
    }

    async fn send(&self, signal: Signal, body: Vec<u8>) -> bool {
        let Some(url) = self.address(signal) else { return false };
        let body = Bytes::from(body);
        let mut pause = PAUSE;
        for attempt in 1..=MAX_ATTEMPTS {
            match self.attempt(&url, body.clone()).await {
                SendResult::Accepted => return true,
                SendResult::Rejected => return false,
                SendResult::Retry if attempt == MAX_ATTEMPTS => return false,
                SendResult::Retry => tokio::time::sleep(pause).await,
            }
            pause *= 2;
        }
        false
    }

    /// The URL for a signal; `None` if only the other signal has one.
    fn address(&self, signal: Signal) -> Option<String> {
        let (own, path) = match signal {
            Signal::Traces => (&self.config.traces_endpoint, "v1/traces"),
            Signal::Metrics => (&self.config.metrics_endpoint, "v1/metrics"),
        };
        let base = self.config.endpoint.trim_end_matches('/');
        let below = (!base.is_empty()).then(|| format!("{base}/{path}"));
        own.clone().or(below)
    }

    async fn attempt(&self, url: &str, body: Bytes) -> SendResult {
        let mut request = Request::post(url).header(CONTENT_TYPE, "application/x-protobuf");
        for (name, value) in &self.config.headers {
            request = request.header(name, value);
        }
        let Ok(request) = request.body(body) else { return SendResult::Rejected };
        match tokio::time::timeout(self.config.timeout, self.client.send(request)).await {
            Ok(Ok(answer)) => match answer.status {
                200..=299 => SendResult::Accepted,
                429 | 502 | 503 | 504 => SendResult::Retry,
                _ => SendResult::Rejected,
            },
            Ok(Err(_)) | Err(_) => SendResult::Retry,
        }
    }
}
