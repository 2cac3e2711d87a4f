//! Sends spans and measurements to a collector with OTLP over HTTP.
//!
//! A separate task encodes what [`Spans`] derives from events as protobuf and posts it in batches. Its queue is bounded;
//! spans that do not fit, or that the collector rejects, are counted ([`Otlp::lost_count`]). Does not use OpenTelemetry's SDK,
//! because that reads `OTEL_…` variables wherever it can, and this library reads no environment. Our spans already have times
//! and ids, so the SDK would only add batching and a POST. Sends only what [`OtlpConfig::content`] allows, and only to the
//! endpoint.

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
use lariat_runtime::trace::{Content, Span, Spans, Telemetry, Workflow};
use tokio::sync::{mpsc, oneshot};

use sender::{Sender, SenderMessage};

/// Maximum number of queued spans and measurements; more are lost.
const WAITING: usize = 8_192;

/// The destination and content of telemetry.
#[derive(Clone)]
#[non_exhaustive]
pub struct OtlpConfig {
    /// The collector, without `/v1/traces`: `http://localhost:4318`.
    pub endpoint: String,
    /// The complete URL for traces, instead of `/v1/traces` of the collector.
    pub traces_endpoint: Option<String>,
    /// The complete URL for metrics, instead of `/v1/metrics` of the collector.
    pub metrics_endpoint: Option<String>,
    /// HTTP headers of every request, such as API keys.
    pub headers: Vec<(String, String)>,
    /// The resource attribute `service.name`.
    pub service_name: String,
    /// Additional resource attributes, as names and values.
    pub resource: Vec<(String, String)>,
    /// Whether to include the text of users, models and tools. Off by default.
    pub content: Content,
    /// The span that all runs belong to; `None` if each begins a trace.
    pub workflow: Option<Workflow>,
    /// Maximum time before a batch is sent.
    pub interval: Duration,
    /// Timeout of a request.
    pub timeout: Duration,
    /// Proxy and certificates.
    pub client: ClientConfig,
}

impl OtlpConfig {
    /// Sends to a collector every five seconds, without content.
    pub fn new(endpoint: impl Into<String>) -> Self {
        Self {
            endpoint: endpoint.into(),
            traces_endpoint: None,
            metrics_endpoint: None,
            headers: Vec::new(),
            service_name: "lariat".to_owned(),
            resource: Vec::new(),
            content: Content::Off,
            workflow: None,
            interval: Duration::from_secs(5),
            timeout: Duration::from_secs(10),
            client: ClientConfig::default(),
        }
    }

    /// Adds an HTTP header.
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets `service.name`.
    pub fn with_service_name(mut self, name: impl Into<String>) -> Self {
        self.service_name = name.into();
        self
    }

    /// Sets whether to include text.
    pub const fn with_content(mut self, content: Content) -> Self {
        self.content = content;
        self
    }
}

impl fmt::Debug for OtlpConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Omits header values, which are usually keys.
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("OtlpConfig")
            .field("endpoint", &self.endpoint)
            .field("headers", &headers)
            .field("service_name", &self.service_name)
            .field("content", &self.content)
            .finish_non_exhaustive()
    }
}

/// Exports the telemetry of agents. Add it with [`AgentBuilder::observer`](lariat_runtime::AgentBuilder::observer), and
/// [`flush`](Otlp::flush) it before the program ends.
pub struct Otlp {
    spans: Mutex<Spans>,
    messages: mpsc::Sender<SenderMessage>,
    lost: Arc<AtomicU64>,
}

impl Otlp {
    /// Starts the exporter. Must be called inside a Tokio runtime.
    pub fn start(config: OtlpConfig) -> Arc<Self> {
        let (messages, inbox) = mpsc::channel(WAITING);
        let lost = Arc::new(AtomicU64::new(0));
        let spans = Mutex::new(Spans::new(config.content).with_workflow(config.workflow));
        drop(tokio::spawn(Sender::new(config, Arc::clone(&lost)).run(inbox)));
        Arc::new(Self { spans, messages, lost })
    }

    /// The number of spans that did not arrive.
    pub fn lost_count(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Queues a span that no event completes.
    pub fn add(&self, span: Span) {
        self.queue(Telemetry::Span(Box::new(span)));
    }

    fn queue(&self, telemetry: Telemetry) {
        let is_span = matches!(telemetry, Telemetry::Span(_));
        if self.messages.try_send(SenderMessage::Take(telemetry)).is_err() && is_span {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Sends all queued telemetry, and waits until that succeeded or failed.
    pub async fn flush(&self) {
        let (done, waiting) = oneshot::channel();
        if self.messages.send(SenderMessage::Flush(done)).await.is_ok() {
            let _ = waiting.await;
        }
    }
}

impl Observer for Otlp {
    fn observe(&self, session_id: &SessionId, event: &Event) {
        let mut spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
        spans.observe(session_id, event, |telemetry| self.queue(telemetry));
    }
}

impl fmt::Debug for Otlp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Otlp").field("lost", &self.lost_count()).finish_non_exhaustive()
    }
}
