//! Tests that every exception is classified alike by status, header, body and frame.

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

fn classified(status: u16, kind: Option<&str>, body: &str) -> ProviderError {
    let mut headers = HeaderMap::new();
    headers.insert("x-amzn-requestid", HeaderValue::from_static("r-1"));
    if let Some(kind) = kind {
        headers.insert("x-amzn-errortype", kind.parse().unwrap());
    }
    classify(&Failure { status, headers: &headers, body: body.as_bytes(), now: Timestamp::default() })
}

#[test]
fn classifies_every_exception_from_header_body_or_frame() {
    let cases = [
        (403, "AccessDeniedException", "no access", "auth"),
        (403, "UnrecognizedClientException", "The security token is invalid.", "auth"),
        (403, "ExpiredTokenException", "expired", "auth"),
        (429, "ThrottlingException", "Too many tokens, please wait before trying again.", "rate limited"),
        (400, "ServiceQuotaExceededException", "quota", "rate limited"),
        (429, "ModelNotReadyException", "warming up", "rate limited"),
        (404, "ResourceNotFoundException", "no such model", "api"),
        (408, "ModelTimeoutException", "slow", "network"),
        (500, "InternalServerException", "oops", "network"),
        (503, "ServiceUnavailableException", "later", "network"),
        (424, "ModelErrorException", "the model failed", "network"),
        (424, "ModelStreamErrorException", "the model failed", "network"),
        (400, "ValidationException", "messages.1 is wrong", "api"),
        (400, "ValidationException", "Input is too long for requested model.", "overflow"),
        (
            400,
            "ValidationException",
            "The model returned the following errors: prompt is too long: 200082 tokens > 199999 maximum",
            "overflow",
        ),
    ];
    for (status, name, message, meaning) in cases {
        let body = json!({"message": message}).to_string();
        let header = format!("{name}:http://internal.amazon.com/coral/com.amazon.bedrock/");
        let error = classified(status, Some(&header), &body);
        assert_eq!(variant(&error), meaning, "{name} {message}");
        assert_eq!((error.status(), error.request_id()), (Some(status), Some("r-1")));
        let typed =
            json!({"__type": format!("com.amazon.coral.service#{name}"), "Message": message}).to_string();
        assert_eq!(variant(&classified(status, None, &typed)), meaning, "{name} in the body");
        let framed = format!("{}{}", name[..1].to_lowercase(), &name[1..]);
        let event = in_stream(&framed, &body);
        assert_eq!((variant(&event), event.detail().unwrap().message.as_str()), (meaning, message));
    }
}

#[test]
fn throttled_model_behind_bedrock_is_a_rate_limit() {
    let body = json!({"message": "busy", "originalStatusCode": 429, "originalMessage": "busy"});
    assert_eq!(variant(&in_stream("modelStreamErrorException", &body.to_string())), "rate limited");
}

#[test]
fn unknown_exception_is_classified_by_its_status() {
    assert_eq!(variant(&classified(502, None, "<html><title>Bad Gateway</title></html>")), "network");
    assert_eq!(variant(&classified(400, Some("NewException"), "{}")), "api");
    assert_eq!(variant(&in_stream("newException", "")), "network");
    assert_eq!(variant(&in_stream("InternalError", "plain words")), "network");
}
