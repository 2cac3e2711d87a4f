//! The names of OpenTelemetry's GenAI conventions that are used here.
//!
//! Owns the one place where they stand, and the version they are of. Every one of them is still in development, and the
//! crate with the generated constants calls them all deprecated since they moved to a repository of their own; so they
//! are written down here, and change together with [`SCHEMA_URL`].

use lariat_core::model::FailureKind;

/// The version of the conventions.
pub const SCHEMA_URL: &str = "https://opentelemetry.io/schemas/1.40.0";

/// What is done: one of the `OPERATION_…` names.
pub const OPERATION_NAME: &str = "gen_ai.operation.name";
/// A run of an agent.
pub const OPERATION_INVOKE_AGENT: &str = "invoke_agent";
/// A model call.
pub const OPERATION_CHAT: &str = "chat";
/// A tool call.
pub const OPERATION_EXECUTE_TOOL: &str = "execute_tool";

/// Who runs the model.
pub const PROVIDER_NAME: &str = "gen_ai.provider.name";
/// The session.
pub const CONVERSATION_ID: &str = "gen_ai.conversation.id";
/// The agent.
pub const AGENT_ID: &str = "gen_ai.agent.id";
/// The model that was asked.
pub const REQUEST_MODEL: &str = "gen_ai.request.model";
/// Output limit in tokens.
pub const REQUEST_MAX_TOKENS: &str = "gen_ai.request.max_tokens";
/// Sampling temperature.
pub const REQUEST_TEMPERATURE: &str = "gen_ai.request.temperature";
/// The model that answered.
pub const RESPONSE_MODEL: &str = "gen_ai.response.model";
/// Why it stopped.
pub const RESPONSE_FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
/// Tokens read, cached ones included.
pub const USAGE_INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
/// Tokens written.
pub const USAGE_OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
/// Of the tokens read, those from a cache.
pub const USAGE_CACHE_READ: &str = "gen_ai.usage.cache_read.input_tokens";
/// Of the tokens read, those written to a cache.
pub const USAGE_CACHE_CREATION: &str = "gen_ai.usage.cache_creation.input_tokens";
/// The tool.
pub const TOOL_NAME: &str = "gen_ai.tool.name";
/// What kind of tool it is.
pub const TOOL_TYPE: &str = "gen_ai.tool.type";
/// The call.
pub const TOOL_CALL_ID: &str = "gen_ai.tool.call.id";
/// What it was called with. Content.
pub const TOOL_CALL_ARGUMENTS: &str = "gen_ai.tool.call.arguments";
/// What it gave back. Content.
pub const TOOL_CALL_RESULT: &str = "gen_ai.tool.call.result";
/// What was said to a model. Content.
pub const INPUT_MESSAGES: &str = "gen_ai.input.messages";
/// What a model said. Content.
pub const OUTPUT_MESSAGES: &str = "gen_ai.output.messages";
/// What failed, as one of few words.
pub const ERROR_TYPE: &str = "error.type";
/// An error that has no word of its own.
pub const ERROR_OTHER: &str = "_OTHER";

/// Tokens of a call, by [`TOKEN_TYPE`].
pub const METRIC_TOKEN_USAGE: &str = "gen_ai.client.token.usage";
/// How long an operation took, in seconds.
pub const METRIC_OPERATION_DURATION: &str = "gen_ai.client.operation.duration";
/// Which tokens: `input` or `output`.
pub const TOKEN_TYPE: &str = "gen_ai.token.type";
/// Bounds of the buckets of [`METRIC_TOKEN_USAGE`], as the conventions advise.
pub const TOKEN_BUCKETS: [f64; 14] = [
    1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0, 16384.0, 65536.0, 262144.0, 1048576.0, 4194304.0,
    16777216.0, 67108864.0,
];
/// Bounds of the buckets of [`METRIC_OPERATION_DURATION`], as the conventions advise.
pub const DURATION_BUCKETS: [f64; 14] =
    [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];

/// The run's loop. Ours.
pub const LOOP_ID: &str = "lariat.loop.id";
/// How a run ended. Ours.
pub const OUTCOME: &str = "lariat.outcome";
/// Turns of a run. Ours.
pub const TURNS: &str = "lariat.turns";
/// What a call cost, in dollars. Ours.
pub const COST_USD: &str = "lariat.cost.usd";
/// Which retry of a model call this is, from 1. Ours.
pub const RETRY: &str = "lariat.retry";

/// The word for a failed model call.
pub fn error_type(error: &str) -> &'static str {
    match FailureKind::of_words(error) {
        FailureKind::RateLimited => "rate_limited",
        FailureKind::Network => "network",
        FailureKind::Auth => "authentication",
        FailureKind::Rejected => "rejected",
        FailureKind::ContextOverflow => "context_overflow",
        FailureKind::InvalidReply => "invalid_reply",
        FailureKind::EmptyReply => "empty_reply",
        FailureKind::Config => "configuration",
        FailureKind::Cancelled => "cancelled",
        _ => ERROR_OTHER,
    }
}

/// The conventions' name for who runs a model.
pub fn provider_name(provider: &str) -> &str {
    match provider {
        "google" | "gemini" => "gcp.gemini",
        "vertex" | "google-vertex" => "gcp.vertex_ai",
        "bedrock" | "amazon-bedrock" | "aws" => "aws.bedrock",
        "azure" | "azure-openai" => "azure.ai.openai",
        "mistral" => "mistral_ai",
        "xai" => "x_ai",
        other => other,
    }
}
