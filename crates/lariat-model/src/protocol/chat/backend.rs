//! The services that speak Chat Completions, as a table.
//!
//! Owns who they are, where they are and how each differs from [`GENERIC`]; what a difference means is in
//! [`super::dialect`]. A row may hold for some models of a service only; the first row that fits counts.
//! Invariant: no code anywhere asks for a service by name.

use lariat_core::model::{ModelConfig, ProviderError};

use super::dialect::{
    AfterTool, CacheHint, CallIdForm, ChoiceSupport, ContentForm, Dialect, Effort, Efforts, EmptyContent,
    Flag, KeyNeed, MaxTokensField, MissingReasoning, OutputStyle, ReasoningField, RequiredChoice, SystemRole,
    TemperatureRule, ThinkingStyle,
};

/// A service, or some models of it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Backend {
    /// Names that `ModelConfig::provider` may have for it; the first is its own.
    pub names: &'static [&'static str],
    /// Parts of a model id of which one must occur; empty for all models.
    pub models: &'static [&'static str],
    /// Where it is, unless the model says.
    pub base_url: &'static str,
    /// The environment variable that usually holds its key; empty for local servers.
    pub key_variable: &'static str,
    /// How it speaks.
    pub dialect: Dialect,
}

/// What a service that nobody described accepts: the oldest and plainest form of everything.
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

/// A hosted service: needs a key.
const HOSTED: Dialect = Dialect { key: KeyNeed::Required, ..GENERIC };

/// Services that name three levels and cannot be switched off.
const EFFORT_LOW_TO_HIGH: Efforts =
    Efforts::new(None, [Effort::Low, Effort::Low, Effort::Medium, Effort::High, Effort::High]);
/// The same, where `none` switches off.
const EFFORT_NONE_TO_HIGH: Efforts =
    Efforts::new(Some(Effort::None), [Effort::Low, Effort::Low, Effort::Medium, Effort::High, Effort::High]);
/// Low, high and max.
const EFFORT_LOW_HIGH_MAX: Efforts =
    Efforts::new(None, [Effort::Low, Effort::Low, Effort::High, Effort::High, Effort::Max]);

/// The table.
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
    // Grok 4 reasons but rejects `reasoning_effort` (docs.x.ai, "Reasoning"); only these take it.
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
    // Groq's Qwen knows only on ("default") and off (console.groq.com/docs/reasoning).
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
    // Cerebras' gpt-oss rejects `none` and `minimal`; its other models take `none`.
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
    // DeepSeek answers 400 when a reply that called tools comes back without its `reasoning_content`
    // (api-docs.deepseek.com/guides/thinking_mode), and knows no schemas.
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
    // OpenRouter passes `cache_control` on to Anthropic's models; for the others caching is automatic.
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
    // Together: gpt-oss takes an effort, hybrid models take `reasoning.enabled`.
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
    // Kimi K3 takes an effort and cannot be switched off; K2 is switched by type. Both fix the temperature.
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
    // Z.ai sends usage unasked, wants thinking back between calls, accepts no tool choice but `auto`.
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
    // MiniMax wants its reasoning back, complete, as `reasoning_details` (platform.minimax.io, "OpenAI API").
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
    // DashScope calls one tool at a time unless told otherwise.
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
    // vLLM sends both names of the reasoning field during its renaming; one must count, not both.
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

/// Ids like `functions.read:0` mean something to Kimi: they stay. "reasoning_content is missing in assistant tool call
/// message" is what it says when thinking does not come back.
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

/// A service that is not in the table: the protocol at an address of its own.
static NOBODY: Backend =
    Backend { names: &["generic"], models: &[], base_url: "", key_variable: "", dialect: GENERIC };

/// The service that runs a model, by the names in its configuration. Whoever names no known service and no address
/// means the first.
pub fn backend(model: &ModelConfig) -> &'static Backend {
    let named =
        |backend: &&Backend| backend.names.iter().any(|name| name.eq_ignore_ascii_case(&model.provider));
    let fits = |backend: &&Backend| {
        backend.models.is_empty() || backend.models.iter().any(|part| model.id.contains(part))
    };
    let known = BACKENDS.iter().find(|backend| named(backend) && fits(backend));
    let unnamed = || BACKENDS.first().filter(|_| model.base_url.is_empty());
    known.or_else(unnamed).unwrap_or(&NOBODY)
}

/// How the service of a model speaks, with what the model's `compat` says instead.
///
/// # Errors
/// When `compat` is not valid.
pub fn dialect(model: &ModelConfig) -> Result<Dialect, ProviderError> {
    backend(model).dialect.overridden(model)
}

#[cfg(test)]
#[path = "backend_tests.rs"]
mod tests;
