//! Converts replies and results to the shape of Anthropic's Messages API, for any provider.
//!
//! Blocks of an unknown kind are written unchanged.

use lariat_core::content::Content;
use lariat_core::id::MessageId;
use lariat_core::message::{AssistantMessage, StopReason, ToolResultMessage};
use lariat_core::usage::Usage;
use lariat_service::claude_tools::{claude_input, claude_name};
use serde_json::{Value, json};

pub(super) fn reply(id: MessageId, reply: &AssistantMessage) -> Value {
    json!({
        "id": reply_id(id),
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": reply.content.iter().map(block).collect::<Vec<_>>(),
        "stop_reason": stop_reason(reply.stop_reason),
        "stop_sequence": null,
        "usage": usage(&reply.usage),
    })
}

/// The id of a reply, in the API's format.
pub(super) fn reply_id(id: MessageId) -> String {
    format!("msg_{}", id.uuid().simple())
}

/// A user message with a tool result.
pub(super) fn tool_result(result: &ToolResultMessage) -> Value {
    let content: Vec<Value> = result.content.iter().map(block).collect();
    let content = match result.content.as_slice() {
        [Content::Text { text }] => Value::from(text.as_str()),
        _ => Value::from(content),
    };
    json!({
        "role": "user",
        "content": [{
            "type": "tool_result",
            "tool_use_id": result.tool_call_id,
            "content": content,
            "is_error": result.is_error,
        }],
    })
}

pub(super) fn user(content: &[Content]) -> Value {
    json!({ "role": "user", "content": content.iter().map(block).collect::<Vec<_>>() })
}

pub(super) fn block(content: &Content) -> Value {
    match content {
        Content::Text { text } => json!({ "type": "text", "text": text }),
        Content::Image { data, mime_type } => json!({
            "type": "image",
            "source": { "type": "base64", "media_type": mime_type, "data": data },
        }),
        // Clients of the API require the field.
        Content::Thinking { thinking, signature } => json!({
            "type": "thinking", "thinking": thinking, "signature": signature.as_deref().unwrap_or_default(),
        }),
        Content::RedactedThinking { data } => json!({ "type": "redacted_thinking", "data": data }),
        Content::ToolCall(call) => json!({
            "type": "tool_use",
            "id": call.id,
            "name": claude_name(&call.name),
            "input": claude_input(&call.name, &call.arguments),
        }),
        other => serde_json::to_value(other).unwrap_or_default(),
    }
}

/// Why a model stopped; `None` if the API has no name for it.
pub(super) const fn stop_reason(reason: StopReason) -> Option<&'static str> {
    match reason {
        StopReason::Stop => Some("end_turn"),
        StopReason::Length => Some("max_tokens"),
        StopReason::ToolUse => Some("tool_use"),
        StopReason::Pause => Some("pause_turn"),
        StopReason::Refusal => Some("refusal"),
        StopReason::ContextExceeded => Some("model_context_window_exceeded"),
        _ => None,
    }
}

/// Token usage.
pub(super) fn usage(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.output,
    })
}
