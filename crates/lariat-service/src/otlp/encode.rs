//! Encodes telemetry as OTLP messages.

use lariat_core::time::Timestamp;
use lariat_runtime::trace::{Attribute, AttributeValue, Span, SpanKind, genai};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::{Metric, ResourceMetrics, ScopeMetrics};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind as Kind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span as ProtoSpan, Status};

/// Encodes requests with the resource and scope of this process.
#[derive(Debug)]
pub(super) struct Encoder {
    resource: Resource,
    scope: InstrumentationScope,
}

impl Encoder {
    pub(super) fn new(service_name: &str, resource: &[(String, String)]) -> Self {
        let name = std::iter::once(("service.name", service_name));
        let others = resource.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let of = |(name, value): (&str, &str)| pair(name, Value::StringValue(value.to_owned()));
        let resource = Resource { attributes: name.chain(others).map(of).collect(), ..Resource::default() };
        let scope = InstrumentationScope {
            name: "lariat".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..InstrumentationScope::default()
        };
        Self { resource, scope }
    }

    pub(super) fn traces(&self, spans: &[Span]) -> ExportTraceServiceRequest {
        let scope_spans = ScopeSpans {
            scope: Some(self.scope.clone()),
            spans: spans.iter().map(encode_span).collect(),
            schema_url: genai::SCHEMA_URL.to_owned(),
        };
        let resource_spans = ResourceSpans {
            resource: Some(self.resource.clone()),
            scope_spans: vec![scope_spans],
            ..ResourceSpans::default()
        };
        ExportTraceServiceRequest { resource_spans: vec![resource_spans] }
    }

    pub(super) fn metrics(&self, metrics: Vec<Metric>) -> ExportMetricsServiceRequest {
        let scope_metrics = ScopeMetrics {
            scope: Some(self.scope.clone()),
            metrics,
            schema_url: genai::SCHEMA_URL.to_owned(),
        };
        let resource_metrics = ResourceMetrics {
            resource: Some(self.resource.clone()),
            scope_metrics: vec![scope_metrics],
            ..ResourceMetrics::default()
        };
        ExportMetricsServiceRequest { resource_metrics: vec![resource_metrics] }
    }
}

fn encode_span(span: &Span) -> ProtoSpan {
    let kind = match span.kind {
        SpanKind::Client => Kind::Client,
        SpanKind::Internal => Kind::Internal,
    };
    let failed = |words: &String| Status { message: words.clone(), code: StatusCode::Error.into() };
    ProtoSpan {
        trace_id: span.trace_id.to_be_bytes().to_vec(),
        span_id: span.span_id.to_be_bytes().to_vec(),
        parent_span_id: span.parent.map(|parent| parent.to_be_bytes().to_vec()).unwrap_or_default(),
        name: span.name.clone(),
        kind: kind.into(),
        start_time_unix_nano: nanos(span.start),
        end_time_unix_nano: nanos(span.end),
        attributes: attributes(&span.attributes),
        status: span.error.as_ref().map(failed),
        ..ProtoSpan::default()
    }
}

pub(super) fn attributes(attributes: &[Attribute]) -> Vec<KeyValue> {
    let value = |value: &AttributeValue| match value {
        AttributeValue::Text(text) => Value::StringValue(text.clone()),
        AttributeValue::Integer(number) => Value::IntValue(*number),
        AttributeValue::Number(number) => Value::DoubleValue(*number),
        AttributeValue::Texts(texts) => {
            let texts = texts.iter().map(|text| AnyValue { value: Some(Value::StringValue(text.clone())) });
            Value::ArrayValue(ArrayValue { values: texts.collect() })
        }
    };
    attributes.iter().map(|(name, of)| pair(name, value(of))).collect()
}

fn pair(name: &str, value: Value) -> KeyValue {
    KeyValue { key: name.to_owned(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}

/// Nanoseconds since the Unix epoch.
pub(super) const fn nanos(at: Timestamp) -> u64 {
    at.as_millis().saturating_mul(1_000_000)
}
