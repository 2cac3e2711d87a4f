//! Validates keys, versions and other headers that an API checks before it reads the body.
//!
//! Every key is accepted except [`super::WRONG_KEY`]; an AWS signature made with the known key pair is
//! verified fully.
//! Invariant: a request without a key is always rejected, and a key in the URL is always a problem.

use http::HeaderMap;
use serde_json::json;

use super::problem::{Problem, Problems};
use super::{WRONG_KEY, sigv4};
use crate::server::Wire;
use crate::server::render::{ApiError, open_ai_error};

/// Checks the key.
pub(super) fn check(
    wire: Wire,
    method: &str,
    path: &str,
    headers: &HeaderMap,
    body: Option<&[u8]>,
) -> Result<(), ApiError> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let bearer = header("authorization").and_then(|value| value.strip_prefix("Bearer "));
    let key = match wire {
        Wire::AnthropicMessages => header("x-api-key").or(bearer),
        Wire::OpenAiChat | Wire::OpenAiResponses => bearer,
        Wire::AzureResponses => header("api-key").or(bearer),
        Wire::Gemini => header("x-goog-api-key").or(bearer),
        Wire::Vertex => bearer.or(header("x-goog-api-key")),
        Wire::BedrockConverse => {
            if let (None, Some(authorization)) = (bearer, header("authorization")) {
                return sigv4::check(authorization, method, path, headers, body);
            }
            bearer
        }
    };
    match key {
        None | Some("") => Err(missing(wire)),
        Some(WRONG_KEY) => Err(wrong(wire)),
        Some(_) => Ok(()),
    }
}

/// Checks the headers other than the key.
pub(super) fn headers(wire: Wire, headers: &HeaderMap) -> Result<(), ApiError> {
    if wire != Wire::AnthropicMessages {
        return Ok(());
    }
    match headers.get("anthropic-version").and_then(|version| version.to_str().ok()) {
        None => Err(ApiError::new(wire, 400, "anthropic-version: header is required")),
        Some("2023-01-01" | "2023-06-01" | "2026-10-21") => Ok(()),
        Some(other) => {
            let message = format!("anthropic-version: \"{other}\" is not a valid version");
            Err(ApiError::new(wire, 400, &message))
        }
    }
}

/// Checks the query: it must not contain a key, and Google's streams must be server-sent events.
pub(super) fn query(wire: Wire, query: &str, streaming: Option<bool>) -> Vec<Problem> {
    let mut found = Problems::default();
    for pair in query.split('&') {
        let name = pair.split('=').next().unwrap_or_default();
        if matches!(name, "key" | "api-key" | "api_key" | "access_token" | "subscription-key") {
            found.at(format_args!("{name}"), "a key belongs in a header: URLs end up in logs");
        }
    }
    let google = matches!(wire, Wire::Gemini | Wire::Vertex);
    if google && streaming == Some(true) && !query.split('&').any(|pair| pair == "alt=sse") {
        found.at(
            format_args!("alt"),
            "without alt=sse the stream is one JSON array, which this server does not support",
        );
    }
    found.0
}

fn missing(wire: Wire) -> ApiError {
    match wire {
        Wire::AnthropicMessages => ApiError::new(wire, 401, "x-api-key header is required"),
        Wire::OpenAiChat | Wire::OpenAiResponses => {
            let message = "You didn't provide an API key. You need to provide your API key in an Authorization header \
                           using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).";
            ApiError::with_body(wire, 401, &open_ai_error(message, "invalid_request_error", "", ""))
        }
        Wire::AzureResponses => azure(),
        Wire::Gemini => {
            let message = "Method doesn't allow unregistered callers (callers without established identity). Please \
                           use API Key or other form of API consumer identity to call this API.";
            ApiError::new(wire, 403, message)
        }
        Wire::Vertex => unauthenticated(),
        Wire::BedrockConverse => ApiError::new(wire, 403, "Missing Authentication Token")
            .header("x-amzn-errortype", "MissingAuthenticationTokenException"),
    }
}

fn wrong(wire: Wire) -> ApiError {
    match wire {
        Wire::AnthropicMessages => ApiError::new(wire, 401, "invalid x-api-key"),
        Wire::OpenAiChat | Wire::OpenAiResponses => {
            let message =
                "Incorrect API key provided: wrong. You can find your API key in your account settings.";
            ApiError::new(wire, 401, message)
        }
        Wire::AzureResponses => azure(),
        Wire::Gemini => {
            let message = "API key not valid. Please pass a valid API key.";
            let details = json!([{
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": "API_KEY_INVALID",
                "domain": "googleapis.com",
            }]);
            let error =
                json!({"code": 400, "message": message, "status": "INVALID_ARGUMENT", "details": details});
            ApiError::with_body(wire, 400, &json!({"error": error}))
        }
        Wire::Vertex => unauthenticated(),
        Wire::BedrockConverse => {
            ApiError::new(wire, 403, "Authentication failed: Please make sure your API Key is valid.")
        }
    }
}

fn azure() -> ApiError {
    let message = "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid \
                   key for an active subscription and use a correct regional API endpoint for your resource.";
    ApiError::new(Wire::AzureResponses, 401, message)
}

fn unauthenticated() -> ApiError {
    let message = "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or \
                   other valid authentication credential.";
    ApiError::new(Wire::Vertex, 401, message)
}
