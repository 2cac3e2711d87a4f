//! Records what happened: lines for a log, spans and metrics for a collector, spans for `tracing` (feature
//! `tracing`).

#[cfg(feature = "tracing")]
pub use lariat_runtime::trace::TracingSpans;
pub use lariat_runtime::trace::{
    Attribute, AttributeValue, Content, LiveEvents, Measurement, Metric, Span, SpanKind, Spans, Telemetry,
    TraceLog, TraceSink, Workflow, genai,
};
