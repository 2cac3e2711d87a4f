//! Records what happened: lines for a log, spans and metrics for a collector.

pub use lariat_runtime::trace::{
    Attribute, AttributeValue, Content, LiveEvents, Measurement, Metric, Span, SpanKind, Spans, Telemetry,
    TraceLog, TraceSink, genai,
};
