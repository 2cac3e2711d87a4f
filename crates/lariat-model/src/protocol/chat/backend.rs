//! Lists the providers that speak Chat Completions, as a table.
//!
//! Each row names a provider, its address and how it differs from [`GENERIC`]; [`super::dialect`] defines
//! what the differences mean. A row may apply to some models of a provider only; the first matching row wins.
//! Invariant: no other code branches on a provider's name.

use lariat_core::model::{ModelConfig, ProviderError};

use super::dialect::{
    AfterTool, CacheHint, CallIdForm, ChoiceSupport, ContentForm, Dialect, Effort, Efforts, EmptyContent,
    Flag, KeyNeed, MaxTokensField, MissingReasoning, OutputStyle, ReasoningField, RequiredChoice, SystemRole,
    TemperatureRule, ThinkingStyle,
};

/// A provider, or some of its models.
#[derive(Debug)]
#[non_exhaustive]
pub struct Backend {
    /// Values of `ModelConfig::provider` that select it; the first is its main name.
    pub names: &'static [&'static str],
    /// Parts of a model id, of which one must occur; empty for all models.
    pub models: &'static [&'static str],
    /// Base URL, unless the model sets one.
    pub base_url: &'static str,
    /// The environment variable that usually holds the key; empty for local servers.
    pub key_variable: &'static str,
    /// How the provider differs from [`GENERIC`].
    pub dialect: Dialect,
}

/// What an unknown provider is assumed to accept: the oldest and plainest form of everything.
pub const GENERIC: Dialect = Dialect {
    key: KeyNeed::Optional,
    max_tokens_field: MaxTokensField::MaxTokens,
    system_role: SystemRole::System,
    thinking: ThinkingStyle::ReasoningEffort,
    efforts: Some(EFFORT_LOW_TO_HIGH),
    reply_reasoning: [Some(ReasoningField::ReasoningContent), Some(ReasoningField::Reasoning)],
    history_reasoning: None,
    missing_reasoning: MissingReasoning::Omit,
    call_ids: CallIdForm::Common,
    stream_usage: true,
    strict_tools: None,
    required_choice: RequiredChoice::Required,
    tool_choice: ChoiceSupport::All,
    output: OutputStyle::JsonSchema,
    empty_content: EmptyContent::Null,
    after_tool: AfterTool::Any,
    parallel_tool_calls: None,
    temperature: TemperatureRule::Always,
    cache: CacheHint::Automatic,
    content: ContentForm::Text,
    images: true,
    flags: [None, None],
};

/// A hosted provider, which requires a key.
const HOSTED: Dialect = Dialect { key: KeyNeed::Required, ..GENERIC };

/// Effort names of providers with three levels whose thinking cannot be turned off.
const EFFORT_LOW_TO_HIGH: Efforts =
    Efforts::new(None, [Effort::Low, Effort::Low, Effort::Medium, Effort::High, Effort::High]);
/// The same, but `none` turns thinking off.
const EFFORT_NONE_TO_HIGH: Efforts =
    Efforts::new(Some(Effort::None), [Effort::Low, Effort::Low, Effort::Medium, Effort::High, Effort::High]);
/// Effort names of providers with low, high and max.
const EFFORT_LOW_HIGH_MAX: Efforts =
    Efforts::new(None, [Effort::Low, Effort::Low, Effort::High, Effort::High, Effort::Max]);

