//! The models of every protocol, and random requests to them.

use std::sync::{Arc, LazyLock};

use lariat_core::model::{
    CacheConfig, CacheStrategy, CacheTtl, OutputSchema, PromptSection, SectionStability, StreamConfig,
    SystemPrompt, ThinkingLevel, ToolChoice,
};
use lariat_core::tool::ToolDefinition;
use lariat_core::transcript::Window;
use lariat_test::SeededRandom;
use serde_json::json;

use crate::server::Wire;

/// A model of a provider.
#[derive(Clone, Copy, Debug)]
pub(super) struct Author {
    pub(super) wire: Wire,
    pub(super) provider: &'static str,
    pub(super) id: &'static str,
    pub(super) reasoning: bool,
}

const fn thinks(wire: Wire, provider: &'static str, id: &'static str) -> Author {
    Author { wire, provider, id, reasoning: true }
}

const fn plain(wire: Wire, provider: &'static str, id: &'static str) -> Author {
    Author { wire, provider, id, reasoning: false }
}

/// At least one model of every generation that a protocol treats differently, and of compatible servers.
pub(super) const AUTHORS: &[Author] = &[
    plain(Wire::AnthropicMessages, "anthropic", "claude-3-5-haiku-20241022"),
    thinks(Wire::AnthropicMessages, "anthropic", "claude-3-7-sonnet-20250219"),
    thinks(Wire::AnthropicMessages, "anthropic", "claude-sonnet-4-5"),
    thinks(Wire::AnthropicMessages, "anthropic", "claude-opus-4-6"),
    thinks(Wire::AnthropicMessages, "anthropic", "claude-opus-4-7"),
    thinks(Wire::AnthropicMessages, "anthropic", "claude-sonnet-5"),
    thinks(Wire::OpenAiChat, "openai", "gpt-5"),
    plain(Wire::OpenAiChat, "openai", "gpt-4.1"),
    plain(Wire::OpenAiChat, "mistral", "mistral-large-latest"),
    thinks(Wire::OpenAiChat, "deepseek", "deepseek-reasoner"),
    thinks(Wire::OpenAiChat, "openrouter", "anthropic/claude-sonnet-4.5"),
    thinks(Wire::OpenAiChat, "groq", "openai/gpt-oss-120b"),
    thinks(Wire::OpenAiChat, "xai", "grok-4"),
    thinks(Wire::OpenAiChat, "moonshotai", "kimi-k2-thinking"),
    thinks(Wire::OpenAiChat, "ollama", "qwen3:8b"),
    plain(Wire::OpenAiChat, "other", "some-model"),
    thinks(Wire::OpenAiResponses, "openai", "gpt-5"),
    plain(Wire::OpenAiResponses, "openai", "gpt-4.1"),
    thinks(Wire::OpenAiResponses, "openai", "o4-mini"),
    thinks(Wire::OpenAiResponses, "openai", "gpt-5.1-codex"),
    thinks(Wire::AzureResponses, "azure", "gpt-5"),
    plain(Wire::AzureResponses, "azure", "my-deployment"),
    plain(Wire::Gemini, "google", "gemini-2.0-flash"),
    thinks(Wire::Gemini, "google", "gemini-2.5-pro"),
    thinks(Wire::Gemini, "google", "gemini-2.5-flash"),
    thinks(Wire::Gemini, "google", "gemini-3-pro-preview"),
    thinks(Wire::Vertex, "google-vertex", "gemini-2.5-pro"),
    thinks(Wire::Vertex, "google-vertex", "gemini-3-pro-preview"),
    thinks(Wire::BedrockConverse, "amazon-bedrock", "anthropic.claude-sonnet-4-5-20250929-v1:0"),
    thinks(Wire::BedrockConverse, "amazon-bedrock", "us.anthropic.claude-opus-4-7"),
    plain(Wire::BedrockConverse, "amazon-bedrock", "amazon.nova-pro-v1:0"),
    plain(Wire::BedrockConverse, "amazon-bedrock", "meta.llama3-3-70b-instruct-v1:0"),
];

/// Names of the offered tools; histories also contain calls of others.
pub(super) const TOOLS: &[&str] = &["read", "write", "search", "mcp__files__list-all", "run_shell"];

/// A random system prompt: none, one part, or two.
fn system_prompt(dice: &mut SeededRandom) -> SystemPrompt {
    let mut text = || *dice.pick(&["", "You are careful.", "  \n", "né 日本"]).unwrap_or(&"");
    SystemPrompt::of_sections(&[
        PromptSection::new("base", SectionStability::Static, text()),
        PromptSection::new("memory", SectionStability::SemiStatic, text()),
    ])
}

