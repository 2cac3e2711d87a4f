//! Records what happened, for later analysis: lines of JSON, and spans by OpenTelemetry's conventions.
//!
//! Both read the same stream of events. [`TraceLog`] writes events as they are; [`Spans`] turns them into the
//! spans and metrics of the GenAI conventions ([`genai`]). A [`TraceSink`] or an exporter stores them.
//! Neither ever delays a run. Behind the feature `tracing`, `TracingSpans` opens the same spans in `tracing`.

pub mod genai;
mod log;
mod spans;
mod telemetry;
#[cfg(feature = "tracing")]
mod tracing_spans;
mod workflow;

pub use log::{LiveEvents, TraceLog, TraceSink};
pub use spans::Spans;
pub use telemetry::{Attribute, AttributeValue, Content, Measurement, Metric, Span, SpanKind, Telemetry};
#[cfg(feature = "tracing")]
pub use tracing_spans::TracingSpans;
pub use workflow::Workflow;