/// All known providers. Order matters: the first matching row wins.
pub static BACKENDS: &[Backend] = &[
    Backend {
        names: &["openai"],
        models: &[],
        base_url: "https://api.openai.com/v1",
        key_variable: "OPENAI_API_KEY",
        dialect: Dialect {
            max_tokens_field: MaxTokensField::MaxCompletionTokens,
            system_role: SystemRole::Developer,
            efforts: None,
            temperature: TemperatureRule::NotReasoning,
            content: ContentForm::Parts,
            ..HOSTED
        },
    },
    // Grok 4 reasons but rejects `reasoning_effort` (docs.x.ai, "Reasoning"); only these models accept it.
    Backend {
        names: &["xai", "x-ai", "grok"],
        models: &["grok-3-mini", "grok-4.3", "grok-4.2", "grok-4.5", "grok-5"],
        base_url: "https://api.x.ai/v1",
        key_variable: "XAI_API_KEY",
        dialect: Dialect { max_tokens_field: MaxTokensField::MaxCompletionTokens, ..HOSTED },
    },
    Backend {
        names: &["xai", "x-ai", "grok"],
        models: &[],
        base_url: "https://api.x.ai/v1",
        key_variable: "XAI_API_KEY",
        dialect: Dialect {
            max_tokens_field: MaxTokensField::MaxCompletionTokens,
            thinking: ThinkingStyle::None,
            ..HOSTED
        },
    },
    // Groq's Qwen only knows on ("default") and off (console.groq.com/docs/reasoning).
    Backend {
        names: &["groq"],
        models: &["qwen"],
        base_url: "https://api.groq.com/openai/v1",
        key_variable: "GROQ_API_KEY",
        dialect: Dialect {
            max_tokens_field: MaxTokensField::MaxCompletionTokens,
            efforts: Some(Efforts::new(Some(Effort::None), [Effort::Default; 5])),
            ..HOSTED
        },
    },
    Backend {
        names: &["groq"],
        models: &[],
        base_url: "https://api.groq.com/openai/v1",
        key_variable: "GROQ_API_KEY",
        dialect: Dialect { max_tokens_field: MaxTokensField::MaxCompletionTokens, ..HOSTED },
    },
    // Cerebras' gpt-oss rejects `none` and `minimal`; its other models accept `none`.
    Backend {
        names: &["cerebras"],
        models: &["gpt-oss"],
        base_url: "https://api.cerebras.ai/v1",
        key_variable: "CEREBRAS_API_KEY",
        dialect: CEREBRAS,
    },
    Backend {
        names: &["cerebras"],
        models: &[],
        base_url: "https://api.cerebras.ai/v1",
        key_variable: "CEREBRAS_API_KEY",
        dialect: Dialect { efforts: Some(EFFORT_NONE_TO_HIGH), ..CEREBRAS },
    },
    // Mistral: ids of nine letters or digits; "Unexpected role 'user' after role 'tool'"; `any` for `required`.
    Backend {
        names: &["mistral"],
        models: &[],
        base_url: "https://api.mistral.ai/v1",
        key_variable: "MISTRAL_API_KEY",
        dialect: Dialect {
            efforts: Some(Efforts::new(Some(Effort::None), [Effort::High; 5])),
            call_ids: CallIdForm::Nine,
            stream_usage: false,
            required_choice: RequiredChoice::Any,
            empty_content: EmptyContent::Empty,
            after_tool: AfterTool::Assistant,
            parallel_tool_calls: Some(true),
            ..HOSTED
        },
    },
    // DeepSeek responds with status 400 if a reply that called tools comes back without its
    // `reasoning_content` (api-docs.deepseek.com/guides/thinking_mode), and does not support schemas.
    Backend {
        names: &["deepseek"],
        models: &[],
        base_url: "https://api.deepseek.com",
        key_variable: "DEEPSEEK_API_KEY",
        dialect: Dialect {
            thinking: ThinkingStyle::ThinkingType,
            efforts: Some(EFFORT_LOW_HIGH_MAX),
            history_reasoning: Some(ReasoningField::ReasoningContent),
            missing_reasoning: MissingReasoning::Empty,
            output: OutputStyle::JsonObject,
            empty_content: EmptyContent::Empty,
            images: false,
            ..HOSTED
        },
    },
    // OpenRouter passes `cache_control` on to Anthropic's models; for other models caching is automatic.
    Backend {
        names: &["openrouter"],
        models: &["anthropic/", "claude"],
        base_url: "https://openrouter.ai/api/v1",
        key_variable: "OPENROUTER_API_KEY",
        dialect: Dialect { cache: CacheHint::CacheControl, content: ContentForm::Parts, ..OPENROUTER },
    },
    Backend {
        names: &["openrouter"],
        models: &[],
        base_url: "https://openrouter.ai/api/v1",
        key_variable: "OPENROUTER_API_KEY",
        dialect: OPENROUTER,
    },
    // Together: gpt-oss accepts an effort, hybrid models accept `reasoning.enabled`.
    Backend {
        names: &["together", "togetherai"],
        models: &["gpt-oss", "deepseek-v4"],
        base_url: "https://api.together.xyz/v1",
        key_variable: "TOGETHER_API_KEY",
        dialect: HOSTED,
    },
    Backend {
        names: &["together", "togetherai"],
        models: &[],
        base_url: "https://api.together.xyz/v1",
        key_variable: "TOGETHER_API_KEY",
        dialect: Dialect {
            thinking: ThinkingStyle::Reasoning,
            efforts: Some(Efforts::NONE),
            reply_reasoning: [Some(ReasoningField::Reasoning), Some(ReasoningField::ReasoningContent)],
            ..HOSTED
        },
    },
    Backend {
        names: &["fireworks", "fireworks-ai"],
        models: &[],
        base_url: "https://api.fireworks.ai/inference/v1",
        key_variable: "FIREWORKS_API_KEY",
        dialect: Dialect {
            efforts: Some(EFFORT_NONE_TO_HIGH),
            history_reasoning: Some(ReasoningField::ReasoningContent),
            ..HOSTED
        },
    },
    // Kimi K3 accepts an effort and cannot be turned off; K2 is turned on and off by type. Both have a fixed
    // temperature.
    Backend {
        names: &["moonshot", "moonshotai", "kimi"],
        models: &["kimi-k3"],
        base_url: "https://api.moonshot.ai/v1",
        key_variable: "MOONSHOT_API_KEY",
        dialect: Dialect {
            thinking: ThinkingStyle::ReasoningEffort,
            efforts: Some(EFFORT_LOW_HIGH_MAX),
            ..MOONSHOT
        },
    },
    Backend {
        names: &["moonshot", "moonshotai", "kimi"],
        models: &[],
        base_url: "https://api.moonshot.ai/v1",
        key_variable: "MOONSHOT_API_KEY",
        dialect: MOONSHOT,
    },
    // Z.ai always sends usage, requires thinking to come back between tool calls, and accepts no tool choice
    // but `auto`.
    Backend {
        names: &["zai", "z-ai", "z.ai", "zhipu", "zhipuai"],
        models: &[],
        base_url: "https://api.z.ai/api/paas/v4",
        key_variable: "ZAI_API_KEY",
        dialect: Dialect {
            thinking: ThinkingStyle::ThinkingType,
            efforts: Some(Efforts::NONE),
            history_reasoning: Some(ReasoningField::ReasoningContent),
            stream_usage: false,
            tool_choice: ChoiceSupport::AutoOnly,
            output: OutputStyle::JsonObject,
            empty_content: EmptyContent::Empty,
            flags: [Some(Flag::ToolStream), None],
            ..HOSTED
        },
    },
    // MiniMax requires its complete reasoning back as `reasoning_details` (platform.minimax.io, "OpenAI
    // API").
    Backend {
        names: &["minimax"],
        models: &[],
        base_url: "https://api.minimax.io/v1",
        key_variable: "MINIMAX_API_KEY",
        dialect: Dialect {
            max_tokens_field: MaxTokensField::MaxCompletionTokens,
            thinking: ThinkingStyle::None,
            reply_reasoning: [Some(ReasoningField::ReasoningDetails), Some(ReasoningField::ReasoningContent)],
            history_reasoning: Some(ReasoningField::ReasoningDetails),
            output: OutputStyle::Prompt,
            empty_content: EmptyContent::Empty,
            flags: [Some(Flag::ReasoningSplit), None],
            ..HOSTED
        },
    },
    // DashScope makes one tool call at a time unless the request says otherwise.
    Backend {
        names: &["qwen", "dashscope", "alibaba"],
        models: &[],
        base_url: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        key_variable: "DASHSCOPE_API_KEY",
        dialect: Dialect {
            thinking: ThinkingStyle::EnableThinking,
            output: OutputStyle::JsonObject,
            empty_content: EmptyContent::Empty,
            parallel_tool_calls: Some(true),
            ..HOSTED
        },
    },
    Backend {
        names: &["ollama"],
        models: &[],
        base_url: "http://localhost:11434/v1",
        key_variable: "",
        dialect: Dialect {
            efforts: Some(EFFORT_NONE_TO_HIGH),
            reply_reasoning: [Some(ReasoningField::Reasoning), Some(ReasoningField::ReasoningContent)],
            history_reasoning: Some(ReasoningField::Reasoning),
            empty_content: EmptyContent::Empty,
            ..GENERIC
        },
    },
    Backend {
        names: &["lmstudio", "lm-studio"],
        models: &[],
        base_url: "http://localhost:1234/v1",
        key_variable: "",
        dialect: Dialect { empty_content: EmptyContent::Empty, ..GENERIC },
    },
    // vLLM sends the reasoning field under both its old and its new name; only one may be used.
    Backend {
        names: &["vllm"],
        models: &[],
        base_url: "http://localhost:8000/v1",
        key_variable: "",
        dialect: Dialect {
            thinking: ThinkingStyle::ChatTemplate,
            reply_reasoning: [Some(ReasoningField::Reasoning), Some(ReasoningField::ReasoningContent)],
            history_reasoning: Some(ReasoningField::Reasoning),
            ..GENERIC
        },
    },
    Backend {
        names: &["llamacpp", "llama.cpp", "llama-cpp"],
        models: &[],
        base_url: "http://localhost:8080/v1",
        key_variable: "",
        dialect: Dialect {
            thinking: ThinkingStyle::ChatTemplate,
            history_reasoning: Some(ReasoningField::ReasoningContent),
            empty_content: EmptyContent::Empty,
            parallel_tool_calls: Some(true),
            ..GENERIC
        },
    },
];

