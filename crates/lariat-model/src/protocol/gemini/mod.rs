//! Google Gemini, and the parts of it that Vertex shares.
//!
//! `request` builds the body from a conversation, checked by `validate`; `head` adds what stands beside the
//! conversation; `stream` reads replies; `error` reads failures; `generation` holds what differs between models.
//! Vertex is the same protocol at another address, with another key.
//! Invariant: signatures travel back on the part they came on; the key is never in the address.

mod address;
mod error;
mod generation;
mod head;
mod partial;
mod request;
#[cfg(test)]
pub(super) mod samples;
mod stream;
mod validate;

use lariat_core::model::{ModelConfig, ProviderError, StreamConfig};
use serde::Deserialize;
use serde_json::json;

pub(super) use address::{bare, escaped};
pub(super) use error::classify;
pub(super) use request::body;

use crate::protocol::{ApiProtocol, Protocol};
use crate::wire::{Auth, Decoder, Failure, Framing, ListedModel, Outgoing, counting};

/// Google Gemini by the public API of AI Studio.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gemini;

/// What the service counts of a request.
const COUNTED: [&str; 5] = ["contents", "generationConfig", "systemInstruction", "toolConfig", "tools"];
/// The field of a count that both services answer with.
pub(super) const COUNT: &str = "totalTokens";

/// The header that holds the key.
const KEY_HEADER: &str = "x-goog-api-key";

impl Protocol for Gemini {
    fn api(&self) -> ApiProtocol {
        ApiProtocol::GoogleGemini
    }

    fn request(&self, request: &StreamConfig) -> Result<Outgoing, ProviderError> {
        let url = address::generate(&request.model_config);
        let body = body(request, self.api())?;
        Outgoing::post(url, Auth::Header(KEY_HEADER), body).with_headers_of(&request.model_config)
    }

    fn decoder(&self, _request: &StreamConfig) -> Decoder {
        decoder()
    }

    fn classify(&self, failure: &Failure<'_>) -> ProviderError {
        classify(failure)
    }

    fn list_request(&self, model: &ModelConfig) -> Option<Outgoing> {
        let request = Outgoing::get(address::list(model), Auth::Header(KEY_HEADER));
        request.with_headers_of(model).ok()
    }

    fn listed(&self, body: &[u8]) -> Result<Vec<ListedModel>, ProviderError> {
        listed(body)
    }

    fn count_request(&self, request: &StreamConfig) -> Result<Option<Outgoing>, ProviderError> {
        let (model, outgoing) = (&request.model_config, self.request(request)?);
        let mut body = counting::picked(&outgoing, &COUNTED)?;
        body.insert("model".to_owned(), address::named(model).into());
        let body = json!({"generateContentRequest": body});
        Ok(Some(counting::redirected(outgoing, address::count(model), body)))
    }

    fn counted(&self, body: &[u8]) -> Result<u64, ProviderError> {
        counting::counted(body, COUNT)
    }
}

/// Makes events of a stream of responses.
pub(super) fn decoder() -> Decoder {
    Decoder::new(Framing::sse(), stream::Responses::default())
}

/// The models that can chat, of a list by either service.
pub(super) fn listed(body: &[u8]) -> Result<Vec<ListedModel>, ProviderError> {
    let list: List = serde_json::from_slice(body)
        .map_err(|error| ProviderError::InvalidReply(format!("the list of models: {error}").into()))?;
    let models = list.models.into_iter().chain(list.publisher_models).flatten();
    Ok(models.filter(Listed::chats).map(Listed::into_model).collect())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct List {
    models: Option<Vec<Listed>>,
    publisher_models: Option<Vec<Listed>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    name: String,
    display_name: Option<String>,
    input_token_limit: Option<u64>,
    output_token_limit: Option<u32>,
    /// Vertex does not tell.
    supported_generation_methods: Option<Vec<String>>,
}

impl Listed {
    fn chats(&self) -> bool {
        let methods = self.supported_generation_methods.as_ref();
        methods.is_none_or(|methods| methods.iter().any(|method| method == "generateContent"))
    }

    fn into_model(self) -> ListedModel {
        // `models/gemini-…` of Gemini, `publishers/google/models/gemini-…` of Vertex.
        let mut model = ListedModel::new(address::bare(&self.name));
        model.name = self.display_name;
        model.context_window = self.input_token_limit;
        model.max_tokens = self.output_token_limit;
        model
    }
}

#[cfg(test)]
#[path = "listing_tests.rs"]
mod listing_tests;

#[cfg(test)]
#[path = "round_trip_tests.rs"]
mod round_trip_tests;
