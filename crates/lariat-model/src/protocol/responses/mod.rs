//! Implements OpenAI Responses.
//!
//! `request` builds requests, `validate` rejects what the provider would reject, `stream` decodes replies,
//! and `thinking` names the levels for each generation of models. Errors and schemas are those of Chat
//! Completions. Azure is the same provider API at another address and calls `post` and `decoder` with its
//! own. Invariant: the provider stores nothing (`store: false`); the history stays here.

pub(crate) mod request;
pub(crate) mod stream;
pub(crate) mod thinking;
pub(crate) mod validate;

use lariat_core::model::{ModelConfig, ProviderError, StreamConfig};

use super::chat::{address, error, listing};
use crate::protocol::{ApiProtocol, Protocol};
use crate::wire::{Auth, Decoder, Failure, Framing, ListedModel, OutgoingRequest, counting};

/// Default base URL.
const BASE_URL: &str = "https://api.openai.com/v1";

/// Type of the block that keeps the phase of the following text (`commentary` or `final_answer`). It goes
/// back with the text, because "dropping it can degrade performance" (OpenAI's description of `phase`).
pub(crate) const PHASE_BLOCK: &str = "message_phase";

/// Items that a client must answer. This client never offers the tools, so the items do not go back.
const CLIENT_ITEMS: [&str; 7] = [
    "computer_call",
    "custom_tool_call",
    "local_shell_call",
    "shell_call",
    "apply_patch_call",
    "mcp_approval_request",
    "item_reference",
];

/// Whether the provider creates and answers items of this type itself. Such items go back unchanged. More
/// types with these endings exist or will exist; what is neither a call nor its output is not such an item.
pub(crate) fn is_provider_item(kind: &str) -> bool {
    const ENDINGS: [&str; 4] = ["_call", "_output", "_tools", "compaction"];
    ENDINGS.iter().any(|ending| kind.ends_with(ending)) && !CLIENT_ITEMS.contains(&kind)
}

/// Fields of a request that the counting endpoint accepts.
const COUNT_FIELDS: [&str; 9] = [
    "input",
    "instructions",
    "model",
    "parallel_tool_calls",
    "reasoning",
    "text",
    "tool_choice",
    "tools",
    "truncation",
];

/// The OpenAI Responses protocol.
#[derive(Clone, Copy, Debug, Default)]
pub struct Responses;

/// Builds a request for any provider of this protocol.
pub(crate) fn post(
    request: &StreamConfig,
    api: ApiProtocol,
    url: String,
    auth: Auth,
) -> Result<OutgoingRequest, ProviderError> {
    let body = request::body(request, api.as_str())?;
    OutgoingRequest::post(url, auth, body)
        .header("accept", "text/event-stream")
        .with_headers_of(&request.model_config)
}

/// Creates the decoder for any provider of this protocol.
pub(crate) fn decoder() -> Decoder {
    Decoder::new(Framing::sse(), stream::EventInterpreter::default())
}

fn base_url(model: &ModelConfig) -> &str {
    if model.base_url.is_empty() { BASE_URL } else { &model.base_url }
}

/// A local server may need no key.
fn auth(model: &ModelConfig) -> Auth {
    let keyless = !model.base_url.is_empty() && model.api_key.expose().is_none();
    if keyless { Auth::None } else { Auth::Bearer }
}

impl Protocol for Responses {
    fn api(&self) -> ApiProtocol {
        ApiProtocol::OpenAiResponses
    }

    fn request(&self, request: &StreamConfig) -> Result<OutgoingRequest, ProviderError> {
        let model = &request.model_config;
        post(request, self.api(), address(base_url(model), "responses"), auth(model))
    }

    fn decoder(&self, _request: &StreamConfig) -> Decoder {
        decoder()
    }

    fn classify(&self, failure: &Failure<'_>) -> ProviderError {
        error::classify(failure)
    }

    fn list_request(&self, model: &ModelConfig) -> Option<OutgoingRequest> {
        OutgoingRequest::get(address(base_url(model), "models"), auth(model)).with_headers_of(model).ok()
    }

    fn parse_models(&self, body: &[u8]) -> Result<Vec<ListedModel>, ProviderError> {
        listing::parse_models(body)
    }

    fn count_request(&self, request: &StreamConfig) -> Result<Option<OutgoingRequest>, ProviderError> {
        let outgoing = self.request(request)?;
        let body = counting::pick_fields(&outgoing, &COUNT_FIELDS)?;
        let url = address(base_url(&request.model_config), "responses/input_tokens");
        Ok(Some(counting::redirect(outgoing, url, body)))
    }

    fn parse_count(&self, body: &[u8]) -> Result<u64, ProviderError> {
        counting::parse_count(body, "input_tokens")
    }
}
