//! Tests how Google's errors are classified.

use http::HeaderMap;
use lariat_core::time::Timestamp;
use serde_json::json;

use super::*;

fn classify_response(status: u16, body: &[u8]) -> ProviderError {
    let headers = HeaderMap::new();
    classify(&Failure { status, headers: &headers, body, now: Timestamp::default() })
}

fn rpc(code: u16, status: &str, message: &str, details: Value) -> Value {
    json!({"error": {"code": code, "message": message, "status": status, "details": details}})
}

fn name(error: &ProviderError) -> &'static str {
    match error {
        ProviderError::RateLimited(_) => "rate",
        ProviderError::Network(_) => "network",
        ProviderError::Auth(_) => "auth",
        ProviderError::Api(_) => "api",
        ProviderError::ContextOverflow(_) => "overflow",
        ProviderError::InvalidReply(_) => "invalid",
        _ => "other",
    }
}

#[test]
fn classifies_every_status_in_responses_and_streams() {
    let rows = [
        (401, "UNAUTHENTICATED", "Request had invalid authentication credentials.", "auth"),
        (403, "PERMISSION_DENIED", "Permission denied on resource project x.", "auth"),
        (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", "auth"),
        (400, "INVALID_ARGUMENT", "API key expired. Please renew the API key.", "auth"),
        (400, "INVALID_ARGUMENT", "Invalid value at 'contents'.", "api"),
        (
            400,
            "INVALID_ARGUMENT",
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048575).",
            "overflow",
        ),
        (
            400,
            "INVALID_ARGUMENT",
            "Unable to submit request because the input token count is 1200000 but the model only supports up to \
             1048576. Reduce the input token count and try again.",
            "overflow",
        ),
        (400, "FAILED_PRECONDITION", "User location is not supported for the API use.", "api"),
        (404, "NOT_FOUND", "models/gemini-0 is not found for API version v1beta", "api"),
        (429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota).", "rate"),
        (500, "INTERNAL", "An internal error has occurred.", "network"),
        (503, "UNAVAILABLE", "The service is currently unavailable.", "network"),
        (503, "UNAVAILABLE", "The model is overloaded. Please try again later.", "rate"),
        (504, "DEADLINE_EXCEEDED", "Deadline expired before operation could complete.", "network"),
        (499, "CANCELLED", "The operation was cancelled.", "network"),
        (409, "ABORTED", "Aborted.", "network"),
        (418, "SOMETHING_NEW", "?", "api"),
        (502, "", "Bad gateway", "network"),
    ];
    for (code, status, message, meaning) in rows {
        let body = rpc(code, status, message, json!([]));
        let at_start = classify_response(code, body.to_string().as_bytes());
        assert_eq!((name(&at_start), at_start.status()), (meaning, Some(code)), "{status} {message}");
        assert_eq!(at_start.detail().unwrap().message, message);
        assert_eq!(name(&in_stream(&body["error"])), meaning, "{status} {message}");
        let listed = json!([body]);
        assert_eq!(
            name(&classify_response(code, listed.to_string().as_bytes())),
            meaning,
            "in a list: {status}"
        );
    }
}

#[test]
fn retry_wait_comes_from_the_details() {
    let retry =
        |delay: &str| json!([{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}]);
    for (delay, wait) in [
        ("37s", Some(37_000)),
        ("1.5s", Some(1_500)),
        ("99999s", Some(3_600_000)),
        ("soon", None),
        ("-1s", None),
    ] {
        let body = rpc(429, "RESOURCE_EXHAUSTED", "Quota exceeded", retry(delay));
        let wait = wait.map(Duration::from_millis);
        assert_eq!(classify_response(429, body.to_string().as_bytes()).retry_after(), wait, "{delay}");
        assert_eq!(in_stream(&body["error"]).retry_after(), wait, "{delay}");
    }
}

#[test]
fn exhausted_daily_quota_is_not_retried() {
    let quota = |id: &str| {
        json!([
            {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": id}]},
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "20s"},
        ])
    };
    let error = |id: &str| {
        classify_response(429, rpc(429, "RESOURCE_EXHAUSTED", "Quota", quota(id)).to_string().as_bytes())
    };
    assert!(!error("GenerateRequestsPerDayPerProjectPerModel-FreeTier").is_retryable());
    assert!(error("GenerateRequestsPerMinutePerProjectPerModel-FreeTier").is_retryable());
}

#[test]
fn rejected_key_is_recognised_by_its_reason() {
    let details = json!([{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]);
    assert_eq!(
        name(&classify_response(400, rpc(400, "INVALID_ARGUMENT", "?", details).to_string().as_bytes())),
        "auth"
    );
}

#[test]
fn other_bodies_are_classified_by_their_status() {
    for (status, body, meaning) in [
        (502, "<html><title>Bad gateway</title></html>", "network"),
        (404, "", "api"),
        (200, "{\"error\": \"strange\"}", "invalid"),
        (429, "{\"error\": null}", "rate"),
        (401, "[]", "auth"),
    ] {
        assert_eq!(name(&classify_response(status, body.as_bytes())), meaning, "{status} {body}");
    }
    assert_eq!(name(&in_stream(&json!("broken"))), "network");
    assert_eq!(name(&in_stream(&json!({"code": 429}))), "rate");
}
