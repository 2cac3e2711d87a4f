//! Classifies Google's errors, as a response or in the middle of a stream.
//!
//! Both have the form of `google.rpc.Status` as JSON, sometimes in a list of one. Invariant: a quota that
//! resets tomorrow is not retried today. A rejected key is an authentication error, although Gemini reports
//! it as an invalid argument.

use std::time::Duration;

use lariat_core::model::{ErrorDetail, ProviderError};
use serde_json::Value;

use crate::wire::{Failure, is_overflow};

/// Longest wait that is accepted, as for `Retry-After`.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// Classifies a response that is not a stream.
pub(in crate::protocol) fn classify(failure: &Failure<'_>) -> ProviderError {
    let json = failure.json();
    let rpc_error = json.as_ref().and_then(|json| json.get("error").or_else(|| json.pointer("/0/error")));
    match rpc_error {
        // Whatever the message, the status says that the same request may succeed later.
        _ if matches!(failure.status, 408 | 409) => failure.classify_by_status(),
        Some(rpc_error) if rpc_error.is_object() => {
            classify_rpc_error(rpc_error, failure.detail(), || failure.classify_by_status())
        }
        _ => failure.classify_by_status(),
    }
}

/// Classifies an error in the middle of a stream.
pub(super) fn in_stream(rpc_error: &Value) -> ProviderError {
    let error_message = rpc_error.get("message").and_then(Value::as_str).or(rpc_error.as_str());
    let detail =
        ErrorDetail::new(error_message.unwrap_or("the provider reported an error without a message"));
    let code = rpc_error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
    let by_code = || match code {
        Some(401 | 403) => ProviderError::Auth(detail.clone()),
        Some(429 | 529) => ProviderError::RateLimited(detail.clone()),
        Some(400..=499) => ProviderError::Api(detail.clone()),
        _ => ProviderError::Network(detail.clone()),
    };
    classify_rpc_error(rpc_error, detail.clone(), by_code)
}

fn classify_rpc_error(
    rpc_error: &Value,
    detail: ErrorDetail,
    otherwise: impl FnOnce() -> ProviderError,
) -> ProviderError {
    let status = rpc_error.get("status").and_then(Value::as_str).unwrap_or_default();
    let wait = retry_delay(rpc_error).or(detail.retry_after);
    let error_message = detail.message.to_lowercase();
    if is_reason(rpc_error, "API_KEY_INVALID")
        || error_message.contains("api key not valid")
        || error_message.contains("api key expired")
    {
        return ProviderError::Auth(detail);
    }
    match status {
        "UNAUTHENTICATED" | "PERMISSION_DENIED" => ProviderError::Auth(detail),
        "RESOURCE_EXHAUSTED" if is_daily_quota_exhausted(rpc_error) => ProviderError::Api(detail),
        "RESOURCE_EXHAUSTED" => ProviderError::RateLimited(detail.with_retry_after(wait)),
        "INVALID_ARGUMENT" | "OUT_OF_RANGE" if is_too_long(&error_message) => {
            ProviderError::ContextOverflow(detail)
        }
        "INVALID_ARGUMENT"
        | "OUT_OF_RANGE"
        | "FAILED_PRECONDITION"
        | "NOT_FOUND"
        | "UNIMPLEMENTED"
        | "ALREADY_EXISTS" => ProviderError::Api(detail),
        "UNAVAILABLE" if error_message.contains("overloaded") || error_message.contains("high demand") => {
            ProviderError::RateLimited(detail.with_retry_after(wait))
        }
        // The last is status 499: something between here and the model gave up.
        "UNAVAILABLE" | "INTERNAL" | "DEADLINE_EXCEEDED" | "ABORTED" | "UNKNOWN" | "DATA_LOSS"
        | "CANCELLED" => ProviderError::Network(detail.with_retry_after(wait)),
        _ => otherwise(),
    }
}

fn is_too_long(error_message: &str) -> bool {
    // Vertex: "the input token count is 1200000 but the model only supports up to 1048576"
    is_overflow(error_message)
        || (error_message.contains("input token count") && error_message.contains("only supports up to"))
}

/// The details of a type, which is matched by the end of its name.
fn details<'a>(rpc_error: &'a Value, kind: &'a str) -> impl Iterator<Item = &'a Value> {
    let all = rpc_error.get("details").and_then(Value::as_array).into_iter().flatten();
    all.filter(move |one| one.get("@type").and_then(Value::as_str).is_some_and(|name| name.ends_with(kind)))
}

fn is_reason(rpc_error: &Value, reason: &str) -> bool {
    details(rpc_error, "google.rpc.ErrorInfo")
        .any(|info| info.get("reason").and_then(Value::as_str) == Some(reason))
}

/// Whether a quota per day is exhausted. Waiting a minute does not help, although the provider suggests it.
fn is_daily_quota_exhausted(rpc_error: &Value) -> bool {
    let violations = details(rpc_error, "google.rpc.QuotaFailure")
        .filter_map(|failure| failure.get("violations").and_then(Value::as_array))
        .flatten();
    let mut quotas = violations.filter_map(|violation| violation.get("quotaId").and_then(Value::as_str));
    quotas.any(|quota| quota.contains("PerDay"))
}

/// Parses the time to wait, such as `"37s"` or `"1.5s"`.
fn retry_delay(rpc_error: &Value) -> Option<Duration> {
    let delay =
        details(rpc_error, "google.rpc.RetryInfo").find_map(|info| info.get("retryDelay")?.as_str())?;
    let seconds: f64 = delay.strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok().map(|wait| wait.min(LONGEST_WAIT))
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
