//! Converts content blocks to and from the Messages API.
//!
//! A block without a counterpart is kept and written back unchanged.

use std::sync::Arc;

use lariat_core::content::{Content, ToolCall};
use lariat_core::id::ToolCallId;
use lariat_core::message::StopReason;
use lariat_core::usage::Usage;
use serde_json::{Map, Value, json};

use crate::interchange::lines::{count, object, text};

/// Parses a `content` field: text, or a list of blocks.
pub(super) fn blocks(content: &Value) -> Vec<Content> {
    match content {
        Value::String(text) => vec![Content::text(text.as_str())],
        Value::Array(blocks) => blocks.iter().filter_map(block).collect(),
        _ => Vec::new(),
    }
}

/// Parses a block; `None` if the value is neither an object nor text.
pub(super) fn block(block: &Value) -> Option<Content> {
    let Value::Object(fields) = block else {
        return block.as_str().map(Content::text);
    };
    let owned = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
    let known = match text(fields, "type").unwrap_or_default() {
        "text" => owned("text").map(|text| Content::Text { text }),
        "thinking" => owned("thinking").map(|thinking| Content::Thinking {
            thinking,
            signature: owned("signature").filter(|signature| !signature.is_empty()),
        }),
        "redacted_thinking" => owned("data").map(|data| Content::RedactedThinking { data }),
        "tool_use" => Some(Content::ToolCall(Arc::new(ToolCall {
            id: ToolCallId::from(owned("id").unwrap_or_default()),
            name: owned("name").unwrap_or_default(),
            arguments: fields.get("input").cloned().unwrap_or_default(),
            signature: None,
        }))),
        "image" => object(fields, "source").filter(|source| text(source, "type") == Some("base64")).and_then(
            |source| {
                Some(Content::Image {
                    data: text(source, "data")?.to_owned(),
                    mime_type: text(source, "media_type")?.to_owned(),
                })
            },
        ),
        _ => None,
    };
    Some(known.unwrap_or_else(|| Content::Unknown(fields.clone())))
}

/// Serializes a block.
pub(super) fn to_api(block: &Content) -> Value {
    match block {
        Content::Text { text } => json!({"type": "text", "text": text}),
        Content::Image { data, mime_type } => {
            json!({"type": "image", "source": {"type": "base64", "media_type": mime_type, "data": data}})
        }
        Content::Thinking { thinking, signature } => {
            json!({"type": "thinking", "thinking": thinking, "signature": signature.as_deref().unwrap_or_default()})
        }
        Content::RedactedThinking { data } => json!({"type": "redacted_thinking", "data": data}),
        Content::ToolCall(call) => {
            json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments})
        }
        Content::Unknown(fields) => Value::Object(fields.clone()),
        other => serde_json::to_value(other).unwrap_or_default(),
    }
}

/// Serializes the `content` of a user message or a tool result: plain text if there is only text.
pub(super) fn content_to_api(content: &[Content]) -> Value {
    match content {
        [Content::Text { text }] => Value::String(text.clone()),
        blocks => blocks.iter().map(to_api).collect(),
    }
}

pub(super) fn usage(fields: &Map<String, Value>) -> Usage {
    Usage {
        input: count(fields, "input_tokens"),
        output: count(fields, "output_tokens"),
        cache_read: count(fields, "cache_read_input_tokens"),
        cache_write: count(fields, "cache_creation_input_tokens"),
        ..Usage::default()
    }
}

pub(super) fn usage_to_api(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.input,
        "output_tokens": usage.output,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation_input_tokens": usage.cache_write,
    })
}

/// Parses a stop reason. Never returns an aborted reply, because the tool calls of those are not shown.
pub(super) fn stop_reason(reason: Option<&str>, calls: bool) -> StopReason {
    match reason {
        Some("max_tokens") => StopReason::Length,
        Some("pause_turn") => StopReason::Pause,
        Some("refusal") => StopReason::Refusal,
        Some("model_context_window_exceeded") => StopReason::ContextExceeded,
        Some("tool_use") => StopReason::ToolUse,
        None if calls => StopReason::ToolUse,
        _ => StopReason::Stop,
    }
}

pub(super) const fn stop_reason_to_api(reason: StopReason) -> Option<&'static str> {
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
