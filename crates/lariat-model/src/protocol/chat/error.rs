//! Classifies the errors of OpenAI and of compatible providers.
//!
//! Knows the error codes, both in responses with an error status and in the middle of a stream.
//! [`Failure::general`] classifies a status without a known code. Invariant: an account without credit is
//! never retried.

use http::HeaderMap;
use lariat_core::model::{ErrorDetail, ProviderError};
use lariat_core::time::Timestamp;
use serde_json::Value;

use crate::wire::{Failure, is_overflow, words};

#[derive(Clone, Copy)]
enum Meaning {
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
const CODES: &[(&str, Meaning)] = &[
    ("context_length_exceeded", Meaning::Overflow),
    ("string_above_max_length", Meaning::Overflow),
    // llama.cpp
    ("exceed_context_size_error", Meaning::Overflow),
    // No credit: OpenAI responds with status 429, but retries would fail too.
    ("insufficient_quota", Meaning::Rejected),
    ("billing_hard_limit_reached", Meaning::Rejected),
    ("billing_not_active", Meaning::Rejected),
    ("insufficient_balance", Meaning::Rejected),
    ("Arrearage", Meaning::Rejected),
    // Z.ai and MiniMax use numbers: no balance, package expired.
    ("1113", Meaning::Rejected),
    ("1008", Meaning::Rejected),
    ("rate_limit_exceeded", Meaning::Limited),
    ("rate_limit_error", Meaning::Limited),
    ("rate_limit_reached_error", Meaning::Limited),
    ("too_many_requests", Meaning::Limited),
    ("requests", Meaning::Limited),
    ("tokens", Meaning::Limited),
    ("engine_overloaded_error", Meaning::Limited),
    ("overloaded_error", Meaning::Limited),
    ("server_overloaded", Meaning::Limited),
    ("slow_down", Meaning::Limited),
    ("Throttling", Meaning::Limited),
    ("Throttling.RateQuota", Meaning::Limited),
    ("Throttling.AllocationQuota", Meaning::Limited),
    ("1302", Meaning::Limited),
    ("1305", Meaning::Limited),
    ("1002", Meaning::Limited),
    ("invalid_api_key", Meaning::Key),
    ("authentication_error", Meaning::Key),
    ("invalid_authentication_error", Meaning::Key),
    ("InvalidApiKey", Meaning::Key),
    ("1004", Meaning::Key),
    ("model_not_found", Meaning::Rejected),
    ("DeploymentNotFound", Meaning::Rejected),
    ("content_filter", Meaning::Rejected),
    ("content_policy_violation", Meaning::Rejected),
    ("DataInspectionFailed", Meaning::Rejected),
    ("data_inspection_failed", Meaning::Rejected),
    ("invalid_prompt", Meaning::Rejected),
    ("bio_policy", Meaning::Rejected),
    ("misalignment_policy_violation", Meaning::Rejected),
    ("data_residency_mismatch", Meaning::Rejected),
    ("server_error", Meaning::Broken),
    ("api_error", Meaning::Broken),
    ("internal_error", Meaning::Broken),
    ("vector_store_timeout", Meaning::Broken),
    ("invalid_request_error", Meaning::Rejected),
    ("BadRequestError", Meaning::Rejected),
];

impl Meaning {
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
    let general = failure.general();
    match meaning(&json, &detail.message, failure.status) {
        Some(Meaning::Rejected) if failure.status >= 500 || matches!(failure.status, 408 | 409) => general,
        Some(meaning) => meaning.error(detail),
        // OpenRouter rejects a prompt with status 403 and the reasons: the key is valid.
        None if json.pointer("/error/metadata/reasons").is_some() => ProviderError::Api(detail),
        // Groq: no capacity at the moment.
        None if failure.status == 498 => ProviderError::RateLimited(detail),
        None => general,
    }
}

/// Classifies an error in the middle of a stream.
pub(crate) fn in_stream(json: &Value) -> ProviderError {
    let body = json.to_string();
    let message = wrapped_message(json).map_or_else(|| words(body.as_bytes()), str::to_owned);
    let status =
        codes(json).iter().find_map(|code| code.parse().ok()).filter(|code| (400..600).contains(code));
    match (meaning(json, &message, status.unwrap_or_default()), status) {
        (Some(meaning), _) => {
            let detail = ErrorDetail::new(message);
            meaning.error(status.map_or(detail.clone(), |status| detail.with_status(status)))
        }
        (None, Some(status)) => {
            let headers = HeaderMap::new();
            Failure { status, headers: &headers, body: body.as_bytes(), now: Timestamp::default() }.general()
        }
        (None, None) => ProviderError::Network(message.into()),
    }
}

fn meaning(json: &Value, message: &str, status: u16) -> Option<Meaning> {
    // "Request too large for gpt-4o in organization … on tokens per min": only a smaller request helps,
    // waiting does not.
    let too_large = message.starts_with("Request too large");
    if too_large || (status != 429 && is_overflow(message)) {
        return Some(Meaning::Overflow);
    }
    let codes = codes(json);
    let said = |(code, _): &&(&str, Meaning)| codes.iter().any(|said| said == code);
    CODES.iter().find(said).map(|(_, meaning)| *meaning)
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
