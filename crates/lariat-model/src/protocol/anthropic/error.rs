//! Classifies Anthropic's errors, sent as a status or as an event after status 200.
//!
//! `error.type` decides; if the type is unknown, the status does. An accepted stream can still fail with an
//! `error` event, which is classified like the corresponding status.

use lariat_core::model::{ErrorDetail, ProviderError};
use serde::Deserialize;
use serde_json::Value;

use crate::wire::{Failure, error_message, is_overflow};

/// Maximum length of a request id from a body, in characters.
const REQUEST_ID_LIMIT: usize = 128;

#[derive(Deserialize, Default)]
struct ErrorReport {
    error: Option<ErrorBody>,
    request_id: Option<Value>,
}

#[derive(Deserialize)]
struct ErrorBody {
    #[serde(rename = "type")]
    kind: Option<Value>,
    details: Option<Value>,
}

impl ErrorReport {
    fn read(body: &[u8]) -> Self {
        serde_json::from_slice(body).unwrap_or_default()
    }

    fn request_id(&self) -> Option<String> {
        let id = self.request_id.as_ref()?.as_str()?;
        Some(id.chars().take(REQUEST_ID_LIMIT).collect())
    }

    fn kind(&self) -> &str {
        self.error.as_ref().and_then(|error| error.kind.as_ref()?.as_str()).unwrap_or_default()
    }

    fn code(&self) -> &str {
        let details = self.error.as_ref().and_then(|error| error.details.as_ref());
        details.and_then(|details| details.get("error_code")?.as_str()).unwrap_or_default()
    }
}

/// Classifies a response that is not a stream.
pub(super) fn classify(failure: &Failure<'_>) -> ProviderError {
    let report = ErrorReport::read(failure.body);
    let mut detail = failure.detail();
    detail.request_id = detail.request_id.or_else(|| report.request_id());
    match failure.status {
        // Gateways label these as invalid requests, but the status says that the same request may succeed
        // later.
        408 | 409 => ProviderError::Network(detail),
        _ => classify_type(&report, detail).unwrap_or_else(|_| failure.classify_by_status()),
    }
}

/// Classifies an `error` event.
pub(super) fn in_stream(data: &str) -> ProviderError {
    let report = ErrorReport::read(data.as_bytes());
    let detail = ErrorDetail::new(error_message(data.as_bytes())).with_request_id(report.request_id());
    classify_type(&report, detail).unwrap_or_else(ProviderError::Network)
}

fn classify_type(report: &ErrorReport, detail: ErrorDetail) -> Result<ProviderError, ErrorDetail> {
    Ok(match report.kind() {
        "invalid_request_error" if is_overflow(&detail.message) => ProviderError::ContextOverflow(detail),
        "request_too_large" => ProviderError::ContextOverflow(detail),
        "invalid_request_error" | "not_found_error" | "billing_error" => ProviderError::Api(detail),
        "authentication_error" | "permission_error" => ProviderError::Auth(detail),
        // Waiting does not help until the month or the tier changes.
        "rate_limit_error" if report.code() == "enforced_spend_limit_reached" => ProviderError::Api(detail),
        "rate_limit_error" | "overloaded_error" => ProviderError::RateLimited(detail),
        "api_error" | "timeout_error" => ProviderError::Network(detail),
        _ => return Err(detail),
    })
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