/// A random request to a random model of a protocol.
pub(super) fn config(wire: Wire, messages: Window, dice: &mut SeededRandom) -> StreamConfig {
    let authors: Vec<&Author> = AUTHORS.iter().filter(|author| author.wire == wire).collect();
    let fallback = thinks(wire, "other", "some-model");
    let author = authors.get(dice.index(authors.len())).copied().unwrap_or(&fallback);
    let mut model = super::model_config(author);
    model.max_tokens = [None, Some(8_192), Some(64_000)].get(dice.index(3)).copied().flatten();
    let mut config = StreamConfig::new(Arc::new(model), messages);
    config.system_prompt = system_prompt(dice);
    // Requests for a summary have no tools, although the history contains tool calls.
    config.tools = toolbox(if dice.chance(15) { 0 } else { 1 + dice.index(TOOLBOXES - 1) });
    let tools = config.tools.len();
    config.tool_choice = match (tools, dice.index(8)) {
        (0, _) | (_, 0..=4) => ToolChoice::Auto,
        (_, 5) => ToolChoice::None,
        (_, 6) => ToolChoice::Required,
        _ => ToolChoice::Tool(TOOLS.get(dice.index(tools)).copied().unwrap_or("read").to_owned()),
    };
    config.output_schema = dice.chance(15).then(|| Arc::new(schema()));
    let levels = [
        ThinkingLevel::Off,
        ThinkingLevel::Minimal,
        ThinkingLevel::Low,
        ThinkingLevel::Medium,
        ThinkingLevel::High,
        ThinkingLevel::Max,
    ];
    config.thinking_level = levels.get(dice.index(6)).copied().unwrap_or_default();
    config.max_tokens =
        *dice.pick(&[None, None, None, Some(64), Some(1_024), Some(1_025), Some(4_096)]).unwrap_or(&None);
    config.temperature = *dice.pick(&[None, None, Some(0.0), Some(0.7), Some(1.0)]).unwrap_or(&None);
    config.cache_config = cache(dice);
    config
}

fn cache(dice: &mut SeededRandom) -> CacheConfig {
    let manual = CacheStrategy::Manual {
        cache_system: dice.chance(50),
        cache_tools: dice.chance(50),
        cache_messages: dice.chance(50),
    };
    let strategies = [CacheStrategy::Auto, CacheStrategy::Disabled, manual];
    CacheConfig {
        enabled: dice.chance(90),
        strategy: strategies.get(dice.index(3)).copied().unwrap_or_default(),
        ttl: if dice.chance(30) { CacheTtl::OneHour } else { CacheTtl::FiveMinutes },
    }
}

/// Number of tool sets; the first is empty.
const TOOLBOXES: usize = 24;

/// A tool set. Created once, like in an agent, so that request builders may cache what they made of it.
fn toolbox(number: usize) -> Arc<[ToolDefinition]> {
    static MADE: LazyLock<Vec<Arc<[ToolDefinition]>>> = LazyLock::new(|| {
        let boxes = (0..TOOLBOXES).map(|number| {
            let mut dice = SeededRandom::new(number as u64);
            let count = if number == 0 { 0 } else { 1 + dice.index(TOOLS.len()) };
            TOOLS.iter().take(count).map(|name| tool(name, &mut dice)).collect()
        });
        boxes.collect()
    });
    MADE.get(number).cloned().unwrap_or_default()
}

fn tool(name: &str, dice: &mut SeededRandom) -> ToolDefinition {
    let parameters = match dice.index(3) {
        0 => json!({"type": "object", "properties": {}}),
        1 => json!({
            "type": "object",
            "properties": {"path": {"type": "string", "description": "Where."}, "n": {"type": "integer", "minimum": 0}},
            "required": ["path"],
            "additionalProperties": false
        }),
        _ => json!({
            "type": "object",
            "properties": {
                "mode": {"type": "string", "enum": ["fast", "slow"]},
                "items": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": ["string", "null"]}}}}
            }
        }),
    };
    let description = if dice.chance(10) { String::new() } else { format!("Does what `{name}` says.") };
    ToolDefinition { name: name.to_owned(), description, parameters }
}

fn schema() -> OutputSchema {
    OutputSchema {
        name: "answer".to_owned(),
        schema: json!({
            "type": "object",
            "properties": {"answer": {"type": "string"}},
            "required": ["answer"],
            "additionalProperties": false
        }),
    }
}
