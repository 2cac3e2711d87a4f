//! Spans and measurements as data, before any exporter.

use lariat_core::time::Timestamp;

use super::genai;

/// Whether what was said and given is in spans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Content {
    /// Names, numbers and outcomes only.
    #[default]
    Off,
    /// Messages, arguments, results and the words of errors, too.
    On,
}

/// A span that is over.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Span {
    /// The trace: a run, with the runs of its sub-agents.
    pub trace_id: u128,
    /// The span.
    pub span_id: u64,
    /// The span it belongs to.
    pub parent: Option<u64>,
    /// Its name.
    pub name: String,
    /// Whether a service was called.
    pub kind: SpanKind,
    /// When it began.
    pub start: Timestamp,
    /// When it ended.
    pub end: Timestamp,
    /// What is known about it.
    pub attributes: Vec<Attribute>,
    /// Set when it failed: in words with content, else empty.
    pub error: Option<String>,
}

/// What a span stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    /// A call of a service.
    Client,
    /// Work in this process.
    Internal,
}

/// A number for a histogram.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Measurement {
    /// Which.
    pub metric: Metric,
    /// How much: tokens or seconds.
    pub value: f64,
    /// Of what.
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

/// A name and a value.
pub type Attribute = (&'static str, AttributeValue);

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum AttributeValue {
    /// Text.
    Text(String),
    /// Texts.
    Texts(Vec<String>),
    /// A whole number.
    Integer(i64),
    /// A number.
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

/// What comes out of the fold.
#[derive(Clone, Debug, PartialEq)]
pub enum Telemetry {
    /// A span is over.
    Span(Box<Span>),
    /// Something was measured.
    Measured(Measurement),
}

impl Span {
    /// Says that it failed, as one of few words; in its own words only with content.
    pub(super) fn fail(&mut self, kind: &str, words: &str, content: Content) {
        self.attributes.push((genai::ERROR_TYPE, kind.into()));
        self.error = Some(if content == Content::On { words.to_owned() } else { String::new() });
    }
}
