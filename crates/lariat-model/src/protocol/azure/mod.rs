//! Implements OpenAI Responses on Azure: the same protocol at `{resource}/openai/v1`, with the deployment in
//! `model`.
//!
//! Only the address and the key's header differ from [`super::responses`]. Invariant: a query in the
//! configured address (an API version) is kept, and a key is never part of it.

use lariat_core::model::{ModelConfig, ProviderError, StreamConfig};

use super::chat::{error, listing};
use super::responses;
use crate::protocol::{ApiProtocol, Protocol};
use crate::wire::{Auth, Decoder, Failure, ListedModel, OutgoingRequest};

/// The Azure variant of the Responses protocol.
#[derive(Clone, Copy, Debug, Default)]
pub struct Azure;

const KEY: Auth = Auth::Header("api-key");

/// Builds the address of an endpoint of a resource, whichever part of the path the configuration already
/// contains.
fn address(model: &ModelConfig, endpoint: &str) -> Result<String, ProviderError> {
    let (base, query) = match model.base_url.split_once('?') {
        Some((base, query)) => (base, format!("?{query}")),
        None => (model.base_url.as_str(), String::new()),
    };
    let base = base.trim_end_matches('/');
    let base = base.strip_suffix("/responses").unwrap_or(base);
    let base = base.strip_suffix("/v1").unwrap_or(base);
    let base = base.strip_suffix("/openai").unwrap_or(base);
    if base.is_empty() {
        let example = "https://RESOURCE.openai.azure.com";
        return Err(ProviderError::Other(
            format!("Azure requires `base_url` of a resource, such as {example}").into(),
        ));
    }
    Ok(format!("{base}/openai/v1/{endpoint}{query}"))
}

impl Protocol for Azure {
    fn api(&self) -> ApiProtocol {
        ApiProtocol::AzureResponses
    }

    fn request(&self, request: &StreamConfig) -> Result<OutgoingRequest, ProviderError> {
        responses::post(request, self.api(), address(&request.model_config, "responses")?, KEY)
    }

    fn decoder(&self, _request: &StreamConfig) -> Decoder {
        responses::decoder()
    }

    fn classify(&self, failure: &Failure<'_>) -> ProviderError {
        error::classify(failure)
    }

    fn list_request(&self, model: &ModelConfig) -> Option<OutgoingRequest> {
        OutgoingRequest::get(address(model, "models").ok()?, KEY).with_headers_of(model).ok()
    }

    fn parse_models(&self, body: &[u8]) -> Result<Vec<ListedModel>, ProviderError> {
        listing::parse_models(body)
    }
}

#[cfg(test)]
mod tests;
