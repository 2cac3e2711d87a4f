//! Tests that every error type is classified alike as a status and as an event.

use http::{HeaderMap, HeaderValue};
use lariat_core::time::Timestamp;
use serde_json::json;

use super::*;

fn variant(error: &ProviderError) -> &'static str {
    match error {
        ProviderError::RateLimited(_) => "rate limited",
        ProviderError::Network(_) => "network",
        ProviderError::Auth(_) => "auth",
        ProviderError::Api(_) => "api",
        ProviderError::ContextOverflow(_) => "overflow",
        ProviderError::InvalidReply(_) => "invalid",
        _ => "other",
    }
}

fn classified(status: u16, body: &str) -> ProviderError {
    let mut headers = HeaderMap::new();
    headers.insert("retry-after", HeaderValue::from_static("7"));
    classify(&Failure { status, headers: &headers, body: body.as_bytes(), now: Timestamp::default() })
}

#[test]
fn classifies_every_error_type() {
    let cases = [
        (400, "invalid_request_error", "messages.1: all is wrong", "api"),
        (400, "invalid_request_error", "prompt is too long: 200082 tokens > 199999 maximum", "overflow"),
        (
            400,
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit: 1 + 2 > 2",
            "overflow",
        ),
        (401, "authentication_error", "invalid x-api-key", "auth"),
        (402, "billing_error", "no credit", "api"),
        (403, "permission_error", "not yours", "auth"),
        (404, "not_found_error", "model: claude-x", "api"),
        (413, "request_too_large", "Request exceeds the maximum size", "overflow"),
        (429, "rate_limit_error", "slow down", "rate limited"),
        (500, "api_error", "Internal server error", "network"),
        (504, "timeout_error", "took too long", "network"),
        (529, "overloaded_error", "Overloaded", "rate limited"),
    ];
    for (status, kind, message, meaning) in cases {
        let body =
            json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"});
        let error = classified(status, &body.to_string());
        assert_eq!(variant(&error), meaning, "{kind}: {message}");
        assert_eq!((error.status(), error.request_id()), (Some(status), Some("req_1")), "{kind}");
        assert_eq!(error.detail().unwrap().message, message);
        let event = in_stream(&body.to_string());
        assert_eq!((variant(&event), event.status()), (meaning, None), "{kind} as an event");
    }
}

#[test]
fn conflict_and_timeout_statuses_can_be_retried_for_any_type() {
    let body =
        json!({"type": "error", "error": {"type": "invalid_request_error", "message": "x"}}).to_string();
    for status in [408, 409] {
        assert_eq!(variant(&classified(status, &body)), "network", "{status}");
    }
}

#[test]
fn spend_limit_is_not_a_rate_limit() {
    let body = json!({"error": {"type": "rate_limit_error", "message": "limit",
        "details": {"error_code": "enforced_spend_limit_reached"}}});
    let error = classified(429, &body.to_string());
    assert_eq!(variant(&error), "api");
    assert!(!error.is_retryable());
}

#[test]
fn retry_wait_comes_from_the_headers() {
    let body = json!({"error": {"type": "overloaded_error", "message": "Overloaded"}}).to_string();
    assert_eq!(classified(529, &body).retry_after(), Some(std::time::Duration::from_secs(7)));
}

#[test]
fn unknown_body_is_classified_by_its_status() {
    assert_eq!(variant(&classified(502, "<html><title>Bad Gateway</title></html>")), "network");
    assert_eq!(variant(&classified(400, r#"{"error":{"type":"new_error","message":"x"}}"#)), "api");
    assert_eq!(variant(&classified(400, r#"{"error":"text","request_id":7}"#)), "api");
    assert_eq!(variant(&classified(200, r#"{"id":"x"}"#)), "invalid");
}

#[test]
fn error_with_status_200_is_classified_by_its_type() {
    let body = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    assert_eq!(variant(&classified(200, &body.to_string())), "rate limited");
}

#[test]
fn error_event_without_details_is_a_network_error() {
    for data in ["", "oops", "{}", r#"{"error":null}"#, r#"{"error":{"type":null,"message":"x"}}"#] {
        assert_eq!(variant(&in_stream(data)), "network", "{data}");
    }
}
