//! Amazon Bedrock ConverseStream: one shape for every vendor's models, answered by binary event-stream frames.
//!
//! Owns what only this protocol knows: `request` builds, `validate` refuses what the service would refuse,
//! `stream` understands the reply, `error` names failures, `place` knows regions and addresses. What a Claude
//! takes for thinking is Anthropic's table. The service model of the official SDK (`bedrock-runtime`) is the
//! specification. Invariant: what a model said goes back to it unchanged, signatures and encrypted reasoning included.

mod error;
mod listing;
mod place;
mod request;
mod stream;
mod validate;

#[cfg(test)]
mod history_tests;

use lariat_core::model::{ModelConfig, ProviderError, StreamConfig};

use crate::protocol::{ApiProtocol, Protocol};
use crate::wire::{Decoder, Failure, Framing, ListedModel, Outgoing};

/// The protocol.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bedrock;

impl Protocol for Bedrock {
    fn api(&self) -> ApiProtocol {
        ApiProtocol::BedrockConverse
    }

    fn request(&self, request: &StreamConfig) -> Result<Outgoing, ProviderError> {
        request::build(request)
    }

    fn decoder(&self, _request: &StreamConfig) -> Decoder {
        Decoder::new(Framing::aws(), stream::Converse::default())
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
