//! Anthropic Messages: `POST /v1/messages`, answered by named server-sent events.
//!
//! Owns what only this protocol knows: `request` builds, `validate` refuses what the service would refuse,
//! `stream` understands the reply, `error` names failures, `thinking` knows what each generation of models takes
//! (Bedrock asks it too). Where the wire is concerned, the official SDK's types are the specification.
//! Invariant: what a model said goes back to it unchanged, signatures and blocks of unknown kinds included.

mod error;
mod listing;
pub(crate) mod request;
mod stream;
pub(crate) mod thinking;
mod validate;

#[cfg(test)]
pub(crate) mod fixtures;
#[cfg(test)]
pub(crate) mod history_tests;

use lariat_core::model::{ModelConfig, ProviderError, StreamConfig};

use crate::protocol::{ApiProtocol, Protocol};
use crate::wire::{Decoder, Failure, Framing, ListedModel, Outgoing, counting};

/// What the service counts of a request.
const COUNTED: [&str; 7] =
    ["messages", "model", "output_config", "system", "thinking", "tool_choice", "tools"];

/// The protocol.
#[derive(Clone, Copy, Debug, Default)]
pub struct Anthropic;

impl Protocol for Anthropic {
    fn api(&self) -> ApiProtocol {
        ApiProtocol::AnthropicMessages
    }

    fn request(&self, request: &StreamConfig) -> Result<Outgoing, ProviderError> {
        request::build(request)
    }

    fn decoder(&self, _request: &StreamConfig) -> Decoder {
        Decoder::new(Framing::sse(), stream::Messages::default())
    }

    fn classify(&self, failure: &Failure<'_>) -> ProviderError {
        error::classify(failure)
    }

    fn list_request(&self, model: &ModelConfig) -> Option<Outgoing> {
        listing::request(model)
    }

    fn listed(&self, body: &[u8]) -> Result<Vec<ListedModel>, ProviderError> {
        listing::models(body)
    }

    fn count_request(&self, request: &StreamConfig) -> Result<Option<Outgoing>, ProviderError> {
        let outgoing = self.request(request)?;
        let body = counting::picked(&outgoing, &COUNTED)?;
        let url = request::address(&request.model_config, "/v1/messages/count_tokens");
        Ok(Some(counting::redirected(outgoing, url, body)))
    }

    fn counted(&self, body: &[u8]) -> Result<u64, ProviderError> {
        counting::counted(body, "input_tokens")
    }
}
