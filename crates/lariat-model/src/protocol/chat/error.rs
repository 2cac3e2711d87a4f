//! Classifies the errors of OpenAI and of compatible providers.
//!
//! Knows the error codes, both in responses with an error status and in the middle of a stream.
//! [`Failure::classify_by_status`] classifies a status without a known code. Invariant: an account without credit is
//! never retried.

use http::HeaderMap;
use lariat_core::model::{ErrorDetail, ProviderError};
use lariat_core::time::Timestamp;
use serde_json::Value;

use crate::wire::{Failure, error_message, is_overflow};

#[derive(Clone, Copy)]
enum ErrorClass {
    /// The request exceeds the context window.
    Overflow,
    /// Too many requests, or the provider is overloaded.
    Limited,
    /// The provider failed; a retry may succeed.
    Broken,
    /// The key was rejected.
    Key,
    /// The provider will not do it: an invalid request, an account without credit, a policy violation.
    Rejected,
}

/// Values of `code`, `type` and `status` in errors; the first matching row wins.
const CODES: &[(&str, ErrorClass)] = &[
    ("context_length_exceeded", ErrorClass::Overflow),
    ("string_above_max_length", ErrorClass::Overflow),
    // llama.cpp
    ("exceed_context_size_error", ErrorClass::Overflow),
    // No credit: OpenAI responds with status 429, but retries would fail too.
    ("insufficient_quota", ErrorClass::Rejected),
    ("billing_hard_limit_reached", ErrorClass::Rejected),
    ("billing_not_active", ErrorClass::Rejected),
    ("insufficient_balance", ErrorClass::Rejected),
    ("Arrearage", ErrorClass::Rejected),
    // Z.ai and MiniMax use numbers: no balance, package expired.
    ("1113", ErrorClass::Rejected),
    ("1008", ErrorClass::Rejected),
    ("rate_limit_exceeded", ErrorClass::Limited),
    ("rate_limit_error", ErrorClass::Limited),
    ("rate_limit_reached_error", ErrorClass::Limited),
    ("too_many_requests", ErrorClass::Limited),
    ("requests", ErrorClass::Limited),
    ("tokens", ErrorClass::Limited),
    ("engine_overloaded_error", ErrorClass::Limited),
    ("overloaded_error", ErrorClass::Limited),
    ("server_overloaded", ErrorClass::Limited),
    ("slow_down", ErrorClass::Limited),
    ("Throttling", ErrorClass::Limited),
    ("Throttling.RateQuota", ErrorClass::Limited),
    ("Throttling.AllocationQuota", ErrorClass::Limited),
    ("1302", ErrorClass::Limited),
    ("1305", ErrorClass::Limited),
    ("1002", ErrorClass::Limited),
    ("invalid_api_key", ErrorClass::Key),
    ("authentication_error", ErrorClass::Key),
    ("invalid_authentication_error", ErrorClass::Key),
    ("InvalidApiKey", ErrorClass::Key),
    ("1004", ErrorClass::Key),
    ("model_not_found", ErrorClass::Rejected),
    ("DeploymentNotFound", ErrorClass::Rejected),
    ("content_filter", ErrorClass::Rejected),
    ("content_policy_violation", ErrorClass::Rejected),
    ("DataInspectionFailed", ErrorClass::Rejected),
    ("data_inspection_failed", ErrorClass::Rejected),
    ("invalid_prompt", ErrorClass::Rejected),
    ("bio_policy", ErrorClass::Rejected),
    ("misalignment_policy_violation", ErrorClass::Rejected),
    ("data_residency_mismatch", ErrorClass::Rejected),
    ("server_error", ErrorClass::Broken),
    ("api_error", ErrorClass::Broken),
    ("internal_error", ErrorClass::Broken),
    ("vector_store_timeout", ErrorClass::Broken),
    ("invalid_request_error", ErrorClass::Rejected),
    ("BadRequestError", ErrorClass::Rejected),
];

impl ErrorClass {
    fn error(self, detail: ErrorDetail) -> ProviderError {
        match self {
            Self::Overflow => ProviderError::ContextOverflow(detail),
            Self::Limited => ProviderError::RateLimited(detail),
            Self::Broken => ProviderError::Network(detail),
            Self::Key => ProviderError::Auth(detail),
            Self::Rejected => ProviderError::Api(detail),
        }
    }
}

/// Classifies a response that is not a stream.
pub(crate) fn classify(failure: &Failure<'_>) -> ProviderError {
    let json = failure.json().unwrap_or(Value::Null);
    let mut detail = failure.detail();
    if let Some(message) = wrapped_message(&json) {
        detail.message = ErrorDetail::new(message).message;
    }
    // A server that is down may send a code of its own, but then the status decides.
    let by_status = failure.classify_by_status();
    match find_class(&json, &detail.message, failure.status) {
        Some(ErrorClass::Rejected) if failure.status >= 500 || matches!(failure.status, 408 | 409) => {
            by_status
        }
        Some(class) => class.error(detail),
        // OpenRouter rejects a prompt with status 403 and the reasons: the key is valid.
        None if json.pointer("/error/metadata/reasons").is_some() => ProviderError::Api(detail),
        // Groq: no capacity at the moment.
        None if failure.status == 498 => ProviderError::RateLimited(detail),
        None => by_status,
    }
}

/// Classifies an error in the middle of a stream.
pub(crate) fn in_stream(json: &Value) -> ProviderError {
    let body = json.to_string();
    let message = wrapped_message(json).map_or_else(|| error_message(body.as_bytes()), str::to_owned);
    let status =
        codes(json).iter().find_map(|code| code.parse().ok()).filter(|code| (400..600).contains(code));
    match (find_class(json, &message, status.unwrap_or_default()), status) {
        (Some(class), _) => {
            let detail = ErrorDetail::new(message);
            class.error(status.map_or(detail.clone(), |status| detail.with_status(status)))
        }
        (None, Some(status)) => {
            let headers = HeaderMap::new();
            Failure { status, headers: &headers, body: body.as_bytes(), now: Timestamp::default() }
                .classify_by_status()
        }
        (None, None) => ProviderError::Network(message.into()),
    }
}

fn find_class(json: &Value, message: &str, status: u16) -> Option<ErrorClass> {
    // "Request too large for gpt-4o in organization … on tokens per min": only a smaller request helps,
    // waiting does not.
    let too_large = message.starts_with("Request too large");
    if too_large || (status != 429 && is_overflow(message)) {
        return Some(ErrorClass::Overflow);
    }
    let codes = codes(json);
    let said = |(code, _): &&(&str, ErrorClass)| codes.iter().any(|said| said == code);
    CODES.iter().find(said).map(|(_, class)| *class)
}

/// Collects every code in an error, wherever providers put it.
fn codes(json: &Value) -> Vec<String> {
    const PLACES: [&str; 10] = [
        "/error/code",
        "/error/type",
        "/error/status",
        "/error/metadata/error_type",
        "/code",
        "/type",
        "/status",
        "/base_resp/status_code",
        "/error/innererror/code",
        "/0/error/status",
    ];
    let code = |place: &&str| match json.pointer(place)? {
        Value::String(code) => Some(code.clone()),
        Value::Number(code) => Some(code.to_string()),
        _ => None,
    };
    PLACES.iter().filter_map(code).collect()
}

/// MiniMax wraps its errors in status 200 and a field of its own.
fn wrapped_message(json: &Value) -> Option<&str> {
    json.pointer("/base_resp/status_msg")?.as_str()
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
