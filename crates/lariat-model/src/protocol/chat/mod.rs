//! OpenAI Chat Completions, and everybody who speaks it.
//!
//! `backend` is the table of services, `dialect` the ways in which they differ; `request` builds, `validate`
//! guards, `stream` understands (with `calls`, `stop` and the tolerant fields of `piece`), `error` classifies.
//! Owns nothing of OpenAI Responses, which borrows the errors, the fields and the schemas from here.
//! Invariant: differences between services are data.

pub mod backend;
mod calls;
pub mod dialect;
pub(crate) mod error;
pub(crate) mod list;
pub(crate) mod piece;
pub(crate) mod request;
pub(crate) mod schema;
mod stop;
mod stream;
#[cfg(test)]
pub(crate) mod testing;
mod thinking;
pub(crate) mod validate;

use lariat_core::model::{ModelConfig, ProviderError, StreamConfig};

use self::dialect::KeyNeed;
use crate::protocol::{ApiProtocol, Protocol};
use crate::wire::{Auth, Decoder, Failure, Framing, ListedModel, Outgoing};

/// The protocol.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chat;

/// The address of an endpoint below a base that may have slashes at its end, or be the endpoint itself already.
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
        return Err(ProviderError::Other(
            format!("`{name}` is not a known service: set its base_url").into(),
        ));
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

    fn request(&self, request: &StreamConfig) -> Result<Outgoing, ProviderError> {
        let model = &request.model_config;
        let dialect = backend::dialect(model)?;
        let url = address(base_url(model)?, "chat/completions");
        let body = request::body(request, &dialect)?;
        Outgoing::post(url, auth(model, dialect.key), body)
            .header("accept", "text/event-stream")
            .with_headers_of(model)
    }

    fn decoder(&self, request: &StreamConfig) -> Decoder {
        let dialect = backend::dialect(&request.model_config).unwrap_or(backend::GENERIC);
        Decoder::new(Framing::sse(), stream::Chunks::new(&dialect))
    }

    fn classify(&self, failure: &Failure<'_>) -> ProviderError {
        error::classify(failure)
    }

    fn list_request(&self, model: &ModelConfig) -> Option<Outgoing> {
        let dialect = backend::dialect(model).ok()?;
        let url = address(base_url(model).ok()?, "models");
        Outgoing::get(url, auth(model, dialect.key)).with_headers_of(model).ok()
    }

    fn listed(&self, body: &[u8]) -> Result<Vec<ListedModel>, ProviderError> {
        list::listed(body)
    }
}
