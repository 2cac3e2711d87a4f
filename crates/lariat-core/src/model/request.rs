//! What is sent to a model, before any wire protocol.

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
    /// Who answers.
    pub model_config: Arc<ModelConfig>,
    /// The system prompt.
    pub system_prompt: SystemPrompt,
    /// The conversation; valid by construction.
    pub messages: Window,
    /// What the model may call.
    pub tools: Arc<[ToolDefinition]>,
    /// Whether it must call something.
    pub tool_choice: ToolChoice,
    /// The form its text must have.
    pub output_schema: Option<Arc<OutputSchema>>,
    /// How hard it thinks.
    pub thinking_level: ThinkingLevel,
    /// Overrides the model's output limit.
    pub max_tokens: Option<u32>,
    /// Sampling temperature.
    pub temperature: Option<f32>,
    /// Caching hints.
    pub cache_config: CacheConfig,
    /// What the provider remembers of the conversation's last request.
    pub memo: RequestMemo,
}

impl StreamConfig {
    /// A request with defaults for everything but the conversation.
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

    /// The output limit that holds: the request's, else the model's.
    pub fn output_limit(&self) -> Option<u32> {
        self.max_tokens.or(self.model_config.max_tokens)
    }
}

/// Whether a model must call a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum ToolChoice {
    /// As it likes.
    #[default]
    Auto,
    /// None; the tools stay visible.
    None,
    /// At least one.
    Required,
    /// This one.
    Tool(String),
}

/// A JSON schema that the model's text must satisfy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputSchema {
    /// Names it to the model; letters, digits, `_` and `-`.
    pub name: String,
    /// The schema; an object.
    pub schema: Value,
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
    /// As much as the model can.
    Max,
}

/// Prompt caching hints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CacheConfig {
    /// Master switch.
    pub enabled: bool,
    /// Where breakpoints go.
    pub strategy: CacheStrategy,
    /// How long an entry lives, where the service lets one choose.
    pub ttl: CacheTtl,
}

impl Default for CacheConfig {
    fn default() -> Self {
        Self { enabled: true, strategy: CacheStrategy::Auto, ttl: CacheTtl::default() }
    }
}

impl CacheConfig {
    /// Which parts get a breakpoint: system prompt, tools, messages.
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
        /// Cache the conversation.
        cache_messages: bool,
    },
}

/// How long a cache entry lives after its last use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CacheTtl {
    /// Five minutes: the services' default.
    #[default]
    #[serde(rename = "5m")]
    FiveMinutes,
    /// An hour; writing costs more.
    #[serde(rename = "1h")]
    OneHour,
}

/// Room where a provider keeps what it made for the last request of a conversation, so that the next one costs only
/// what is new. Clones share it. Whoever sends the requests of a conversation keeps it; losing it loses time only.
#[derive(Clone, Default)]
pub struct RequestMemo(Arc<Mutex<Option<Box<dyn Any + Send>>>>);

impl RequestMemo {
    fn lock(&self) -> MutexGuard<'_, Option<Box<dyn Any + Send>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes out what is kept, if it is of this type; anything else is forgotten.
    pub fn take<T: Any + Send>(&self) -> Option<Box<T>> {
        self.lock().take()?.downcast().ok()
    }

    /// Keeps something for the next request.
    pub fn put<T: Any + Send>(&self, kept: Box<T>) {
        *self.lock() = Some(kept);
    }
}

impl fmt::Debug for RequestMemo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RequestMemo")
    }
}
