//! Defines how providers of Chat Completions differ, one column per difference.
//!
//! A model's `compat` can override any column by its name, for example `{"max_tokens_field": "max_tokens",
//! "thinking": "reasoning_effort", "efforts": {"high": "high"}}`. The table in [`super::backend`] has the
//! values of each provider. `compat.extra_body`, an object, is added to every request. Invariant: a request
//! depends on its provider only through the dialect.

use lariat_core::model::{ModelConfig, ProviderError, ThinkingLevel};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::wire::IdRule;

/// How a provider's requests and replies differ. The serialised names are the names in `compat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dialect {
    /// Whether a key is required.
    pub key: KeyNeed,
    /// The field name of the output limit.
    pub max_tokens_field: MaxTokensField,
    /// The role of the system prompt.
    pub system_role: SystemRole,
    /// How thinking is requested.
    pub thinking: ThinkingStyle,
    /// The provider's name for each thinking level; `None` for OpenAI's names for the model's generation.
    pub efforts: Option<Efforts>,
    /// Fields of a reply that carry reasoning; the first that is not empty is used.
    pub reply_reasoning: [Option<ReasoningField>; 2],
    /// The field that sends reasoning back to its model; `None` if it must not or need not go back.
    pub history_reasoning: Option<ReasoningField>,
    /// What replaces the reasoning of a reply with tool calls that has none, such as one of another model.
    pub missing_reasoning: MissingReasoning,
    /// Which tool call ids the provider accepts.
    pub call_ids: CallIdForm,
    /// Whether the provider accepts `stream_options.include_usage`.
    pub stream_usage: bool,
    /// The value of `strict` in tools; `None` to omit the field.
    pub strict_tools: Option<bool>,
    /// How the tool choice "call at least one tool" is written.
    pub required_choice: RequiredChoice,
    /// Whether the provider accepts a tool choice other than `auto`.
    pub tool_choice: ChoiceSupport,
    /// How output of a given schema is requested.
    pub output: OutputStyle,
    /// The content of a reply that only calls tools.
    pub empty_content: EmptyContent,
    /// Which message may follow a tool result.
    pub after_tool: AfterTool,
    /// The value of `parallel_tool_calls`; `None` to omit the field.
    pub parallel_tool_calls: Option<bool>,
    /// When the provider accepts a temperature.
    pub temperature: TemperatureRule,
    /// How caching is requested.
    pub cache: CacheHint,
    /// How content that is only text is written.
    pub content: ContentForm,
    /// Whether the provider accepts images.
    pub images: bool,
    /// Additional request fields to set to `true`.
    pub flags: [Option<Flag>; 2],
}

/// Whether a provider requires a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyNeed {
    /// Always.
    Required,
    /// Sent if configured, for local servers.
    Optional,
}

/// The field name of the output limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokensField {
    /// OpenAI's newer name; its reasoning models accept no other.
    MaxCompletionTokens,
    /// The name that most other providers accept.
    MaxTokens,
}

impl MaxTokensField {
    /// The name of the field.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MaxCompletionTokens => "max_completion_tokens",
            Self::MaxTokens => "max_tokens",
        }
    }
}

/// The role of the system prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SystemRole {
    /// Accepted by all providers.
    System,
    /// For OpenAI's reasoning models; its other models get `system`.
    Developer,
}

/// How thinking is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingStyle {
    /// Thinking cannot be requested.
    None,
    /// `"reasoning_effort": "low"`.
    ReasoningEffort,
    /// `"enable_thinking": true`.
    EnableThinking,
    /// `"thinking": {"type": "enabled"}`, and `reasoning_effort` if the level has a name.
    ThinkingType,
    /// `"reasoning": {"effort": "low"}`, or `{"enabled": true}` if the level has no name.
    Reasoning,
    /// `"chat_template_kwargs": {"enable_thinking": true}`.
    ChatTemplate,
}

/// A thinking level's name on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// `none`: no thinking.
    None,
    /// `minimal`.
    Minimal,
    /// `low`.
    Low,
    /// `medium`.
    Medium,
    /// `high`.
    High,
    /// `xhigh`, above `high`.
    XHigh,
    /// `max`: as much as the model can.
    Max,
    /// `default`: the model's default (Groq uses it for "on").
    Default,
}

impl Effort {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::XHigh => "xhigh",
            Self::Max => "max",
            Self::Default => "default",
        }
    }
}

/// The provider's name for each thinking level. A level without a name uses the provider's default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Efforts {
    /// Name for [`ThinkingLevel::Off`].
    pub off: Option<Effort>,
    /// Name for [`ThinkingLevel::Minimal`].
    pub minimal: Option<Effort>,
    /// Name for [`ThinkingLevel::Low`].
    pub low: Option<Effort>,
    /// Name for [`ThinkingLevel::Medium`].
    pub medium: Option<Effort>,
    /// Name for [`ThinkingLevel::High`].
    pub high: Option<Effort>,
    /// Name for [`ThinkingLevel::Max`].
    pub max: Option<Effort>,
}

