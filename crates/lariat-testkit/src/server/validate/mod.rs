//! What the real APIs refuse, protocol by protocol, on plain JSON.
//!
//! One module per protocol holds its rules; this one puts them in the order in which a server meets them: the address,
//! the key, the body. Where an API says what it expects, so do we, in its words.
//! Invariant: a request that passes here is not refused by the real API for its shape. Where compatible servers are
//! stricter than the original (ids that are unique in the whole history, say), so are we.

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

/// The key that every protocol refuses. As access key id, too.
pub const WRONG_KEY: &str = "wrong";

/// What is wrong with a body; empty when nothing is. `model` is the model of the path, where the path names it.
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

/// Checks a whole POST request: address, key, headers, body. `path` may carry a query. Only a signature of AWS needs
/// the exact bytes of the body; use [`check_bytes`] to have it verified.
///
/// # Errors
///
/// The answer that the API of `wire` would send instead of a reply.
pub fn check(wire: Wire, path: &str, headers: &HeaderMap, body: &Value) -> Result<(), ApiError> {
    check_parsed(wire, path, headers, body, None).map_err(|refusal| refusal.answer)
}

/// Checks a whole POST request from its bytes.
///
/// # Errors
///
/// The answer that the API of `wire` would send instead of a reply.
pub fn check_bytes(wire: Wire, path: &str, headers: &HeaderMap, bytes: &[u8]) -> Result<(), ApiError> {
    match serde_json::from_slice(bytes) {
        Ok(parsed) => {
            check_parsed(wire, path, headers, &parsed, Some(bytes)).map_err(|refusal| refusal.answer)
        }
        Err(_) => Err(ApiError::new(wire, 400, "The request body is not valid JSON.")),
    }
}

/// A refusal, and what led to it.
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

/// Checks a request to count: its key by its own path and bytes, the rest as the request for a reply that it counts.
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

/// Checks the key of a GET request, such as a listing of models.
pub(crate) fn check_access(wire: Wire, path: &str, headers: &HeaderMap) -> Result<(), ApiError> {
    access::check(wire, "GET", path, headers, Some(b""))?;
    access::headers(wire, headers)
}

#[cfg(test)]
mod tests;
