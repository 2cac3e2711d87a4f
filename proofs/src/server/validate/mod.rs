//! Validates requests like the real APIs, protocol by protocol, on plain JSON.
//!
//! Each protocol has a module with its rules; this one applies them in the order of a server: the address,
//! the key, the body. The messages are those of the API where it states what it expects.
//! Invariant: the real API does not reject the shape of a request that passes here. Where compatible servers
//! are stricter than the original (for example, ids that are unique in the whole history), so is this
//! validator.

mod access;
mod anthropic;
mod bedrock;
mod chat;
mod gemini;
mod images;
mod names;
mod open_ai_tools;
mod problem;
mod responses;
mod schema;
mod sha256;
mod sigv4;

pub use problem::Problem;
pub use sigv4::{ACCESS_KEY, SECRET_KEY};

use http::HeaderMap;
use serde_json::Value;

use super::render::ApiError;
use super::{Operation, Wire};

/// The key that every protocol rejects, also as an access key id.
pub const WRONG_KEY: &str = "wrong";

/// Problems of a body; empty if it is valid. `model` is the model of the path, if the path names it.
#[must_use]
pub fn body(wire: Wire, model: &str, body: &Value) -> Vec<Problem> {
    match wire {
        Wire::AnthropicMessages => anthropic::problems(body),
        Wire::OpenAiChat => chat::problems(body),
        Wire::OpenAiResponses | Wire::AzureResponses => responses::problems(body),
        Wire::Gemini | Wire::Vertex => gemini::problems(wire, model, body),
        Wire::BedrockConverse => bedrock::problems(model, body),
    }
}

/// Checks a whole POST request: address, key, headers, body. `path` may have a query. Only an AWS signature
/// needs the exact bytes of the body; use [`check_bytes`] to verify it.
///
/// # Errors
///
/// Returns the error response that the API of `wire` would send.
pub fn check(wire: Wire, path: &str, headers: &HeaderMap, body: &Value) -> Result<(), ApiError> {
    check_parsed(wire, path, headers, body, None).map_err(|refusal| refusal.answer)
}

/// Checks a whole POST request from its bytes.
///
/// # Errors
///
/// Returns the error response that the API of `wire` would send.
pub fn check_bytes(wire: Wire, path: &str, headers: &HeaderMap, bytes: &[u8]) -> Result<(), ApiError> {
    match serde_json::from_slice(bytes) {
        Ok(parsed) => {
            check_parsed(wire, path, headers, &parsed, Some(bytes)).map_err(|refusal| refusal.answer)
        }
        Err(_) => Err(ApiError::new(wire, 400, "The request body is not valid JSON.")),
    }
}

/// An error response and the problems that caused it.
pub(crate) struct Refusal {
    pub(crate) answer: ApiError,
    pub(crate) problems: Vec<Problem>,
}

impl From<ApiError> for Refusal {
    fn from(answer: ApiError) -> Self {
        Self { answer, problems: Vec::new() }
    }
}

pub(crate) fn check_parsed(
    wire: Wire,
    path: &str,
    headers: &HeaderMap,
    parsed: &Value,
    bytes: Option<&[u8]>,
) -> Result<(), Refusal> {
    let (bare, query) = path.split_once('?').unwrap_or((path, ""));
    let Some(Operation::Generate { model, streaming }) = wire.operation(bare) else {
        return Err(ApiError::new(wire, 404, "Not Found").into());
    };
    access::check(wire, "POST", path, headers, bytes)?;
    access::headers(wire, headers)?;
    let mut found = access::query(wire, query, streaming);
    if wire == Wire::AnthropicMessages
        && headers.get("anthropic-version").is_some_and(|version| version == "2026-10-21")
    {
        found.extend(anthropic::problems_since_2026_10_21(parsed));
    }
    found.extend(body(wire, model.as_deref().unwrap_or_default(), parsed));
    match found.first() {
        None => Ok(()),
        Some(first) => Err(Refusal { answer: problem::answer(wire, first), problems: found }),
    }
}

/// Checks a token-counting request: its key with its own path and bytes, the rest like the request that it
/// wraps.
pub(crate) fn check_counted(
    wire: Wire,
    path: &str,
    headers: &HeaderMap,
    reply: &Value,
    bytes: &[u8],
) -> Result<(), Refusal> {
    access::check(wire, "POST", path, headers, Some(bytes))?;
    access::headers(wire, headers)?;
    let (bare, _) = path.split_once('?').unwrap_or((path, ""));
    let Some(Operation::Count { model }) = wire.operation(bare) else {
        return Err(ApiError::new(wire, 404, "Not Found").into());
    };
    let found = body(wire, model.as_deref().unwrap_or_default(), reply);
    match found.first() {
        None => Ok(()),
        Some(first) => Err(Refusal { answer: problem::answer(wire, first), problems: found }),
    }
}

/// Checks the key of a GET request, such as a list of models.
pub(crate) fn check_access(wire: Wire, path: &str, headers: &HeaderMap) -> Result<(), ApiError> {
    access::check(wire, "GET", path, headers, Some(b""))?;
    access::headers(wire, headers)
}

#[cfg(test)]
mod tests;
