//! Maps the finish reasons of all providers to stop reasons.
//!
//! An unknown reason means that the model was done. Reasons that stand for failures become errors, because an
//! interrupted reply is not a reply.

use lariat_core::message::StopReason;
use lariat_core::model::ProviderError;

enum FinishReason {
    Stopped(StopReason),
    Failed(&'static str),
}

use FinishReason::{Failed, Stopped};
use StopReason::{ContextExceeded, Length, Refusal, Stop, ToolUse};

const FINISH_REASONS: &[(&str, FinishReason)] = &[
    ("stop", Stopped(Stop)),
    ("length", Stopped(Length)),
    ("tool_calls", Stopped(ToolUse)),
    ("function_call", Stopped(ToolUse)),
    ("content_filter", Stopped(Refusal)),
    // Together and text-generation-inference.
    ("eos", Stopped(Stop)),
    ("eos_token", Stopped(Stop)),
    ("stop_sequence", Stopped(Stop)),
    // Proxies that pass on Anthropic's reasons.
    ("end_turn", Stopped(Stop)),
    ("tool_use", Stopped(ToolUse)),
    ("max_tokens", Stopped(Length)),
    ("refusal", Stopped(Refusal)),
    // Mistral: the context window is full.
    ("model_length", Stopped(ContextExceeded)),
    // Z.ai.
    ("model_context_window_exceeded", Stopped(ContextExceeded)),
    ("sensitive", Stopped(Refusal)),
    ("network_error", Failed("the provider lost its connection during the reply")),
    // Gemini behind proxies.
    ("SAFETY", Stopped(Refusal)),
    ("MAX_TOKENS", Stopped(Length)),
    ("safety", Stopped(Refusal)),
    // DeepSeek.
    ("insufficient_system_resource", Failed("the provider ran out of resources during the reply")),
    // OpenRouter, Mistral.
    ("error", Failed("the provider failed during the reply")),
    // vLLM: the client disconnected or the engine stopped.
    ("abort", Failed("the provider aborted the reply")),
];

/// Maps a finish reason.
///
/// # Errors
/// Returns an error if the reason stands for a failure.
pub(super) fn stop_reason(name: &str) -> Result<StopReason, ProviderError> {
    match FINISH_REASONS.iter().find(|(known, _)| *known == name) {
        Some((_, Stopped(reason))) => Ok(*reason),
        Some((_, Failed(why))) => Err(ProviderError::Network((*why).into())),
        None => Ok(Stop),
    }
}
