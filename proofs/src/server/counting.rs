//! Token-counting requests: which bodies the providers accept, and how they respond.
//!
//! Follows the types of the official SDKs, and unwraps a body to the request that is counted, so that
//! messages are validated as strictly as in a request for a reply.
//! Invariant: unknown fields are rejected, as providers do.

use serde_json::{Map, Value, json};

use super::{Answer, Frame, RawResponse, Wire};

/// The fields that a counting request accepts.
const fn fields(wire: Wire) -> &'static [&'static str] {
    match wire {
        Wire::AnthropicMessages => &[
            "messages",
            "model",
            "output_config",
            "system",
            "thinking",
            "tool_choice",
            "tools",
            "cache_control",
        ],
        Wire::OpenAiResponses => &[
            "conversation",
            "input",
            "instructions",
            "model",
            "parallel_tool_calls",
            "previous_response_id",
            "reasoning",
            "text",
            "tool_choice",
            "tools",
            "truncation",
        ],
        Wire::Gemini => &[
            "model",
            "contents",
            "generationConfig",
            "systemInstruction",
            "toolConfig",
            "tools",
            "safetySettings",
            "cachedContent",
        ],
        Wire::Vertex => &["model", "instances", "contents", "generationConfig", "systemInstruction", "tools"],
        Wire::BedrockConverse => &["additionalModelRequestFields", "messages", "system", "toolConfig"],
        _ => &[],
    }
}

/// Returns the request to be counted, or why the body is rejected.
pub(super) fn unwrap_request(wire: Wire, body: &Value) -> Result<Value, String> {
    let inner = match wire {
        Wire::Gemini => only(body, "generateContentRequest")?,
        Wire::BedrockConverse => only(only(body, "input")?, "converse")?,
        _ => body,
    };
    let inner = inner.as_object().ok_or("the body is not an object")?;
    let known = fields(wire);
    if let Some(field) = inner.keys().find(|field| !known.contains(&field.as_str())) {
        return Err(format!("{field}: Extra inputs are not permitted"));
    }
    let mut reply: Map<String, Value> = inner.clone();
    match wire {
        Wire::AnthropicMessages => {
            reply.insert("max_tokens".to_owned(), json!(64_000));
        }
        Wire::Gemini => {
            let named = reply.remove("model");
            if named.as_ref().and_then(Value::as_str).is_none_or(|model| !model.contains('/')) {
                return Err("generateContentRequest.model: must be `models/MODEL`".to_owned());
            }
        }
        _ => {}
    }
    Ok(Value::Object(reply))
}

fn only<'a>(body: &'a Value, field: &str) -> Result<&'a Value, String> {
    match body.as_object() {
        Some(fields) if fields.len() == 1 => {
            fields.get(field).ok_or_else(|| format!("{field}: Field required"))
        }
        _ => Err(format!("exactly `{field}` is expected")),
    }
}

/// The provider's response.
pub(super) fn answer(wire: Wire, tokens: u64) -> Answer {
    let body = match wire {
        Wire::OpenAiResponses => json!({"object": "response.input_tokens", "input_tokens": tokens}),
        Wire::Gemini | Wire::Vertex => json!({"totalTokens": tokens}),
        Wire::BedrockConverse => json!({"inputTokens": tokens}),
        _ => json!({"input_tokens": tokens}),
    };
    let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    let frames = vec![Frame::Bytes(body.to_string().into_bytes())];
    Answer::Raw(RawResponse { status: 200, headers, frames })
}
