use http::HeaderMap;
use serde_json::{Value, json};

use super::super::{ACCESS_KEY, WRONG_KEY, check, check_bytes};
use crate::server::{ApiError, Wire};

fn request(wire: Wire) -> (&'static str, Value) {
    let gemini = json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}]});
    match wire {
        Wire::AnthropicMessages => (
            "/anthropic/v1/messages",
            json!({"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}),
        ),
        Wire::OpenAiChat => (
            "/chat/v1/chat/completions",
            json!({"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]}),
        ),
        Wire::OpenAiResponses => ("/responses/v1/responses", json!({"model": "gpt-4o", "input": "hi"})),
        Wire::AzureResponses => ("/azure/openai/v1/responses", json!({"model": "gpt-4o", "input": "hi"})),
        Wire::Gemini => ("/gemini/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse", gemini),
        Wire::Vertex => (
            "/vertex/v1/projects/p/locations/l/publishers/google/models/gemini-2.5-pro:generateContent",
            gemini,
        ),
        Wire::BedrockConverse => (
            "/bedrock/model/m/converse",
            json!({"messages": [{"role": "user", "content": [{"text": "hi"}]}]}),
        ),
    }
}

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
}

fn key(wire: Wire, key: &str) -> HeaderMap {
    let bearer = format!("Bearer {key}");
    match wire {
        Wire::AnthropicMessages => headers(&[("x-api-key", key), ("anthropic-version", "2023-06-01")]),
        Wire::AzureResponses => headers(&[("api-key", key)]),
        Wire::Gemini => headers(&[("x-goog-api-key", key)]),
        _ => headers(&[("authorization", &bearer)]),
    }
}

fn refusal(wire: Wire, headers: &HeaderMap) -> ApiError {
    let (path, body) = request(wire);
    check(wire, path, headers, &body).unwrap_err()
}

#[test]
fn any_key_except_the_wrong_one_is_accepted() {
    for wire in Wire::ALL {
        let (path, body) = request(wire);
        assert_eq!(check(wire, path, &key(wire, "secret"), &body), Ok(()), "{wire}");
        let status = if wire == Wire::Gemini {
            400
        } else if wire == Wire::BedrockConverse {
            403
        } else {
            401
        };
        assert_eq!(refusal(wire, &key(wire, WRONG_KEY)).status, status, "{wire}");
        let status = if matches!(wire, Wire::Gemini | Wire::BedrockConverse) { 403 } else { 401 };
        assert_eq!(refusal(wire, &headers(&[])).status, status, "{wire}");
    }
}

#[test]
fn anthropic_requires_its_version_header() {
    let answer = refusal(Wire::AnthropicMessages, &headers(&[("x-api-key", "secret")]));
    assert!(String::from_utf8(answer.body).unwrap().contains("anthropic-version: header is required"));
}

#[test]
fn the_newest_version_of_anthropic_rejects_sampling_parameters() {
    let (path, mut body) = request(Wire::AnthropicMessages);
    body["model"] = json!("claude-sonnet-4-5");
    body["temperature"] = json!(1);
    let version = |version| headers(&[("x-api-key", "k"), ("anthropic-version", version)]);
    assert_eq!(check(Wire::AnthropicMessages, path, &version("2023-06-01"), &body), Ok(()));
    let answer = check(Wire::AnthropicMessages, path, &version("2026-10-21"), &body).unwrap_err();
    assert!(String::from_utf8(answer.body).unwrap().contains("temperature: Extra inputs"));
    let (_, mut body) = request(Wire::AnthropicMessages);
    body["messages"] = json!([{"role": "user", "content": "a"}, {"role": "assistant", "content": [
        {"type": "document", "source": {}}]}, {"role": "user", "content": "b"}]);
    let answer = check(Wire::AnthropicMessages, path, &version("2026-10-21"), &body).unwrap_err();
    assert!(String::from_utf8(answer.body).unwrap().contains("`document` blocks"));
    assert!(check(Wire::AnthropicMessages, path, &version("2024-01-01"), &body).is_err());
}

#[test]
fn a_key_in_the_url_and_a_google_stream_without_sse_are_rejected() {
    let (_, body) = request(Wire::Gemini);
    let base = "/gemini/v1beta/models/gemini-2.5-pro:streamGenerateContent";
    for (query, expected) in [("?alt=sse&key=x", "belongs in a header"), ("", "without alt=sse")] {
        let answer =
            check(Wire::Gemini, &format!("{base}{query}"), &key(Wire::Gemini, "k"), &body).unwrap_err();
        assert!(String::from_utf8(answer.body).unwrap().contains(expected), "{query}");
    }
}

#[test]
fn a_problem_gets_an_error_in_the_format_of_the_api() {
    for wire in Wire::ALL {
        let (path, mut body) = request(wire);
        body["nonsense"] = json!(1);
        let answer = check(wire, path, &key(wire, "secret"), &body).unwrap_err();
        assert_eq!(answer.status, 400);
        assert!(String::from_utf8(answer.body).unwrap().contains("nonsense"), "{wire}");
    }
}

/// Signed by botocore 1.44 with the known key pair, for a model id with a colon in it.
const SIGNED: &str = include_str!("signed_by_botocore.json");

fn signed() -> (String, HeaderMap, String) {
    let recorded: Value = serde_json::from_str(SIGNED).unwrap();
    let headers = recorded["headers"].as_object().unwrap();
    let headers = headers
        .iter()
        .map(|(name, value)| (name.parse().unwrap(), value.as_str().unwrap().parse().unwrap()))
        .collect();
    (recorded["path"].as_str().unwrap().to_owned(), headers, recorded["body"].as_str().unwrap().to_owned())
}

#[test]
fn a_signature_made_by_the_official_library_is_accepted() {
    let (path, headers, body) = signed();
    assert_eq!(check_bytes(Wire::BedrockConverse, &path, &headers, body.as_bytes()), Ok(()));
}

#[test]
fn a_signed_request_that_was_changed_is_rejected() {
    let (path, headers, body) = signed();
    let changed = body.replace("hi", "ho");
    let answer = check_bytes(Wire::BedrockConverse, &path, &headers, changed.as_bytes()).unwrap_err();
    assert!(answer.headers.contains(&("x-amzn-errortype".into(), "InvalidSignatureException".into())));
    let other = path.replace("converse", "converse-stream");
    assert!(check_bytes(Wire::BedrockConverse, &other, &headers, body.as_bytes()).is_err());
    let mut dated = headers.clone();
    dated.insert("x-amz-date", "20260102T030405Z".parse().unwrap());
    assert!(check_bytes(Wire::BedrockConverse, &path, &dated, body.as_bytes()).is_err());
}

#[test]
fn a_malformed_signature_is_rejected() {
    let (path, headers, body) = signed();
    let good = headers["authorization"].to_str().unwrap().to_owned();
    for (from, to) in [
        ("AWS4-HMAC-SHA256", "AWS3"),
        ("Credential=", "Creds="),
        ("/bedrock/", "/s3/"),
        (";host;", ";hosts;"),
        (ACCESS_KEY, WRONG_KEY),
    ] {
        let mut broken = headers.clone();
        let text = good.replace(from, to);
        assert_ne!(text, good, "{from}");
        broken.insert("authorization", text.parse().unwrap());
        let answer = check_bytes(Wire::BedrockConverse, &path, &broken, body.as_bytes()).unwrap_err();
        assert_eq!(answer.status, 403, "{from}");
    }
}
