//! Model requests, independent of the wire protocol.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::identity::ModelConfig;
use super::prompt::SystemPrompt;
use crate::tool::ToolDefinition;
use crate::transcript::Window;

/// A request to a model.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StreamConfig {
    /// The model to call.
    pub model_config: Arc<ModelConfig>,
    /// The system prompt.
    pub system_prompt: SystemPrompt,
    /// The conversation, always valid for a model.
    pub messages: Window,
    /// Tools that the model may call.
    pub tools: Arc<[ToolDefinition]>,
    /// Whether the model must call a tool.
    pub tool_choice: ToolChoice,
    /// JSON schema for the text of the reply.
    pub output_schema: Option<Arc<OutputSchema>>,
    /// How much the model reasons.
    pub thinking_level: ThinkingLevel,
    /// Overrides the model's output limit.
    pub max_tokens: Option<u32>,
    /// Sampling temperature.
    pub temperature: Option<f32>,
    /// Prompt caching hints.
    pub cache_config: CacheConfig,
    /// Data that the provider kept from the last request of the conversation.
    pub memo: RequestMemo,
}

impl StreamConfig {
    /// Creates a request with defaults for everything except model and conversation.
    pub fn new(model_config: Arc<ModelConfig>, messages: Window) -> Self {
        Self {
            model_config,
            system_prompt: SystemPrompt::default(),
            messages,
            tools: Arc::from([]),
            tool_choice: ToolChoice::default(),
            output_schema: None,
            thinking_level: ThinkingLevel::default(),
            max_tokens: None,
            temperature: None,
            cache_config: CacheConfig::default(),
            memo: RequestMemo::default(),
        }
    }

    /// Returns the output limit: that of the request, or else that of the model.
    pub fn output_limit(&self) -> Option<u32> {
        self.max_tokens.or(self.model_config.max_tokens)
    }
}

/// Whether a model must call a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// The model must not call a tool; the tools stay visible.
    None,
    /// The model must call at least one tool.
    Required,
    /// The model must call this tool.
    Tool(String),
}

/// A JSON schema for the text of the reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputSchema {
    /// Name for the model: letters, digits, `_` and `-`.
    pub name: String,
    /// The schema, a JSON object.
    pub schema: Value,
}

/// How much a model reasons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ThinkingLevel {
    /// No reasoning.
    #[default]
    Off,
    /// The least possible.
    Minimal,
    /// Little.
    Low,
    /// Medium.
    Medium,
    /// Much.
    High,
    /// The most the model supports.
    Max,
}

/// Prompt caching hints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CacheConfig {
    /// Whether to send caching hints at all.
    pub enabled: bool,
    /// Where to put breakpoints.
    pub strategy: CacheStrategy,
    /// How long a cache entry lives, if the provider offers a choice.
    pub ttl: CacheTtl,
}

impl Default for CacheConfig {
    fn default() -> Self {
        Self { enabled: true, strategy: CacheStrategy::Auto, ttl: CacheTtl::default() }
    }
}

impl CacheConfig {
    /// Returns which parts get a breakpoint: system prompt, tools, messages.
    pub const fn breakpoints(&self) -> (bool, bool, bool) {
        match self.strategy {
            _ if !self.enabled => (false, false, false),
            CacheStrategy::Auto => (true, true, true),
            CacheStrategy::Disabled => (false, false, false),
            CacheStrategy::Manual { cache_system, cache_tools, cache_messages } => {
                (cache_system, cache_tools, cache_messages)
            }
        }
    }
}

/// Where to put cache breakpoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CacheStrategy {
    /// The provider implementation decides.
    #[default]
    Auto,
    /// No hints are sent.
    Disabled,
    /// Chosen by the caller.
    Manual {
        /// Cache the system prompt.
        cache_system: bool,
        /// Cache the tool definitions.
        cache_tools: bool,
        /// Cache the conversation.
        cache_messages: bool,
    },
}

/// How long a cache entry lives after its last use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CacheTtl {
    /// Five minutes, the default of the providers.
    #[default]
    #[serde(rename = "5m")]
    FiveMinutes,
    /// One hour; writing costs more.
    #[serde(rename = "1h")]
    OneHour,
}

/// Cache in which a provider keeps what it computed for the last request of a conversation, so that the next
/// request costs only the new part. Clones share it. The sender of a conversation's requests keeps it; losing
/// it only costs time.
#[derive(Clone, Default)]
pub struct RequestMemo(Arc<Mutex<Option<Box<dyn Any + Send>>>>);

impl RequestMemo {
    fn lock(&self) -> MutexGuard<'_, Option<Box<dyn Any + Send>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the cached value if it has this type; drops a value of another type.
    pub fn take<T: Any + Send>(&self) -> Option<Box<T>> {
        self.lock().take()?.downcast().ok()
    }

    /// Stores a value for the next request.
    pub fn put<T: Any + Send>(&self, kept: Box<T>) {
        *self.lock() = Some(kept);
    }
}

impl fmt::Debug for RequestMemo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RequestMemo")
    }
}
