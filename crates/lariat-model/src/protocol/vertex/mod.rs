//! Implements Google Vertex AI: Gemini's protocol in a Google Cloud project.
//!
//! The address contains project and region, and the key is an access token. Everything else is
//! [`super::gemini`]. Project and region come from `compat` (`{"project": …, "region": …}`) or from a base
//! URL that contains them.
//! Invariant: a request without a project fails before it is sent, with an error that says how to set one.

mod address;

use lariat_core::model::{ModelConfig, ProviderError, StreamConfig};

use super::gemini;
use crate::protocol::{ApiProtocol, Protocol};
use crate::wire::{Auth, Decoder, Failure, ListedModel, OutgoingRequest, counting};

/// Fields of a request that the counting endpoint accepts.
const COUNT_FIELDS: [&str; 4] = ["contents", "generationConfig", "systemInstruction", "tools"];

/// Google Gemini on Vertex AI.
#[derive(Clone, Copy, Debug, Default)]
pub struct Vertex;

impl Protocol for Vertex {
    fn api(&self) -> ApiProtocol {
        ApiProtocol::GoogleVertex
    }

    fn request(&self, request: &StreamConfig) -> Result<OutgoingRequest, ProviderError> {
        let url = address::generate(&request.model_config)?;
        let body = gemini::body(request, self.api())?;
        OutgoingRequest::post(url, Auth::Bearer, body).with_headers_of(&request.model_config)
    }

    fn decoder(&self, _request: &StreamConfig) -> Decoder {
        gemini::decoder()
    }

    fn classify(&self, failure: &Failure<'_>) -> ProviderError {
        gemini::classify(failure)
    }

    fn list_request(&self, model: &ModelConfig) -> Option<OutgoingRequest> {
        OutgoingRequest::get(address::list(model), Auth::Bearer).with_headers_of(model).ok()
    }

    fn parse_models(&self, body: &[u8]) -> Result<Vec<ListedModel>, ProviderError> {
        gemini::parse_models(body)
    }

    fn count_request(&self, request: &StreamConfig) -> Result<Option<OutgoingRequest>, ProviderError> {
        let outgoing = self.request(request)?;
        let body = counting::pick_fields(&outgoing, &COUNT_FIELDS)?;
        Ok(Some(counting::redirect(outgoing, address::count(&request.model_config)?, body)))
    }

    fn parse_count(&self, body: &[u8]) -> Result<u64, ProviderError> {
        counting::parse_count(body, gemini::COUNT)
    }
}

#[cfg(test)]
mod tests;
