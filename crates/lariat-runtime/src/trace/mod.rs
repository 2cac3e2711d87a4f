//! What happened, for machines that look at it later: lines of JSON, and spans by OpenTelemetry's conventions.
//!
//! Owns two readings of the one stream of events. [`TraceLog`] writes events down as they are; [`Spans`] folds them into
//! the spans and measurements of the GenAI conventions ([`genai`]). Where lines and spans go is somebody else's: a
//! [`TraceSink`], an exporter. Neither ever holds up a run.

pub mod genai;
mod lines;
mod spans;
mod telemetry;

pub use lines::{LiveEvents, TraceLog, TraceSink};
pub use spans::Spans;
pub use telemetry::{Attribute, AttributeValue, Content, Measurement, Metric, Span, SpanKind, Telemetry};
