//! Why a model stopped, in the words of every service.
//!
//! Owns the table. A word that nobody knows means that the model was done; words for failures are errors, because a
//! reply that broke off is not a reply.

use lariat_core::message::StopReason;
use lariat_core::model::ProviderError;

enum Meaning {
    Stopped(StopReason),
    Failed(&'static str),
}

use Meaning::{Failed, Stopped};
use StopReason::{ContextExceeded, Length, Refusal, Stop, ToolUse};

const WORDS: &[(&str, Meaning)] = &[
    ("stop", Stopped(Stop)),
    ("length", Stopped(Length)),
    ("tool_calls", Stopped(ToolUse)),
    ("function_call", Stopped(ToolUse)),
    ("content_filter", Stopped(Refusal)),
    // Together and text-generation-inference.
    ("eos", Stopped(Stop)),
    ("eos_token", Stopped(Stop)),
    ("stop_sequence", Stopped(Stop)),
    // Proxies that leave Anthropic's words.
    ("end_turn", Stopped(Stop)),
    ("tool_use", Stopped(ToolUse)),
    ("max_tokens", Stopped(Length)),
    ("refusal", Stopped(Refusal)),
    // Mistral: the context is full.
    ("model_length", Stopped(ContextExceeded)),
    // Z.ai.
    ("model_context_window_exceeded", Stopped(ContextExceeded)),
    ("sensitive", Stopped(Refusal)),
    ("network_error", Failed("the service lost its connection while the model replied")),
    // Gemini behind proxies.
    ("SAFETY", Stopped(Refusal)),
    ("MAX_TOKENS", Stopped(Length)),
    ("safety", Stopped(Refusal)),
    // DeepSeek.
    ("insufficient_system_resource", Failed("the service ran out of resources while the model replied")),
    // OpenRouter, Mistral.
    ("error", Failed("the service failed while the model replied")),
    // vLLM when the client is gone or the engine stops.
    ("abort", Failed("the service gave up the reply")),
];

/// The meaning of a word.
///
/// # Errors
/// When it stands for a failure.
pub(super) fn reason(word: &str) -> Result<StopReason, ProviderError> {
    match WORDS.iter().find(|(known, _)| *known == word) {
        Some((_, Stopped(reason))) => Ok(*reason),
        Some((_, Failed(why))) => Err(ProviderError::Network((*why).into())),
        None => Ok(Stop),
    }
}
