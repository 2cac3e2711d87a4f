//! The wire protocols and the interface that they implement.
//!
//! A protocol is pure: it turns a request into bytes and bytes into events, and uses no socket, clock or key.
//! The driver in [`crate::http`] does the rest in the same way for all protocols.

pub mod anthropic;
pub mod azure;
#[cfg(feature = "bedrock")]
pub mod bedrock;
pub mod chat;
pub mod gemini;
pub mod responses;
pub mod vertex;

use std::fmt;
use std::str::FromStr;

use lariat_core::model::{ModelConfig, ProviderError, StreamConfig};

use crate::wire::{Decoder, Failure, ListedModel, OutgoingRequest};

/// A wire protocol of a model provider.
pub trait Protocol: Send + Sync + 'static {
    /// Identifies the protocol.
    fn api(&self) -> ApiProtocol;

    /// Builds the HTTP request for a model request and checks that the provider will accept it. The key is
    /// not included: [`OutgoingRequest::auth`] says how the driver attaches it.
    ///
    /// # Errors
    /// Returns an error if the configuration is incomplete or the provider would reject the request.
    fn request(&self, request: &StreamConfig) -> Result<OutgoingRequest, ProviderError>;

    /// Creates the decoder for the body of a successful response to `request`.
    fn decoder(&self, request: &StreamConfig) -> Decoder;

    /// Classifies a response that is not a stream: an error status, or an error sent with status 200.
    fn classify(&self, failure: &Failure<'_>) -> ProviderError;

    /// Builds the HTTP request that lists the provider's models; `None` if the protocol cannot list models.
    fn list_request(&self, model: &ModelConfig) -> Option<OutgoingRequest>;

    /// Parses the response to [`Protocol::list_request`].
    ///
    /// # Errors
    /// Returns an error if the body violates the protocol.
    fn parse_models(&self, body: &[u8]) -> Result<Vec<ListedModel>, ProviderError>;

    /// Builds the HTTP request that counts the tokens of a model request; `None` if the provider cannot
    /// count.
    ///
    /// # Errors
    /// As for [`Protocol::request`].
    fn count_request(&self, request: &StreamConfig) -> Result<Option<OutgoingRequest>, ProviderError> {
        let _ = request;
        Ok(None)
    }

    /// Parses the response to [`Protocol::count_request`].
    ///
    /// # Errors
    /// Returns an error if the body violates the protocol.
    fn parse_count(&self, body: &[u8]) -> Result<u64, ProviderError> {
        let _ = body;
        Err(ProviderError::Other(format!("protocol {} cannot count tokens", self.api()).into()))
    }
}

/// The built-in protocols, named by `ModelConfig::api`.
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
    #[cfg(feature = "bedrock")]
    BedrockConverse,
}

impl ApiProtocol {
    /// All protocols of this build.
    pub const ALL: [Self; 6 + cfg!(feature = "bedrock") as usize] = [
        Self::AnthropicMessages,
        Self::OpenAiChat,
        Self::OpenAiResponses,
        Self::AzureResponses,
        Self::GoogleGemini,
        Self::GoogleVertex,
        #[cfg(feature = "bedrock")]
        Self::BedrockConverse,
    ];

    /// The name used in `ModelConfig::api`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AnthropicMessages => "anthropic-messages",
            Self::OpenAiChat => "openai-chat",
            Self::OpenAiResponses => "openai-responses",
            Self::AzureResponses => "azure-responses",
            Self::GoogleGemini => "google-gemini",
            Self::GoogleVertex => "google-vertex",
            #[cfg(feature = "bedrock")]
            Self::BedrockConverse => "bedrock-converse",
        }
    }

    /// Returns the built-in implementation.
    pub fn implementation(self) -> &'static dyn Protocol {
        match self {
            Self::AnthropicMessages => &anthropic::Anthropic,
            Self::OpenAiChat => &chat::Chat,
            Self::OpenAiResponses => &responses::Responses,
            Self::AzureResponses => &azure::Azure,
            Self::GoogleGemini => &gemini::Gemini,
            Self::GoogleVertex => &vertex::Vertex,
            #[cfg(feature = "bedrock")]
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
            ProviderError::Other(format!("unknown protocol `{name}`; valid protocols: {}", known()).into())
        })
    }
}
