//! Classifies responses that are not streams, as far as all providers agree.
//!
//! Interprets statuses, both forms of `Retry-After` and request ids, and finds the server's error message in
//! any body. Each protocol interprets its provider's own error codes.

use std::time::Duration;

use http::HeaderMap;
use jiff::fmt::rfc2822;
use lariat_core::model::{ErrorDetail, ProviderError};
use lariat_core::time::Timestamp;
use serde_json::Value;

use super::overflow::is_overflow;

/// Headers that carry a request id, in order of preference.
const REQUEST_ID_HEADERS: [&str; 6] =
    ["request-id", "x-request-id", "x-amzn-requestid", "apim-request-id", "x-goog-request-id", "cf-ray"];
/// Longest wait that is accepted from a header. A longer one is reduced to this.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// A response that is not a stream.
#[derive(Clone, Copy, Debug)]
pub struct Failure<'a> {
    /// HTTP status; 200 for an error sent with a success status.
    pub status: u16,
    /// Response headers.
    pub headers: &'a HeaderMap,
    /// The start of the body, up to the driver's limit.
    pub body: &'a [u8],
    /// Time of arrival, needed if `Retry-After` is a date.
    pub now: Timestamp,
}

impl Failure<'_> {
    /// Collects what all providers report alike: message, status, request id and wait.
    pub fn detail(&self) -> ErrorDetail {
        let header = |name: &&str| self.headers.get(*name).and_then(|value| value.to_str().ok());
        let id = REQUEST_ID_HEADERS.iter().find_map(header).map(str::to_owned);
        ErrorDetail::new(error_message(self.body))
            .with_status(self.status)
            .with_request_id(id)
            .with_retry_after(retry_after(self.headers, self.now))
    }

    /// Classifies the failure by its status alone, for providers and codes without a more specific rule.
    pub fn classify_by_status(&self) -> ProviderError {
        let detail = self.detail();
        match self.status {
            401 | 403 => ProviderError::Auth(detail),
            400 | 413 | 422 if is_overflow(&detail.message) => ProviderError::ContextOverflow(detail),
            413 => ProviderError::ContextOverflow(detail),
            429 | 529 => ProviderError::RateLimited(detail),
            408 | 409 | 500.. => ProviderError::Network(detail),
            400..=499 => ProviderError::Api(detail),
            _ => ProviderError::InvalidReply(detail),
        }
    }

    /// Parses the body as JSON.
    pub fn json(&self) -> Option<Value> {
        serde_json::from_slice(self.body).ok()
    }
}

/// Returns how long the server asks to wait: `retry-after-ms`, or `Retry-After` in seconds or as a date.
pub fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let millis =
        text("retry-after-ms").and_then(|text| text.parse::<f64>().ok()).map(|millis| millis / 1000.0);
    let seconds = millis.or_else(|| text("retry-after")?.parse::<f64>().ok());
    let wait = match seconds {
        Some(seconds) => Duration::try_from_secs_f64(seconds.max(0.0)).ok()?,
        None => {
            let date = rfc2822::DateTimeParser::new().parse_timestamp(text("retry-after")?).ok()?;
            let at = u64::try_from(date.as_millisecond()).ok()?;
            Duration::from_millis(at.saturating_sub(now.as_millis()))
        }
    };
    Some(wait.min(LONGEST_WAIT))
}

/// Returns the server's error message: the message of a JSON error wherever providers put it, else the title
/// of a web page, else the text itself.
pub fn error_message(body: &[u8]) -> String {
    if let Ok(json) = serde_json::from_slice::<Value>(body)
        && let Some(message) = json_error_message(&json)
    {
        return message;
    }
    let text = String::from_utf8_lossy(body);
    let text = text.trim();
    if text.is_empty() {
        return "the response has no error message".to_owned();
    }
    if let Some(title) = between(text, "<title>", "</title>") {
        return format!("the server returned a web page: {}", title.trim());
    }
    text.chars().take(500).collect()
}

fn json_error_message(json: &Value) -> Option<String> {
    const PLACES: [&str; 7] = [
        "/error/message",
        "/message",
        "/Message",
        "/error/metadata/raw",
        "/error",
        "/detail",
        "/0/error/message",
    ];
    PLACES.iter().find_map(|place| json.pointer(place)?.as_str()).map(str::to_owned)
}

fn between<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    let start = text.find(open)? + open.len();
    let rest = text.get(start..)?;
    rest.get(..rest.find(close)?)
}

#[cfg(test)]
#[path = "failure_tests.rs"]
mod tests;
