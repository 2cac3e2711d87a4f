//! Builds requests that ask a provider how many tokens a model request has, and reads the count from the
//! response.
//!
//! The count request is the model request reduced to the fields that the counting endpoint accepts. That
//! costs a parse of the body, which is negligible next to the HTTP request, and counts are rarely requested.

use bytes::Bytes;
use http::header::ACCEPT;
use lariat_core::model::ProviderError;
use serde_json::{Map, Value};

use super::OutgoingRequest;

/// Returns the fields of the request body that the counting endpoint accepts.
pub(crate) fn pick_fields(
    outgoing: &OutgoingRequest,
    fields: &[&str],
) -> Result<Map<String, Value>, ProviderError> {
    let body: Map<String, Value> = serde_json::from_slice(&outgoing.body).map_err(|error| {
        ProviderError::Other(format!("cannot build the token count request: {error}").into())
    })?;
    Ok(body.into_iter().filter(|(name, _)| fields.contains(&name.as_str())).collect())
}

/// Replaces address and body of the request. The response is JSON instead of a stream.
pub(crate) fn redirect(
    mut outgoing: OutgoingRequest,
    url: String,
    body: impl Into<Value>,
) -> OutgoingRequest {
    outgoing.url = url;
    outgoing.body = Bytes::from(body.into().to_string());
    outgoing.headers.remove(ACCEPT);
    outgoing
}

/// Returns the number in `field` of the response.
pub(crate) fn parse_count(body: &[u8], field: &str) -> Result<u64, ProviderError> {
    let answer: Option<Value> = serde_json::from_slice(body).ok();
    let number = answer.as_ref().and_then(|answer| answer.get(field)?.as_u64());
    number.ok_or_else(|| {
        ProviderError::InvalidReply(format!("the token count response has no `{field}`").into())
    })
}
