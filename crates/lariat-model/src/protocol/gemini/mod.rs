//! Implements Google Gemini, including the parts that Vertex shares.
//!
//! `request` translates a conversation, which `validate` checks; `head` adds the other fields; `stream`
//! decodes replies; `error` classifies failures; `generation` describes how the models differ. Vertex is the
//! same protocol with another address and another kind of key.
//! Invariant: a signature goes back on the part it came on, and the key is never part of the address.

mod address;
mod error;
#[cfg(test)]
pub(super) mod fixtures;
mod generation;
mod head;
mod partial;
mod request;
mod stream;
mod validate;

use lariat_core::model::{ModelConfig, ProviderError, StreamConfig};
use serde::Deserialize;
use serde_json::json;

pub(super) use address::{bare, escaped};
pub(super) use error::classify;
pub(super) use request::body;

use crate::protocol::{ApiProtocol, Protocol};
use crate::wire::{Auth, Decoder, Failure, Framing, ListedModel, OutgoingRequest, counting};

/// Google Gemini through the public API of AI Studio.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gemini;

/// Fields of a request that the counting endpoint accepts.
const COUNT_FIELDS: [&str; 5] = ["contents", "generationConfig", "systemInstruction", "toolConfig", "tools"];
/// The field with the count in the response, for Gemini and Vertex.
pub(super) const COUNT: &str = "totalTokens";

/// The header that carries the key.
const KEY_HEADER: &str = "x-goog-api-key";

impl Protocol for Gemini {
    fn api(&self) -> ApiProtocol {
        ApiProtocol::GoogleGemini
    }

    fn request(&self, request: &StreamConfig) -> Result<OutgoingRequest, ProviderError> {
        let url = address::generate(&request.model_config);
        let body = body(request, self.api())?;
        OutgoingRequest::post(url, Auth::Header(KEY_HEADER), body).with_headers_of(&request.model_config)
    }

    fn decoder(&self, _request: &StreamConfig) -> Decoder {
        decoder()
    }

    fn classify(&self, failure: &Failure<'_>) -> ProviderError {
        classify(failure)
    }

    fn list_request(&self, model: &ModelConfig) -> Option<OutgoingRequest> {
        let request = OutgoingRequest::get(address::list(model), Auth::Header(KEY_HEADER));
        request.with_headers_of(model).ok()
    }

    fn parse_models(&self, body: &[u8]) -> Result<Vec<ListedModel>, ProviderError> {
        parse_models(body)
    }

    fn count_request(&self, request: &StreamConfig) -> Result<Option<OutgoingRequest>, ProviderError> {
        let (model, outgoing) = (&request.model_config, self.request(request)?);
        let mut body = counting::pick_fields(&outgoing, &COUNT_FIELDS)?;
        body.insert("model".to_owned(), address::named(model).into());
        let body = json!({"generateContentRequest": body});
        Ok(Some(counting::redirect(outgoing, address::count(model), body)))
    }

    fn parse_count(&self, body: &[u8]) -> Result<u64, ProviderError> {
        counting::parse_count(body, COUNT)
    }
}

/// Creates the decoder for a stream of responses.
pub(super) fn decoder() -> Decoder {
    Decoder::new(Framing::sse(), stream::ResponseInterpreter::default())
}

/// Parses a model list of Gemini or Vertex and keeps the models that can chat.
pub(super) fn parse_models(body: &[u8]) -> Result<Vec<ListedModel>, ProviderError> {
    let list: ModelList = serde_json::from_slice(body).map_err(|error| {
        ProviderError::InvalidReply(format!("cannot read the model list: {error}").into())
    })?;
    let models = list.models.into_iter().chain(list.publisher_models).flatten();
    Ok(models.filter(ListEntry::chats).map(ListEntry::into_model).collect())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ModelList {
    models: Option<Vec<ListEntry>>,
    publisher_models: Option<Vec<ListEntry>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListEntry {
    name: String,
    display_name: Option<String>,
    input_token_limit: Option<u64>,
    output_token_limit: Option<u32>,
    /// Not sent by Vertex.
    supported_generation_methods: Option<Vec<String>>,
}

impl ListEntry {
    fn chats(&self) -> bool {
        let methods = self.supported_generation_methods.as_ref();
        methods.is_none_or(|methods| methods.iter().any(|method| method == "generateContent"))
    }

    fn into_model(self) -> ListedModel {
        // Gemini writes `models/gemini-…`, Vertex `publishers/google/models/gemini-…`.
        let mut model = ListedModel::new(address::bare(&self.name));
        model.name = self.display_name;
        model.context_window = self.input_token_limit;
        model.max_tokens = self.output_token_limit;
        model
    }
}

#[cfg(test)]
mod tests;