const CEREBRAS: Dialect = Dialect {
    max_tokens_field: MaxTokensField::MaxCompletionTokens,
    reply_reasoning: [Some(ReasoningField::Reasoning), Some(ReasoningField::ReasoningContent)],
    history_reasoning: Some(ReasoningField::Reasoning),
    images: false,
    ..HOSTED
};

const OPENROUTER: Dialect = Dialect {
    thinking: ThinkingStyle::Reasoning,
    efforts: Some(Efforts::new(
        Some(Effort::None),
        [Effort::Minimal, Effort::Low, Effort::Medium, Effort::High, Effort::XHigh],
    )),
    reply_reasoning: [Some(ReasoningField::Reasoning), Some(ReasoningField::ReasoningDetails)],
    history_reasoning: Some(ReasoningField::ReasoningDetails),
    ..HOSTED
};

/// Kimi relies on ids like `functions.read:0`, so they stay unchanged. If thinking does not come back, it
/// responds "reasoning_content is missing in assistant tool call message".
const MOONSHOT: Dialect = Dialect {
    max_tokens_field: MaxTokensField::MaxCompletionTokens,
    thinking: ThinkingStyle::ThinkingType,
    efforts: Some(Efforts::NONE),
    history_reasoning: Some(ReasoningField::ReasoningContent),
    missing_reasoning: MissingReasoning::Empty,
    call_ids: CallIdForm::Visible,
    output: OutputStyle::JsonObject,
    temperature: TemperatureRule::NotReasoning,
    ..HOSTED
};

