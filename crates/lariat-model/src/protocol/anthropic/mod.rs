//! Implements Anthropic Messages: `POST /v1/messages`, with a response of named server-sent events.
//!
//! `request` builds requests, `validate` rejects what the provider would reject, `stream` decodes replies,
//! `error` classifies failures, and `thinking` knows which thinking parameters each generation of models
//! accepts (Bedrock uses it too). The types of the official SDK are the specification of the wire format.
//! Invariant: a model's own output goes back to it unchanged, including signatures and blocks of unknown
//! types.

mod error;
mod listing;
pub(crate) mod request;
mod stream;
pub(crate) mod thinking;
mod validate;

#[cfg(test)]
pub(crate) mod fixtures;

use lariat_core::model::{ModelConfig, ProviderError, StreamConfig};

use crate::protocol::{ApiProtocol, Protocol};
use crate::wire::{Decoder, Failure, Framing, ListedModel, OutgoingRequest, counting};

/// Fields of a request that the counting endpoint accepts.
const COUNT_FIELDS: [&str; 7] =
    ["messages", "model", "output_config", "system", "thinking", "tool_choice", "tools"];

/// The Anthropic Messages protocol.
#[derive(Clone, Copy, Debug, Default)]
pub struct Anthropic;

impl Protocol for Anthropic {
    fn api(&self) -> ApiProtocol {
        ApiProtocol::AnthropicMessages
    }

    fn request(&self, request: &StreamConfig) -> Result<OutgoingRequest, ProviderError> {
        request::build(request)
    }

    fn decoder(&self, _request: &StreamConfig) -> Decoder {
        Decoder::new(Framing::sse(), stream::MessagesInterpreter::default())
    }

    fn classify(&self, failure: &Failure<'_>) -> ProviderError {
        error::classify(failure)
    }

    fn list_request(&self, model: &ModelConfig) -> Option<OutgoingRequest> {
        listing::request(model)
    }

    fn parse_models(&self, body: &[u8]) -> Result<Vec<ListedModel>, ProviderError> {
        listing::models(body)
    }

    fn count_request(&self, request: &StreamConfig) -> Result<Option<OutgoingRequest>, ProviderError> {
        let outgoing = self.request(request)?;
        let body = counting::pick_fields(&outgoing, &COUNT_FIELDS)?;
        let url = request::address(&request.model_config, "/v1/messages/count_tokens");
        Ok(Some(counting::redirect(outgoing, url, body)))
    }

    fn parse_count(&self, body: &[u8]) -> Result<u64, ProviderError> {
        counting::parse_count(body, "input_tokens")
    }
}

#[cfg(test)]
pub(crate) mod tests;
