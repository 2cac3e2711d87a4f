//! The wire protocols, and the contract they fulfil.
//!
//! A protocol is pure: it turns a request into bytes and bytes into events, and knows no socket, clock or key. The
//! driver in [`crate::http`] does the rest, the same for all.

pub mod anthropic;
pub mod azure;
pub mod bedrock;
pub mod chat;
pub mod gemini;
pub mod responses;
pub mod vertex;

use std::fmt;
use std::str::FromStr;

use lariat_core::model::{ModelConfig, ProviderError, StreamConfig};

use crate::wire::{Decoder, Failure, ListedModel, Outgoing};

/// A way to talk to a model service.
pub trait Protocol: Send + Sync + 'static {
    /// Which one it is.
    fn api(&self) -> ApiProtocol;

    /// The HTTP request for a model request, checked against what the service would reject. The key is not in it:
    /// [`Outgoing::auth`] says how the driver attaches it.
    ///
    /// # Errors
    /// When the configuration is incomplete or the service would reject the request.
    fn request(&self, request: &StreamConfig) -> Result<Outgoing, ProviderError>;

    /// Makes events of the body of a successful answer to `request`.
    fn decoder(&self, request: &StreamConfig) -> Decoder;

    /// What an answer other than a stream means: an error status, or an error that came as 200.
    fn classify(&self, failure: &Failure<'_>) -> ProviderError;

    /// The HTTP request that lists the service's models; `None` where the protocol has none.
    fn list_request(&self, model: &ModelConfig) -> Option<Outgoing>;

    /// The models in an answer to [`Protocol::list_request`].
    ///
    /// # Errors
    /// When the body is not what the protocol says.
    fn listed(&self, body: &[u8]) -> Result<Vec<ListedModel>, ProviderError>;

    /// The HTTP request that asks how many tokens a model request would take; `None` where the service cannot be asked.
    ///
    /// # Errors
    /// As for [`Protocol::request`].
    fn count_request(&self, request: &StreamConfig) -> Result<Option<Outgoing>, ProviderError> {
        let _ = request;
        Ok(None)
    }

    /// The tokens in an answer to [`Protocol::count_request`].
    ///
    /// # Errors
    /// When the body is not what the protocol says.
    fn counted(&self, body: &[u8]) -> Result<u64, ProviderError> {
        let _ = body;
        Err(ProviderError::Other(format!("{} has no count of tokens", self.api()).into()))
    }
}

/// The built-in protocols, by the names that `ModelConfig::api` holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ApiProtocol {
    /// Anthropic Messages.
    AnthropicMessages,
    /// OpenAI Chat Completions and its compatible backends.
    OpenAiChat,
    /// OpenAI Responses.
    OpenAiResponses,
    /// OpenAI Responses on Azure.
    AzureResponses,
    /// Google Gemini.
    GoogleGemini,
    /// Google Gemini on Vertex AI.
    GoogleVertex,
    /// Amazon Bedrock ConverseStream.
    BedrockConverse,
}

impl ApiProtocol {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::AnthropicMessages,
        Self::OpenAiChat,
        Self::OpenAiResponses,
        Self::AzureResponses,
        Self::GoogleGemini,
        Self::GoogleVertex,
        Self::BedrockConverse,
    ];

    /// The name in configurations.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AnthropicMessages => "anthropic-messages",
            Self::OpenAiChat => "openai-chat",
            Self::OpenAiResponses => "openai-responses",
            Self::AzureResponses => "azure-responses",
            Self::GoogleGemini => "google-gemini",
            Self::GoogleVertex => "google-vertex",
            Self::BedrockConverse => "bedrock-converse",
        }
    }

    /// The built-in implementation.
    pub fn implementation(self) -> &'static dyn Protocol {
        match self {
            Self::AnthropicMessages => &anthropic::Anthropic,
            Self::OpenAiChat => &chat::Chat,
            Self::OpenAiResponses => &responses::Responses,
            Self::AzureResponses => &azure::Azure,
            Self::GoogleGemini => &gemini::Gemini,
            Self::GoogleVertex => &vertex::Vertex,
            Self::BedrockConverse => &bedrock::Bedrock,
        }
    }
}

impl fmt::Display for ApiProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ApiProtocol {
    type Err = ProviderError;

    fn from_str(name: &str) -> Result<Self, ProviderError> {
        let known = || Self::ALL.map(Self::as_str).join(", ");
        let found = Self::ALL.into_iter().find(|api| api.as_str() == name);
        found.ok_or_else(|| {
            ProviderError::Other(format!("no protocol `{name}`; known are {}", known()).into())
        })
    }
}
