//! Models: the contract of a streaming provider and what is sent to it.
//!
//! Owns [`StreamProvider`], the request ([`StreamConfig`]), the stream's events and the errors with their retry rule.
//! Wire protocols live in the model crate. Invariant: a provider delivers a tool call only complete and parsed.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_core::Stream;
use serde::{Deserialize, Serialize};

use crate::cancel::CancellationToken;
use crate::content::{Content, ToolCall};
use crate::message::StopReason;
use crate::tool::ToolDefinition;
use crate::transcript::Window;
use crate::usage::Usage;

/// A reply as it arrives. Ends after `Done` or an error; an end without either counts as a broken connection.
pub type ModelStream = Pin<Box<dyn Stream<Item = Result<StreamEvent, ProviderError>> + Send>>;

/// Something that answers requests with a stream.
pub trait StreamProvider: Send + Sync {
    /// Stable lowercase identifier, for example `anthropic`. First segment of derived configuration ids.
    fn provider_id(&self) -> &str;

    /// Starts a request. Dropping the stream or cancelling the token ends it.
    fn stream(&self, request: StreamConfig, cancel: CancellationToken) -> ModelStream;
}

/// A request to a model.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StreamConfig {
    /// Who answers.
    pub model_config: Arc<ModelConfig>,
    /// The system prompt.
    pub system_prompt: Arc<str>,
    /// The conversation; valid by construction.
    pub messages: Window,
    /// What the model may call.
    pub tools: Arc<[ToolDefinition]>,
    /// How hard it thinks.
    pub thinking_level: ThinkingLevel,
    /// Overrides the model's output limit.
    pub max_tokens: Option<u32>,
    /// Sampling temperature.
    pub temperature: Option<f32>,
    /// Caching hints.
    pub cache_config: CacheConfig,
}

impl StreamConfig {
    /// A request with defaults for everything but the conversation.
    pub fn new(model_config: Arc<ModelConfig>, messages: Window) -> Self {
        Self {
            model_config,
            system_prompt: Arc::from(""),
            messages,
            tools: Arc::from([]),
            thinking_level: ThinkingLevel::default(),
            max_tokens: None,
            temperature: None,
            cache_config: CacheConfig::default(),
        }
    }
}

/// A key that does not show itself in debug output and is not serialised.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ApiKey(Option<Arc<str>>);

impl ApiKey {
    /// Wraps a key.
    pub fn new(key: impl Into<Arc<str>>) -> Self {
        Self(Some(key.into()))
    }

    /// The key itself, for the one place that puts it into a header.
    pub fn expose(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "ApiKey(****)" } else { "ApiKey(none)" })
    }
}

/// Full identity of a model and the service that runs it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ModelConfig {
    /// Model id as the service knows it.
    pub id: String,
    /// Name for people.
    pub name: String,
    /// Service name, for example `openrouter`.
    pub provider: String,
    /// Wire protocol, for example `anthropic-messages`; resolved by the provider registry.
    pub api: String,
    /// The key.
    #[serde(skip)]
    pub api_key: ApiKey,
    /// Where requests go.
    pub base_url: String,
    /// Extra headers.
    pub headers: BTreeMap<String, String>,
    /// Whether the model reasons.
    pub reasoning: bool,
    /// Context window in tokens.
    pub context_window: u64,
    /// Output limit in tokens.
    pub max_tokens: Option<u32>,
    /// Differences of compatible backends, as data for the protocol that reads them.
    pub compat: serde_json::Value,
}

impl Default for ModelConfig {
    fn default() -> Self {
        Self {
            id: String::new(),
            name: String::new(),
            provider: String::new(),
            api: String::new(),
            api_key: ApiKey::default(),
            base_url: String::new(),
            headers: BTreeMap::new(),
            reasoning: false,
            context_window: 100_000,
            max_tokens: None,
            compat: serde_json::Value::Null,
        }
    }
}

impl ModelConfig {
    /// A model by protocol and id.
    pub fn new(api: impl Into<String>, id: impl Into<String>) -> Self {
        let (api, id) = (api.into(), id.into());
        Self { name: id.clone(), provider: api.clone(), id, api, ..Self::default() }
    }
}

/// How hard a model thinks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ThinkingLevel {
    /// Not at all.
    #[default]
    Off,
    /// As little as possible.
    Minimal,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// A lot.
    High,
}

/// Prompt caching hints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CacheConfig {
    /// Master switch.
    pub enabled: bool,
    /// Where breakpoints go.
    pub strategy: CacheStrategy,
}

impl Default for CacheConfig {
    fn default() -> Self {
        Self { enabled: true, strategy: CacheStrategy::Auto }
    }
}

/// Where cache breakpoints go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CacheStrategy {
    /// The provider places them.
    #[default]
    Auto,
    /// No hints are sent.
    Disabled,
    /// Chosen by hand.
    Manual {
        /// Cache the system prompt.
        cache_system: bool,
        /// Cache the tool definitions.
        cache_tools: bool,
        /// Cache the second-to-last message.
        cache_messages: bool,
    },
}

/// What arrives on a stream. `index` numbers the blocks of the reply.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum StreamEvent {
    /// The service accepted the request.
    Start {
        /// Model id as the service reports it.
        model: String,
    },
    /// Text arrived.
    TextDelta {
        /// Block.
        index: usize,
        /// The piece.
        delta: String,
    },
    /// Reasoning arrived.
    ThinkingDelta {
        /// Block.
        index: usize,
        /// The piece.
        delta: String,
    },
    /// The signature of a reasoning block arrived.
    ThinkingSignature {
        /// Block.
        index: usize,
        /// The signature, complete.
        signature: String,
    },
    /// Arguments of a call arrived; for display only.
    ToolCallDelta {
        /// Block.
        index: usize,
        /// The piece of JSON text.
        delta: String,
    },
    /// A call is complete and its arguments are parsed.
    ToolCallEnd {
        /// Block.
        index: usize,
        /// The call.
        call: ToolCall,
    },
    /// A block of another kind, complete.
    Block {
        /// Block.
        index: usize,
        /// The block.
        content: Content,
    },
    /// The reply is complete.
    Done {
        /// Why it ended.
        stop_reason: StopReason,
        /// What it used.
        usage: Usage,
    },
}

impl StreamEvent {
    /// True once the event delivers a part of the reply. After that, a failure is not retried blindly.
    pub const fn delivers(&self) -> bool {
        !matches!(self, Self::Start { .. } | Self::Done { .. })
    }
}

/// Why a model call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProviderError {
    /// Too many requests, or the service is overloaded (429, 529).
    #[error("rate limited: {message}")]
    RateLimited {
        /// From `Retry-After`, when given.
        retry_after: Option<Duration>,
        /// The server's words.
        message: String,
    },
    /// The connection failed, stalled or broke; 408 and 5xx too.
    #[error("network: {0}")]
    Network(String),
    /// The key was refused.
    #[error("authentication: {0}")]
    Auth(String),
    /// The service rejected the request.
    #[error("provider: {0}")]
    Api(String),
    /// The request does not fit the context window.
    #[error("context overflow: {0}")]
    ContextOverflow(String),
    /// The call was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

impl ProviderError {
    /// Whether the same request may succeed later. Only before anything was delivered.
    pub const fn is_retryable(&self) -> bool {
        matches!(self, Self::RateLimited { .. } | Self::Network(_))
    }

    /// How long the server asks to wait.
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}
