//! OpenAI Responses.
//!
//! `request` builds, `validate` guards, `stream` understands, `thinking` names the levels for each generation of
//! models. Errors and schemas are those of Chat Completions. Azure is the same service at another address: it calls
//! `post` and `decoder` with its own. Invariant: the service keeps nothing; history stays ours.

pub(crate) mod request;
pub(crate) mod stream;
pub(crate) mod thinking;
pub(crate) mod validate;

use lariat_core::model::{ModelConfig, ProviderError, StreamConfig};

use super::chat::{address, error, list};
use crate::protocol::{ApiProtocol, Protocol};
use crate::wire::{Auth, Decoder, Failure, Framing, ListedModel, Outgoing, counting};

/// The service's address.
const BASE_URL: &str = "https://api.openai.com/v1";

/// The type of the block that keeps the phase of the text after it (`commentary` or `final_answer`): it goes back with
/// the text, because "dropping it can degrade performance" (OpenAI's description of `phase`).
pub(crate) const PHASE_BLOCK: &str = "message_phase";

/// Items that a client must answer. Ours cannot, as it never offered the tools: they do not go back.
const CLIENT_ITEMS: [&str; 7] = [
    "computer_call",
    "custom_tool_call",
    "local_shell_call",
    "shell_call",
    "apply_patch_call",
    "mcp_approval_request",
    "item_reference",
];

/// Items that the service makes and answers itself: they go back as they came. Others with these endings exist and
/// will; what is neither a call nor its output is not an item of this service.
pub(crate) fn is_answered_by_the_service(kind: &str) -> bool {
    const ENDINGS: [&str; 4] = ["_call", "_output", "_tools", "compaction"];
    ENDINGS.iter().any(|ending| kind.ends_with(ending)) && !CLIENT_ITEMS.contains(&kind)
}

/// What the service counts of a request.
const COUNTED: [&str; 9] = [
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

/// The protocol.
#[derive(Clone, Copy, Debug, Default)]
pub struct Responses;

/// A request to any service that speaks this.
pub(crate) fn post(
    request: &StreamConfig,
    api: ApiProtocol,
    url: String,
    auth: Auth,
) -> Result<Outgoing, ProviderError> {
    let body = request::body(request, api.as_str())?;
    Outgoing::post(url, auth, body)
        .header("accept", "text/event-stream")
        .with_headers_of(&request.model_config)
}

/// Understands the answer of any service that speaks this.
pub(crate) fn decoder() -> Decoder {
    Decoder::new(Framing::sse(), stream::Events::default())
}

fn base_url(model: &ModelConfig) -> &str {
    if model.base_url.is_empty() { BASE_URL } else { &model.base_url }
}

/// A server of one's own may need no key.
fn auth(model: &ModelConfig) -> Auth {
    let keyless = !model.base_url.is_empty() && model.api_key.expose().is_none();
    if keyless { Auth::None } else { Auth::Bearer }
}

impl Protocol for Responses {
    fn api(&self) -> ApiProtocol {
        ApiProtocol::OpenAiResponses
    }

    fn request(&self, request: &StreamConfig) -> Result<Outgoing, ProviderError> {
        let model = &request.model_config;
        post(request, self.api(), address(base_url(model), "responses"), auth(model))
    }

    fn decoder(&self, _request: &StreamConfig) -> Decoder {
        decoder()
    }

    fn classify(&self, failure: &Failure<'_>) -> ProviderError {
        error::classify(failure)
    }

    fn list_request(&self, model: &ModelConfig) -> Option<Outgoing> {
        Outgoing::get(address(base_url(model), "models"), auth(model)).with_headers_of(model).ok()
    }

    fn listed(&self, body: &[u8]) -> Result<Vec<ListedModel>, ProviderError> {
        list::listed(body)
    }

    fn count_request(&self, request: &StreamConfig) -> Result<Option<Outgoing>, ProviderError> {
        let outgoing = self.request(request)?;
        let body = counting::picked(&outgoing, &COUNTED)?;
        let url = address(base_url(&request.model_config), "responses/input_tokens");
        Ok(Some(counting::redirected(outgoing, url, body)))
    }

    fn counted(&self, body: &[u8]) -> Result<u64, ProviderError> {
        counting::counted(body, "input_tokens")
    }
}
