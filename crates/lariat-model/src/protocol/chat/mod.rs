//! Implements OpenAI Chat Completions, for OpenAI and all compatible providers.
//!
//! `backend` is the table of providers and `dialect` defines how they differ. `request` builds requests,
//! `validate` rejects what the provider would reject, `stream` decodes replies (with `calls`, `stop` and the
//! tolerant fields of `fields`), and `error` classifies failures. OpenAI Responses reuses the errors, fields
//! and schemas. Invariant: differences between providers are data, not code.

pub mod backend;
mod call_matcher;
pub mod dialect;
pub(crate) mod error;
pub(crate) mod fields;
mod finish_reason;
#[cfg(test)]
pub(crate) mod fixtures;
pub(crate) mod listing;
pub(crate) mod request;
pub(crate) mod schema;
mod stream;
mod thinking;
pub(crate) mod validate;

use lariat_core::model::{ModelConfig, ProviderError, StreamConfig};

use self::dialect::KeyNeed;
use crate::protocol::{ApiProtocol, Protocol};
use crate::wire::{Auth, Decoder, Failure, Framing, ListedModel, OutgoingRequest};

/// The OpenAI Chat Completions protocol.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chat;

/// Builds the address of an endpoint. The base may end in slashes or already contain the endpoint.
pub(crate) fn address(base: &str, endpoint: &str) -> String {
    let base = base.trim_end_matches('/');
    let base =
        base.strip_suffix("/chat/completions").or_else(|| base.strip_suffix("/responses")).unwrap_or(base);
    format!("{base}/{endpoint}")
}

fn base_url(model: &ModelConfig) -> Result<&str, ProviderError> {
    let base = if model.base_url.is_empty() { backend::backend(model).base_url } else { &model.base_url };
    if base.is_empty() {
        let name = &model.provider;
        return Err(ProviderError::Other(format!("unknown provider `{name}`: set `base_url`").into()));
    }
    Ok(base)
}

fn auth(model: &ModelConfig, need: KeyNeed) -> Auth {
    match need {
        KeyNeed::Optional if model.api_key.expose().is_none() => Auth::None,
        _ => Auth::Bearer,
    }
}

impl Protocol for Chat {
    fn api(&self) -> ApiProtocol {
        ApiProtocol::OpenAiChat
    }

    fn request(&self, request: &StreamConfig) -> Result<OutgoingRequest, ProviderError> {
        let model = &request.model_config;
        let dialect = backend::dialect(model)?;
        let url = address(base_url(model)?, "chat/completions");
        let body = request::body(request, &dialect)?;
        OutgoingRequest::post(url, auth(model, dialect.key), body)
            .header("accept", "text/event-stream")
            .with_headers_of(model)
    }

    fn decoder(&self, request: &StreamConfig) -> Decoder {
        let dialect = backend::dialect(&request.model_config).unwrap_or(backend::GENERIC);
        Decoder::new(Framing::sse(), stream::ChunkInterpreter::new(&dialect))
    }

    fn classify(&self, failure: &Failure<'_>) -> ProviderError {
        error::classify(failure)
    }

    fn list_request(&self, model: &ModelConfig) -> Option<OutgoingRequest> {
        let dialect = backend::dialect(model).ok()?;
        let url = address(base_url(model).ok()?, "models");
        OutgoingRequest::get(url, auth(model, dialect.key)).with_headers_of(model).ok()
    }

    fn parse_models(&self, body: &[u8]) -> Result<Vec<ListedModel>, ProviderError> {
        listing::parse_models(body)
    }
}
