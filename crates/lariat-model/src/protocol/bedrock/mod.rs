//! Implements Amazon Bedrock ConverseStream: one format for the models of all makers, with a response of
//! binary event-stream frames.
//!
//! `request` builds requests, `validate` rejects what the provider would reject, `stream` decodes replies,
//! `error` classifies failures, and `address` knows regions and addresses. Anthropic's table decides the
//! thinking parameters of Claude models. The service model of the official SDK (`bedrock-runtime`) is the
//! specification. Invariant: a model's own output goes back to it unchanged, including signatures and
//! encrypted reasoning.

mod address;
mod error;
mod listing;
mod request;
mod stream;
mod validate;

use lariat_core::model::{ModelConfig, ProviderError, StreamConfig};
use serde_json::json;

use crate::protocol::{ApiProtocol, Protocol};
use crate::wire::{Decoder, Failure, Framing, ListedModel, OutgoingRequest, counting};

/// Fields of a request that the counting endpoint accepts.
const COUNT_FIELDS: [&str; 4] = ["additionalModelRequestFields", "messages", "system", "toolConfig"];

/// The Bedrock ConverseStream protocol.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bedrock;

impl Protocol for Bedrock {
    fn api(&self) -> ApiProtocol {
        ApiProtocol::BedrockConverse
    }

    fn request(&self, request: &StreamConfig) -> Result<OutgoingRequest, ProviderError> {
        request::build(request)
    }

    fn decoder(&self, _request: &StreamConfig) -> Decoder {
        Decoder::new(Framing::aws(), stream::ConverseInterpreter::default())
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
        let body = json!({"input": {"converse": counting::pick_fields(&outgoing, &COUNT_FIELDS)?}});
        Ok(Some(counting::redirect(outgoing, address::count(&request.model_config), body)))
    }

    fn parse_count(&self, body: &[u8]) -> Result<u64, ProviderError> {
        counting::parse_count(body, "inputTokens")
    }
}

#[cfg(test)]
mod tests;
