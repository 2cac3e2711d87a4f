//! The ways in which services that speak Chat Completions differ: one column per difference.
//!
//! Owns the columns and their override by a model's `compat`, an object with the same names, for example
//! `{"max_tokens_field": "max_tokens", "thinking": "reasoning_effort", "efforts": {"high": "high"}}`. Which service
//! has which values is the table in [`super::backend`]. `compat.extra_body`, an object, is added to every request.
//! Invariant: a request depends on nothing of a service but its dialect.

use lariat_core::model::{ModelConfig, ProviderError, ThinkingLevel};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::wire::IdRule;

/// How a service speaks. Serialised names are the names in `compat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dialect {
    /// Whether a request without a key makes sense.
    pub key: KeyNeed,
    /// The field of the output limit.
    pub max_tokens_field: MaxTokensField,
    /// The role of the system prompt.
    pub system_role: SystemRole,
    /// How thinking is asked for.
    pub thinking: ThinkingStyle,
    /// What each thinking level is called; without it, OpenAI's names for the model's generation.
    pub efforts: Option<Efforts>,
    /// Fields of a reply that carry reasoning; the first that has any counts.
    pub reply_reasoning: [Option<ReasoningField>; 2],
    /// The field under which reasoning goes back to its model; none where it must not or need not.
    pub history_reasoning: Option<ReasoningField>,
    /// What stands for reasoning that a reply with calls does not have, such as one of another model.
    pub missing_reasoning: MissingReasoning,
    /// What ids of calls are accepted.
    pub call_ids: CallIdForm,
    /// Whether `stream_options.include_usage` is accepted.
    pub stream_usage: bool,
    /// The value of `strict` in tools; none where the field is not sent.
    pub strict_tools: Option<bool>,
    /// How "call at least one tool" is spelled.
    pub required_choice: RequiredChoice,
    /// Whether a choice other than `auto` is accepted.
    pub tool_choice: ChoiceSupport,
    /// How output of a schema is asked for.
    pub output: OutputStyle,
    /// What stands for the content of a reply that only calls tools.
    pub empty_content: EmptyContent,
    /// What may follow a tool's result.
    pub after_tool: AfterTool,
    /// The value of `parallel_tool_calls`; none where the field is not sent.
    pub parallel_tool_calls: Option<bool>,
    /// When a temperature is accepted.
    pub temperature: TemperatureRule,
    /// How caching is asked for.
    pub cache: CacheHint,
    /// How content that is only text is written.
    pub content: ContentForm,
    /// Whether images are accepted at all.
    pub images: bool,
    /// Fields of the request that are simply true.
    pub flags: [Option<Flag>; 2],
}

/// Whether a service needs a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyNeed {
    /// Always.
    Required,
    /// Sent when there is one: local servers.
    Optional,
}

/// The field of the output limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokensField {
    /// OpenAI's newer name; its reasoning models accept no other.
    MaxCompletionTokens,
    /// The name most others know.
    MaxTokens,
}

impl MaxTokensField {
    /// The field's name.
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
    /// Everybody's.
    System,
    /// OpenAI's for models that reason; `system` is used for its others.
    Developer,
}

/// How thinking is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingStyle {
    /// Not at all.
    None,
    /// `"reasoning_effort": "low"`.
    ReasoningEffort,
    /// `"enable_thinking": true`.
    EnableThinking,
    /// `"thinking": {"type": "enabled"}`, with `reasoning_effort` where the level has a name.
    ThinkingType,
    /// `"reasoning": {"effort": "low"}`, or `{"enabled": true}` where the level has no name.
    Reasoning,
    /// `"chat_template_kwargs": {"enable_thinking": true}`.
    ChatTemplate,
}

/// A name of a thinking level on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// No thinking.
    None,
    /// As little as possible.
    Minimal,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// A lot.
    High,
    /// More.
    XHigh,
    /// As much as the model can.
    Max,
    /// As the model is used to (Groq's word for "on").
    Default,
}

impl Effort {
    /// The name.
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

/// What each thinking level is called; a level without a name is left to the service's default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Efforts {
    /// [`ThinkingLevel::Off`].
    pub off: Option<Effort>,
    /// [`ThinkingLevel::Minimal`].
    pub minimal: Option<Effort>,
    /// [`ThinkingLevel::Low`].
    pub low: Option<Effort>,
    /// [`ThinkingLevel::Medium`].
    pub medium: Option<Effort>,
    /// [`ThinkingLevel::High`].
    pub high: Option<Effort>,
    /// [`ThinkingLevel::Max`].
    pub max: Option<Effort>,
}