impl Efforts {
    /// Sets the name for thinking off and the names for minimal to max.
    pub const fn new(off: Option<Effort>, levels: [Effort; 5]) -> Self {
        let [minimal, low, medium, high, max] = levels;
        let (minimal, low, medium) = (Some(minimal), Some(low), Some(medium));
        Self { off, minimal, low, medium, high: Some(high), max: Some(max) }
    }

    /// No names: thinking is only on or off.
    pub const NONE: Self = Self { off: None, minimal: None, low: None, medium: None, high: None, max: None };

    /// Returns the name of a level, if it has one.
    pub const fn of(&self, level: ThinkingLevel) -> Option<Effort> {
        match level {
            ThinkingLevel::Off => self.off,
            ThinkingLevel::Minimal => self.minimal,
            ThinkingLevel::Low => self.low,
            ThinkingLevel::Medium => self.medium,
            ThinkingLevel::High => self.high,
            ThinkingLevel::Max => self.max,
        }
    }
}

/// A field that carries reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningField {
    /// `reasoning_content`: text.
    ReasoningContent,
    /// `reasoning`: text.
    Reasoning,
    /// `reasoning_details`: a list of objects with text, signatures and encrypted data, sent back exactly.
    ReasoningDetails,
}

impl ReasoningField {
    /// The name of the field.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReasoningContent => "reasoning_content",
            Self::Reasoning => "reasoning",
            Self::ReasoningDetails => "reasoning_details",
        }
    }
}

/// What replaces the reasoning of a reply with tool calls that has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingReasoning {
    /// Nothing: the field is omitted.
    Omit,
    /// An empty field, for models that reason.
    Empty,
}

/// Which tool call ids a provider accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallIdForm {
    /// Letters, digits, `_` and `-`, at most 40: accepted by OpenAI and therefore by all.
    Common,
    /// Exactly nine letters or digits.
    Nine,
    /// Also `.` and `:`, so that ids that models rely on stay unchanged.
    Visible,
}

impl CallIdForm {
    /// Returns the corresponding id rule.
    pub const fn rule(self) -> IdRule {
        match self {
            Self::Common => IdRule::FORTY,
            Self::Nine => IdRule::NINE,
            Self::Visible => IdRule::VISIBLE,
        }
    }
}

/// How the tool choice "call at least one tool" is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequiredChoice {
    /// `required`.
    Required,
    /// `any`.
    Any,
}

impl RequiredChoice {
    /// The value on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Required => "required",
            Self::Any => "any",
        }
    }
}

/// Whether a provider accepts a tool choice other than `auto`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChoiceSupport {
    /// All choices.
    All,
    /// Only `auto`: a forced choice is not sent, and `none` hides the tools.
    AutoOnly,
}

/// How output of a given schema is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputStyle {
    /// `response_format` with the schema.
    JsonSchema,
    /// `response_format` for any JSON object, and the schema in the system prompt.
    JsonObject,
    /// Only the schema in the system prompt.
    Prompt,
}

/// The content of a reply that only calls tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmptyContent {
    /// `null`.
    Null,
    /// `""`.
    Empty,
}

/// Which message may follow a tool result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterTool {
    /// Any message.
    Any,
    /// Only a reply: before a user message, a short reply is inserted.
    Assistant,
}

/// When a provider accepts a temperature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TemperatureRule {
    /// Always.
    Always,
    /// Not for models that reason.
    NotReasoning,
}

/// How caching is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheHint {
    /// The provider caches automatically.
    Automatic,
    /// `cache_control` in content parts.
    CacheControl,
}

/// How content that is only text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContentForm {
    /// As a string: templates of local servers and strict parsers accept nothing else.
    Text,
    /// As a list of parts, so that consecutive user messages become one.
    Parts,
}

/// A request field that is set to `true`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flag {
    /// MiniMax: sends reasoning separately instead of in `<think>` tags within the text.
    ReasoningSplit,
    /// Z.ai: streams the arguments of tool calls instead of sending them at the end.
    ToolStream,
}

impl Flag {
    /// The name of the field.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReasoningSplit => "reasoning_split",
            Self::ToolStream => "tool_stream",
        }
    }
}

impl Dialect {
    /// Applies the overrides in a model's `compat`.
    ///
    /// # Errors
    /// Returns an error if a value in `compat` is invalid for its column.
    pub fn overridden(self, model: &ModelConfig) -> Result<Self, ProviderError> {
        let Value::Object(overrides) = &model.compat else { return Ok(self) };
        if overrides.is_empty() {
            return Ok(self);
        }
        let invalid = |error: serde_json::Error| {
            ProviderError::Other(format!("invalid `compat` of model `{}`: {error}", model.id).into())
        };
        let mut columns = serde_json::to_value(self).map_err(invalid)?;
        if let Value::Object(columns) = &mut columns {
            for (name, value) in overrides {
                if let Some(column) = columns.get_mut(name) {
                    column.clone_from(value);
                }
            }
        }
        serde_json::from_value(columns).map_err(invalid)
    }
}
