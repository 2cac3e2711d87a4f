//! Implements Amazon Bedrock ConverseStream: one format for the models of all makers, with a response of
//! binary event-stream frames.
//!
//! `request` builds requests, `validate` rejects what the provider would reject, `stream` decodes replies,
//! `error` classifies failures, and `address` knows regions and addresses. Anthropic's table decides the
//! thinking parameters of Claude models. The service model of the official SDK (`bedrock-runtime`) is the
//! specification. Invariant: a model's own output goes back to it unchanged, including signatures and
//! encrypted reasoning.

mod error;
mod listing;
mod place;
mod request;
mod stream;
mod validate;

#[cfg(test)]
mod history_tests;

use lariat_core::model::{ModelConfig, ProviderError, StreamConfig};
use serde_json::json;

use crate::protocol::{ApiProtocol, Protocol};
use crate::wire::{Decoder, Failure, Framing, ListedModel, Outgoing, counting};

/// Fields of a request that the counting endpoint accepts.
const COUNTED: [&str; 4] = ["additionalModelRequestFields", "messages", "system", "toolConfig"];

/// The Bedrock ConverseStream protocol.
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

    fn count_request(&self, request: &StreamConfig) -> Result<Option<Outgoing>, ProviderError> {
        let outgoing = self.request(request)?;
        let body = json!({"input": {"converse": counting::picked(&outgoing, &COUNTED)?}});
        Ok(Some(counting::redirected(outgoing, place::count(&request.model_config), body)))
    }

    fn counted(&self, body: &[u8]) -> Result<u64, ProviderError> {
        counting::counted(body, "inputTokens")
    }
}