impl Efforts {
    /// Names for thinking off, and for the levels from minimal to max.
    pub const fn new(off: Option<Effort>, levels: [Effort; 5]) -> Self {
        let [minimal, low, medium, high, max] = levels;
        let (minimal, low, medium) = (Some(minimal), Some(low), Some(medium));
        Self { off, minimal, low, medium, high: Some(high), max: Some(max) }
    }

    /// No names at all: thinking is on or off.
    pub const NONE: Self = Self { off: None, minimal: None, low: None, medium: None, high: None, max: None };

    /// The name of a level.
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
    /// `reasoning_details`: a list of objects with text, signatures and encrypted data, kept exactly.
    ReasoningDetails,
}

impl ReasoningField {
    /// The field's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReasoningContent => "reasoning_content",
            Self::Reasoning => "reasoning",
            Self::ReasoningDetails => "reasoning_details",
        }
    }
}

/// What stands for reasoning that a reply with calls does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingReasoning {
    /// Nothing.
    Omit,
    /// An empty field, for models that reason.
    Empty,
}

/// What ids of calls a service accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallIdForm {
    /// Letters, digits, `_` and `-`, up to 40: what OpenAI accepts, and so everybody.
    Common,
    /// Exactly nine letters or digits.
    Nine,
    /// Anything printable, so that ids that mean something to their model stay what they are.
    Visible,
}

impl CallIdForm {
    /// As a rule.
    pub const fn rule(self) -> IdRule {
        match self {
            Self::Common => IdRule::FORTY,
            Self::Nine => IdRule::NINE,
            Self::Visible => IdRule::VISIBLE,
        }
    }
}

/// How "call at least one tool" is spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequiredChoice {
    /// `required`.
    Required,
    /// `any`.
    Any,
}

impl RequiredChoice {
    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Required => "required",
            Self::Any => "any",
        }
    }
}

/// Whether a tool choice other than `auto` is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChoiceSupport {
    /// All choices.
    All,
    /// Only `auto`: a forced choice becomes a wish nobody hears, and `none` hides the tools.
    AutoOnly,
}

/// How output of a schema is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputStyle {
    /// `response_format` with the schema.
    JsonSchema,
    /// `response_format` for any object, and the schema in the system prompt.
    JsonObject,
    /// The schema in the system prompt alone.
    Prompt,
}

/// What stands for the content of a reply that only calls tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmptyContent {
    /// `null`.
    Null,
    /// `""`.
    Empty,
}

/// What may follow a tool's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterTool {
    /// Any message.
    Any,
    /// A reply only: before a user message, one is put in.
    Assistant,
}

/// When a temperature is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TemperatureRule {
    /// Always.
    Always,
    /// Not by models that reason.
    NotReasoning,
}

/// How caching is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheHint {
    /// It happens by itself.
    Automatic,
    /// `cache_control` in parts of the content.
    CacheControl,
}

/// How content that is only text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContentForm {
    /// As a string: templates of local servers and strict parsers know nothing else.
    Text,
    /// As a list of parts, so that consecutive user messages become one.
    Parts,
}

/// A field of the request that is simply true.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flag {
    /// MiniMax: reasoning apart from the text instead of in `<think>` tags within it.
    ReasoningSplit,
    /// Z.ai: arguments of calls in pieces instead of at the end.
    ToolStream,
}

impl Flag {
    /// The field's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReasoningSplit => "reasoning_split",
            Self::ToolStream => "tool_stream",
        }
    }
}

impl Dialect {
    /// This dialect with what a model's `compat` says instead.
    ///
    /// # Errors
    /// When a value of `compat` is not one its column can have.
    pub fn overridden(self, model: &ModelConfig) -> Result<Self, ProviderError> {
        let Value::Object(overrides) = &model.compat else { return Ok(self) };
        if overrides.is_empty() {
            return Ok(self);
        }
        let invalid = |error: serde_json::Error| {
            ProviderError::Other(format!("the `compat` of model `{}`: {error}", model.id).into())
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
