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
use crate::wire::{Decoder, Failure, Framing, ListedModel, Outgoing};

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
}
