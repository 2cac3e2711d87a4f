//! Spans and metrics as data, independent of any exporter.

use lariat_core::time::Timestamp;

use super::genai;

/// Whether spans contain messages, arguments and results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Content {
    /// Only names, numbers and outcomes.
    #[default]
    Off,
    /// Also messages, arguments, results and error messages.
    On,
}

/// A completed span.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Span {
    /// The id of the trace: a run with the runs of its sub-agents, or the runs of a [`Workflow`](super::Workflow).
    pub trace_id: u128,
    /// The id of the span.
    pub span_id: u64,
    /// The id of the parent span.
    pub parent: Option<u64>,
    /// The name, such as `chat {model}`.
    pub name: String,
    /// Whether it is a call to a provider.
    pub kind: SpanKind,
    /// When it began.
    pub start: Timestamp,
    /// When it ended.
    pub end: Timestamp,
    /// The attributes.
    pub attributes: Vec<Attribute>,
    /// Set if it failed: the error message with content enabled, otherwise empty.
    pub error: Option<String>,
}

/// The kind of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    /// A call to a provider.
    Client,
    /// Work in this process.
    Internal,
}

/// A value for a histogram.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Measurement {
    /// The histogram.
    pub metric: Metric,
    /// The value: tokens or seconds.
    pub value: f64,
    /// The attributes that it is recorded with.
    pub attributes: Vec<Attribute>,
}

/// The histograms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// [`genai::METRIC_TOKEN_USAGE`].
    TokenUsage,
    /// [`genai::METRIC_OPERATION_DURATION`].
    OperationDuration,
}

/// The name and value of an attribute.
pub type Attribute = (&'static str, AttributeValue);

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum AttributeValue {
    /// A string.
    Text(String),
    /// A list of strings.
    Texts(Vec<String>),
    /// An integer.
    Integer(i64),
    /// A floating-point number.
    Number(f64),
}

impl From<&str> for AttributeValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<u64> for AttributeValue {
    fn from(number: u64) -> Self {
        Self::Integer(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

/// The output of [`Spans`](super::Spans).
#[derive(Clone, Debug, PartialEq)]
pub enum Telemetry {
    /// A completed span.
    Span(Box<Span>),
    /// A value for a metric.
    Measured(Measurement),
}

impl Span {
    /// Marks the span as failed, with a kind of error; adds the message only with content enabled.
    pub(super) fn fail(&mut self, kind: &str, words: &str, content: Content) {
        self.attributes.push((genai::ERROR_TYPE, kind.into()));
        self.error = Some(if content == Content::On { words.to_owned() } else { String::new() });
    }
}