/// A provider that is not in the table. The model must set its base URL.
static UNKNOWN_PROVIDER: Backend =
    Backend { names: &["generic"], models: &[], base_url: "", key_variable: "", dialect: GENERIC };

/// Returns the row for a model, by the provider and model id in its configuration. A model with neither a
/// known provider nor a base URL gets the first row.
pub fn backend(model: &ModelConfig) -> &'static Backend {
    let named =
        |backend: &&Backend| backend.names.iter().any(|name| name.eq_ignore_ascii_case(&model.provider));
    let fits = |backend: &&Backend| {
        backend.models.is_empty() || backend.models.iter().any(|part| model.id.contains(part))
    };
    let known = BACKENDS.iter().find(|backend| named(backend) && fits(backend));
    let unnamed = || BACKENDS.first().filter(|_| model.base_url.is_empty());
    known.or_else(unnamed).unwrap_or(&UNKNOWN_PROVIDER)
}

/// Returns the dialect for a model, with the overrides in the model's `compat`.
///
/// # Errors
/// Returns an error if `compat` is invalid.
pub fn dialect(model: &ModelConfig) -> Result<Dialect, ProviderError> {
    backend(model).dialect.overridden(model)
}

#[cfg(test)]
#[path = "backend_tests.rs"]
mod tests;
