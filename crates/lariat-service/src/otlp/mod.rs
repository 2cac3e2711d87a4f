//! Spans and measurements, sent to a collector by OTLP over HTTP.
//!
//! Owns the exporter: what [`Spans`] makes of events is encoded as protobuf and posted in batches, by a task of its own.
//! The way to it is bounded; what finds no room, and what a collector does not take, is counted ([`Otlp::lost`]).
//! Not OpenTelemetry's SDK: it reads `OTEL_…` variables of the process wherever it can, and a library of ours is told
//! what it needs. Our spans are data with times and ids of their own, so what the SDK would add is a batch and a POST.
//! Invariant: nothing leaves but what [`OtlpConfig::content`] allows, and nothing goes anywhere but to the endpoint.

mod encode;
mod histogram;
mod sender;
pub mod variables;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lariat_core::event::Event;
use lariat_core::id::SessionId;
use lariat_model::http::ClientConfig;
use lariat_runtime::Observer;
use lariat_runtime::trace::{Content, Spans, Telemetry};
use tokio::sync::{mpsc, oneshot};

use sender::{Order, Sender};

/// Spans and measurements that wait for the sender before some are lost.
const WAITING: usize = 8_192;

/// Where telemetry goes, and what is in it.
#[derive(Clone)]
#[non_exhaustive]
pub struct OtlpConfig {
    /// The collector, without `/v1/traces`: `http://localhost:4318`.
    pub endpoint: String,
    /// Where traces go, whole, when not to `/v1/traces` of the collector.
    pub traces_endpoint: Option<String>,
    /// Where metrics go, whole, when not to `/v1/metrics` of the collector.
    pub metrics_endpoint: Option<String>,
    /// Headers of every request; keys go here.
    pub headers: Vec<(String, String)>,
    /// `service.name`.
    pub service_name: String,
    /// More about the process: names and values of resource attributes.
    pub resource: Vec<(String, String)>,
    /// Whether words of users, models and tools are sent. Off unless switched on.
    pub content: Content,
    /// How long spans wait for others at most.
    pub interval: Duration,
    /// Time for a request.
    pub timeout: Duration,
    /// Proxy and certificates.
    pub client: ClientConfig,
}

impl OtlpConfig {
    /// To a collector, without content, every five seconds.
    pub fn new(endpoint: impl Into<String>) -> Self {
        Self {
            endpoint: endpoint.into(),
            traces_endpoint: None,
            metrics_endpoint: None,
            headers: Vec::new(),
            service_name: "lariat".to_owned(),
            resource: Vec::new(),
            content: Content::Off,
            interval: Duration::from_secs(5),
            timeout: Duration::from_secs(10),
            client: ClientConfig::default(),
        }
    }

    /// Adds a header.
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Names the service.
    pub fn with_service_name(mut self, name: impl Into<String>) -> Self {
        self.service_name = name.into();
        self
    }

    /// Sends words, too.
    pub const fn with_content(mut self, content: Content) -> Self {
        self.content = content;
        self
    }
}

impl fmt::Debug for OtlpConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Values of headers are keys, as a rule.
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("OtlpConfig")
            .field("endpoint", &self.endpoint)
            .field("headers", &headers)
            .field("service_name", &self.service_name)
            .field("content", &self.content)
            .finish_non_exhaustive()
    }
}

/// Exports what agents do. Give it to them with [`AgentBuilder::observer`](lariat_runtime::AgentBuilder::observer), and
/// [`flush`](Otlp::flush) it before the program ends.
pub struct Otlp {
    spans: Mutex<Spans>,
    orders: mpsc::Sender<Order>,
    lost: Arc<AtomicU64>,
}

impl Otlp {
    /// Begins to export. Must be called where tokio runs.
    pub fn start(config: OtlpConfig) -> Arc<Self> {
        let (orders, inbox) = mpsc::channel(WAITING);
        let lost = Arc::new(AtomicU64::new(0));
        let spans = Mutex::new(Spans::new(config.content));
        drop(tokio::spawn(Sender::new(config, Arc::clone(&lost)).run(inbox)));
        Arc::new(Self { spans, orders, lost })
    }

    /// Spans that did not arrive.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Sends what waits, and waits until that is done or given up.
    pub async fn flush(&self) {
        let (done, waiting) = oneshot::channel();
        if self.orders.send(Order::Flush(done)).await.is_ok() {
            let _ = waiting.await;
        }
    }
}

impl Observer for Otlp {
    fn observe(&self, session_id: &SessionId, event: &Event) {
        let mut spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
        spans.observe(session_id, event, |telemetry| {
            let is_span = matches!(telemetry, Telemetry::Span(_));
            if self.orders.try_send(Order::Take(telemetry)).is_err() && is_span {
                self.lost.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
}

impl fmt::Debug for Otlp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Otlp").field("lost", &self.lost()).finish_non_exhaustive()
    }
}
