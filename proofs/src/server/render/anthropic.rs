//! Renders Anthropic Messages replies: the message object, and the named events that build it.
//!
//! Invariant: the events, accumulated like in the official SDK, give the whole message.

use serde_json::{Value, json};

use super::frame::named;
use super::pieces::pieces;
use crate::server::{Stop, Turn, TurnBlock, TurnUsage};

pub(super) fn stream(turn: &Turn) -> Vec<Vec<u8>> {
    let mut events = vec![json!({"type": "message_start", "message": opening(turn)})];
    for (index, block) in turn.blocks.iter().enumerate() {
        let (start, deltas) = streamed(block, turn.piece);
        events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        if index == 0 {
            events.push(json!({"type": "ping"}));
        }
        for delta in deltas {
            events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    events.push(closing(turn));
    events.push(json!({"type": "message_stop"}));
    events
        .iter()
        .map(|event| named(event.get("type").and_then(Value::as_str).unwrap_or_default(), event))
        .collect()
}

pub(super) fn whole(turn: &Turn) -> Value {
    let content: Vec<Value> = turn.blocks.iter().map(block).collect();
    let mut message = message(turn, content);
    let (stop_reason, stop_sequence, stop_details) = stop(turn.stop);
    put(&mut message, "stop_reason", stop_reason);
    put(&mut message, "stop_sequence", stop_sequence);
    put(&mut message, "stop_details", stop_details);
    if let Some(usage) = &turn.usage {
        put(&mut message, "usage", full_usage(usage, usage.output));
    }
    message
}

/// The message before anything was written; its output so far is about one token.
fn opening(turn: &Turn) -> Value {
    let mut message = message(turn, Vec::new());
    if let Some(usage) = &turn.usage {
        put(&mut message, "usage", full_usage(usage, 1));
    }
    message
}

fn message(turn: &Turn, content: Vec<Value>) -> Value {
    json!({
        "id": format!("msg_{}", turn.id),
        "type": "message",
        "role": "assistant",
        "model": turn.model,
        "content": content,
        "stop_reason": null,
        "stop_sequence": null,
        "stop_details": null,
    })
}

fn closing(turn: &Turn) -> Value {
    let (stop_reason, stop_sequence, stop_details) = stop(turn.stop);
    let mut event = json!({
        "type": "message_delta",
        "delta": {"stop_reason": stop_reason, "stop_sequence": stop_sequence, "stop_details": stop_details},
    });
    if let Some(usage) = &turn.usage {
        let totals = json!({
            "input_tokens": usage.input,
            "cache_creation_input_tokens": usage.cache_write,
            "cache_read_input_tokens": usage.cache_read,
            "output_tokens": usage.output,
            "output_tokens_details": {"thinking_tokens": usage.reasoning},
        });
        put(&mut event, "usage", totals);
    }
    event
}

fn full_usage(usage: &TurnUsage, output: u64) -> Value {
    json!({
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": usage.cache_write,
            "ephemeral_1h_input_tokens": 0,
        },
        "output_tokens": output,
        "output_tokens_details": {"thinking_tokens": usage.reasoning.min(output)},
        "service_tier": "standard",
    })
}

/// The block at its start, and the deltas that fill it.
fn streamed(block: &TurnBlock, size: Option<usize>) -> (Value, Vec<Value>) {
    match block {
        TurnBlock::Thinking { text, signature } => {
            let mut deltas: Vec<Value> = pieces(text, size)
                .into_iter()
                .map(|piece| json!({"type": "thinking_delta", "thinking": piece}))
                .collect();
            if let Some(signature) = signature {
                deltas.push(json!({"type": "signature_delta", "signature": signature}));
            }
            (json!({"type": "thinking", "thinking": "", "signature": ""}), deltas)
        }
        TurnBlock::RedactedThinking { .. } => (self::block(block), Vec::new()),
        TurnBlock::Text(text) => {
            let deltas =
                pieces(text, size).into_iter().map(|piece| json!({"type": "text_delta", "text": piece}));
            (json!({"type": "text", "text": ""}), deltas.collect())
        }
        TurnBlock::Call { id, name, arguments } => {
            // The real API begins with an empty delta; a client must not treat it as the whole input.
            let deltas = std::iter::once("")
                .chain(pieces(arguments, size))
                .map(|piece| json!({"type": "input_json_delta", "partial_json": piece}));
            let start = json!({"type": "tool_use", "id": id, "name": name, "input": {}, "caller": {"type": "direct"}});
            (start, deltas.collect())
        }
    }
}

fn block(block: &TurnBlock) -> Value {
    match block {
        TurnBlock::Thinking { text, signature } => {
            json!({"type": "thinking", "thinking": text, "signature": signature.as_deref().unwrap_or_default()})
        }
        TurnBlock::RedactedThinking { data } => json!({"type": "redacted_thinking", "data": data}),
        TurnBlock::Text(text) => json!({"type": "text", "text": text}),
        TurnBlock::Call { id, name, arguments } => json!({
            "type": "tool_use",
            "id": id,
            "name": name,
            "input": super::super::json::parsed(arguments),
            "caller": {"type": "direct"},
        }),
    }
}

/// `stop_reason`, `stop_sequence`, `stop_details`.
fn stop(stop: Stop) -> (Value, Value, Value) {
    let reason = match stop {
        Stop::Stop => "end_turn",
        Stop::Length => "max_tokens",
        Stop::ToolUse => "tool_use",
        Stop::Refusal => "refusal",
        Stop::Pause => "pause_turn",
        Stop::ContextExceeded => "model_context_window_exceeded",
        Stop::StopSequence => "stop_sequence",
    };
    let sequence = if stop == Stop::StopSequence { json!("END") } else { Value::Null };
    let details = match stop {
        Stop::Refusal => {
            json!({"type": "refusal", "category": "cyber", "explanation": "The request was declined."})
        }
        _ => Value::Null,
    };
    (json!(reason), sequence, details)
}

fn put(object: &mut Value, key: &str, value: Value) {
    if let Value::Object(fields) = object {
        fields.insert(key.to_owned(), value);
    }
}
