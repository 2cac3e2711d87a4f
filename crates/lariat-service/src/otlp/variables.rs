//! Reads the standard `OTEL_…` variables for destination and naming of telemetry.
//!
//! Follows OpenTelemetry's exporter specification. Reads no environment itself: the caller looks names up.

use std::time::Duration;

use super::OtlpConfig;

/// What the variables request.
#[derive(Debug)]
pub enum OtlpVariables {
    /// No endpoint is set, or telemetry is disabled.
    Nothing,
    /// Send telemetry to this collector.
    Send(Box<OtlpConfig>),
    /// A request that this exporter does not support, with the reason.
    Unsupported(String),
}

/// The only supported protocol.
const PROTOCOL: &str = "http/protobuf";

/// Reads the variables. `endpoint` comes from a setting and overrides them.
pub fn read_variables(endpoint: Option<String>, variable: impl Fn(&str) -> Option<String>) -> OtlpVariables {
    let variable = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
    if endpoint.is_none() && is_disabled(&variable) {
        return OtlpVariables::Nothing;
    }
    let of_signal = |signal: &str, word: &str| variable(&format!("OTEL_EXPORTER_OTLP_{signal}{word}"));
    let traces = of_signal("TRACES_", "ENDPOINT").filter(|_| endpoint.is_none());
    let metrics = of_signal("METRICS_", "ENDPOINT").filter(|_| endpoint.is_none());
    let from_setting = endpoint.is_some();
    let general = endpoint.or_else(|| of_signal("", "ENDPOINT"));
    if general.is_none() && traces.is_none() && metrics.is_none() {
        return OtlpVariables::Nothing;
    }
    let protocol = of_signal("", "PROTOCOL").or_else(|| of_signal("TRACES_", "PROTOCOL"));
    if let Some(protocol) = protocol.filter(|protocol| protocol != PROTOCOL && !from_setting) {
        return OtlpVariables::Unsupported(format!(
            "OTEL_EXPORTER_OTLP_PROTOCOL is `{protocol}`, but Lariat supports only `{PROTOCOL}` (usually port 4318)"
        ));
    }
    let mut config = OtlpConfig::new(general.unwrap_or_default());
    config.traces_endpoint = traces;
    config.metrics_endpoint = metrics;
    config.headers = of_signal("", "HEADERS").map(|text| pairs(&text)).unwrap_or_default();
    config.resource = variable("OTEL_RESOURCE_ATTRIBUTES").map(|text| pairs(&text)).unwrap_or_default();
    let named = config.resource.iter().position(|(name, _)| name == "service.name");
    let named = named.map(|at| config.resource.remove(at).1);
    if let Some(name) = variable("OTEL_SERVICE_NAME").or(named) {
        config.service_name = name;
    }
    if let Some(timeout) = of_signal("", "TIMEOUT").and_then(|text| text.trim().parse().ok()) {
        config.timeout = Duration::from_millis(timeout);
    }
    OtlpVariables::Send(Box::new(config))
}

fn is_disabled(variable: &impl Fn(&str) -> Option<String>) -> bool {
    let is = |name: &str, word: &str| variable(name).is_some_and(|value| value.eq_ignore_ascii_case(word));
    is("OTEL_SDK_DISABLED", "true")
        || (is("OTEL_TRACES_EXPORTER", "none") && is("OTEL_METRICS_EXPORTER", "none"))
}

/// Parses `name=value,name=value` with percent-encoded values.
pub(crate) fn pairs(text: &str) -> Vec<(String, String)> {
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=')?;
        let name = name.trim();
        (!name.is_empty()).then(|| (name.to_owned(), decode(value.trim())))
    };
    text.split(',').filter_map(pair).collect()
}

fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(endpoint: Option<&str>, variables: &[(&str, &str)]) -> OtlpVariables {
        read_variables(endpoint.map(str::to_owned), |name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn endpoint_variable_enables_telemetry() {
        let OtlpVariables::Send(config) = read(
            None,
            &[
                ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318"),
                ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b, x-team = red"),
                ("OTEL_RESOURCE_ATTRIBUTES", "service.name=ours,deployment.environment=test"),
                ("OTEL_EXPORTER_OTLP_TIMEOUT", "2500"),
            ],
        ) else {
            panic!("telemetry is sent")
        };
        assert_eq!(config.endpoint, "http://localhost:4318");
        assert_eq!(config.headers, [("x-key".into(), "a b".into()), ("x-team".into(), "red".into())]);
        assert_eq!(config.service_name, "ours");
        assert_eq!(config.resource, [("deployment.environment".into(), "test".into())]);
        assert_eq!(config.timeout, Duration::from_millis(2500));
    }

    #[test]
    fn setting_overrides_endpoint_and_keeps_header_variables() {
        let OtlpVariables::Send(config) = read(
            Some("http://one"),
            &[
                ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://two"),
                ("OTEL_EXPORTER_OTLP_HEADERS", "k=v"),
                ("OTEL_SDK_DISABLED", "true"),
            ],
        ) else {
            panic!("telemetry is sent")
        };
        assert_eq!((config.endpoint.as_str(), config.headers.len()), ("http://one", 1));
    }

    #[test]
    fn no_telemetry_when_disabled_or_without_endpoint() {
        assert!(matches!(read(None, &[]), OtlpVariables::Nothing));
        let off = [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://x"), ("OTEL_SDK_DISABLED", "true")];
        assert!(matches!(read(None, &off), OtlpVariables::Nothing));
        let grpc =
            [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://x:4317"), ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")];
        assert!(matches!(read(None, &grpc), OtlpVariables::Unsupported(why) if why.contains("grpc")));
    }
}
