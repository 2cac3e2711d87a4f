//! Asking a service how many tokens a request would take: the request that would be sent, cut down to what counts.
//!
//! Owns the cutting and the reading of the answer's one number. Costs a parse of the body, which is nothing beside the
//! call; it is asked rarely.

use bytes::Bytes;
use http::header::ACCEPT;
use lariat_core::model::ProviderError;
use serde_json::{Map, Value};

use super::Outgoing;

/// The fields of a request's body that a count takes.
pub(crate) fn picked(outgoing: &Outgoing, fields: &[&str]) -> Result<Map<String, Value>, ProviderError> {
    let body: Map<String, Value> = serde_json::from_slice(&outgoing.body)
        .map_err(|error| ProviderError::Other(format!("the request to be counted: {error}").into()))?;
    Ok(body.into_iter().filter(|(name, _)| fields.contains(&name.as_str())).collect())
}

/// The same request with another address and body, answered by JSON.
pub(crate) fn redirected(mut outgoing: Outgoing, url: String, body: impl Into<Value>) -> Outgoing {
    outgoing.url = url;
    outgoing.body = Bytes::from(body.into().to_string());
    outgoing.headers.remove(ACCEPT);
    outgoing
}

/// The number in an answer.
pub(crate) fn counted(body: &[u8], field: &str) -> Result<u64, ProviderError> {
    let answer: Option<Value> = serde_json::from_slice(body).ok();
    let number = answer.as_ref().and_then(|answer| answer.get(field)?.as_u64());
    number.ok_or_else(|| ProviderError::InvalidReply(format!("the count has no `{field}`").into()))
}
