//! The names of OpenTelemetry's GenAI conventions that Lariat uses, and their version.
//!
//! All of them are still in development, and the crate with the generated constants marks them as deprecated
//! since they moved to their own repository. Therefore they are defined here; update them together with
//! [`SCHEMA_URL`].

use lariat_core::model::FailureKind;

/// The version of the conventions.
pub const SCHEMA_URL: &str = "https://opentelemetry.io/schemas/1.40.0";

/// The operation: one of the `OPERATION_…` names.
pub const OPERATION_NAME: &str = "gen_ai.operation.name";
/// A run of an agent.
pub const OPERATION_INVOKE_AGENT: &str = "invoke_agent";
/// A model call.
pub const OPERATION_CHAT: &str = "chat";
/// The work of several agents.
pub const OPERATION_INVOKE_WORKFLOW: &str = "invoke_workflow";
/// A tool call.
pub const OPERATION_EXECUTE_TOOL: &str = "execute_tool";

/// The provider of the model.
pub const PROVIDER_NAME: &str = "gen_ai.provider.name";
/// The id of the session.
pub const CONVERSATION_ID: &str = "gen_ai.conversation.id";
/// The id of the agent.
pub const AGENT_ID: &str = "gen_ai.agent.id";
/// The requested model.
pub const REQUEST_MODEL: &str = "gen_ai.request.model";
/// The limit of output tokens.
pub const REQUEST_MAX_TOKENS: &str = "gen_ai.request.max_tokens";
/// Sampling temperature.
pub const REQUEST_TEMPERATURE: &str = "gen_ai.request.temperature";
/// The model that replied.
pub const RESPONSE_MODEL: &str = "gen_ai.response.model";
/// Why the model stopped.
pub const RESPONSE_FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
/// Input tokens, including cached ones.
pub const USAGE_INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
/// Output tokens.
pub const USAGE_OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
/// Input tokens read from a cache.
pub const USAGE_CACHE_READ: &str = "gen_ai.usage.cache_read.input_tokens";
/// Input tokens written to a cache.
pub const USAGE_CACHE_CREATION: &str = "gen_ai.usage.cache_creation.input_tokens";
/// The name of the tool.
pub const TOOL_NAME: &str = "gen_ai.tool.name";
/// The kind of tool.
pub const TOOL_TYPE: &str = "gen_ai.tool.type";
/// The id of the tool call.
pub const TOOL_CALL_ID: &str = "gen_ai.tool.call.id";
/// The arguments of the tool call. Content.
pub const TOOL_CALL_ARGUMENTS: &str = "gen_ai.tool.call.arguments";
/// The result of the tool call. Content.
pub const TOOL_CALL_RESULT: &str = "gen_ai.tool.call.result";
/// The messages sent to a model. Content.
pub const INPUT_MESSAGES: &str = "gen_ai.input.messages";
/// The reply of a model. Content.
pub const OUTPUT_MESSAGES: &str = "gen_ai.output.messages";
/// The kind of error, one of a few fixed values.
pub const ERROR_TYPE: &str = "error.type";
/// An error of another kind.
pub const ERROR_OTHER: &str = "_OTHER";

/// Tokens of a call, by [`TOKEN_TYPE`].
pub const METRIC_TOKEN_USAGE: &str = "gen_ai.client.token.usage";
/// Duration of an operation, in seconds.
pub const METRIC_OPERATION_DURATION: &str = "gen_ai.client.operation.duration";
/// The kind of tokens: `input` or `output`.
pub const TOKEN_TYPE: &str = "gen_ai.token.type";
/// Bucket boundaries of [`METRIC_TOKEN_USAGE`], as recommended by the conventions.
pub const TOKEN_BUCKETS: [f64; 14] = [
    1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0, 16384.0, 65536.0, 262144.0, 1048576.0, 4194304.0,
    16777216.0, 67108864.0,
];
/// Bucket boundaries of [`METRIC_OPERATION_DURATION`], as recommended by the conventions.
pub const DURATION_BUCKETS: [f64; 14] =
    [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];

/// The id of the run's loop. Specific to Lariat.
pub const LOOP_ID: &str = "lariat.loop.id";
/// The outcome of a run. Specific to Lariat.
pub const OUTCOME: &str = "lariat.outcome";
/// The number of iterations of a loop. Specific to Lariat.
pub const ITERATIONS: &str = "lariat.iterations";
/// The number of turns of a run. Specific to Lariat.
pub const TURNS: &str = "lariat.turns";
/// The cost of a call, in dollars. Specific to Lariat.
pub const COST_USD: &str = "lariat.cost.usd";
/// The number of the retry of a model call, from 1. Specific to Lariat.
pub const RETRY: &str = "lariat.retry";

/// Returns the error kind of a failed model call.
pub fn error_type(error: &str) -> &'static str {
    match FailureKind::from_message(error) {
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

/// Returns the name of a provider in the conventions.
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
