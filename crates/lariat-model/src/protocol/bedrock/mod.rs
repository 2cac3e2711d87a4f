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
use serde_json::json;

use crate::protocol::{ApiProtocol, Protocol};
use crate::wire::{Decoder, Failure, Framing, ListedModel, Outgoing, counting};

/// What the service counts of a request.
const COUNTED: [&str; 4] = ["additionalModelRequestFields", "messages", "system", "toolConfig"];

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

    fn count_request(&self, request: &StreamConfig) -> Result<Option<Outgoing>, ProviderError> {
        let outgoing = self.request(request)?;
        let body = json!({"input": {"converse": counting::picked(&outgoing, &COUNTED)?}});
        Ok(Some(counting::redirected(outgoing, place::count(&request.model_config), body)))
    }

    fn counted(&self, body: &[u8]) -> Result<u64, ProviderError> {
        counting::counted(body, "inputTokens")
    }
}
