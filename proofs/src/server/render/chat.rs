//! Renders Chat Completions replies: the completion object and its chunks, with `reasoning_content`, the
//! extension that most compatible servers share.
//!
//! Invariant: every chunk except the one with usage has exactly one choice; the last frame is `[DONE]`.

use serde_json::{Map, Value, json};

use super::frame::unnamed;
use super::pieces::pieces;
use crate::server::{Stop, Turn, TurnBlock, TurnUsage};

/// Creation time of all replies in seconds: scripts have no clock.
pub(super) const CREATED: u64 = 1_790_000_000;

pub(super) fn stream(turn: &Turn) -> Vec<Vec<u8>> {
    let mut deltas = vec![json!({"role": "assistant", "content": "", "refusal": null})];
    let mut calls = 0_usize;
    for block in &turn.blocks {
        match block {
            TurnBlock::Thinking { text, .. } => {
                deltas.extend(
                    pieces(text, turn.piece).into_iter().map(|piece| json!({"reasoning_content": piece})),
                );
            }
            // Compatible servers have no field for it.
            TurnBlock::RedactedThinking { .. } => {}
            TurnBlock::Text(text) => {
                deltas.extend(pieces(text, turn.piece).into_iter().map(|piece| json!({"content": piece})));
            }
            TurnBlock::Call { id, name, arguments } => {
                let function = json!({"name": name, "arguments": ""});
                let call = json!({"index": calls, "id": id, "type": "function", "function": function});
                deltas.push(json!({"tool_calls": [call]}));
                for piece in pieces(arguments, turn.piece) {
                    let call = json!({"index": calls, "function": {"arguments": piece}});
                    deltas.push(json!({"tool_calls": [call]}));
                }
                calls += 1;
            }
        }
    }
    let mut frames: Vec<Vec<u8>> =
        deltas.into_iter().map(|delta| unnamed(&chunk(turn, delta, Value::Null))).collect();
    frames.push(unnamed(&chunk(turn, json!({}), json!(finish_reason(turn.stop)))));
    if let Some(usage) = &turn.usage {
        let mut last = envelope(turn, "chat.completion.chunk");
        last.insert("choices".to_owned(), json!([]));
        last.insert("usage".to_owned(), tokens(usage));
        frames.push(unnamed(&Value::Object(last)));
    }
    frames.push(b"data: [DONE]\n\n".to_vec());
    frames
}

pub(super) fn whole(turn: &Turn) -> Value {
    let mut content: Option<String> = None;
    let mut reasoning: Option<String> = None;
    let mut calls = Vec::new();
    for block in &turn.blocks {
        match block {
            TurnBlock::Thinking { text, .. } => reasoning.get_or_insert_default().push_str(text),
            TurnBlock::RedactedThinking { .. } => {}
            TurnBlock::Text(text) => content.get_or_insert_default().push_str(text),
            TurnBlock::Call { id, name, arguments } => calls.push(
                json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}),
            ),
        }
    }
    let mut message = Map::new();
    message.insert("role".to_owned(), json!("assistant"));
    message.insert("content".to_owned(), json!(content));
    message.insert("refusal".to_owned(), Value::Null);
    message.insert("annotations".to_owned(), json!([]));
    if let Some(reasoning) = reasoning {
        message.insert("reasoning_content".to_owned(), json!(reasoning));
    }
    if !calls.is_empty() {
        message.insert("tool_calls".to_owned(), json!(calls));
    }
    let mut body = envelope(turn, "chat.completion");
    let choice = json!({
        "index": 0,
        "message": message,
        "logprobs": null,
        "finish_reason": finish_reason(turn.stop),
    });
    body.insert("choices".to_owned(), json!([choice]));
    if let Some(usage) = &turn.usage {
        body.insert("usage".to_owned(), tokens(usage));
    }
    Value::Object(body)
}

fn envelope(turn: &Turn, object: &str) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("id".to_owned(), json!(format!("chatcmpl-{}", turn.id)));
    body.insert("object".to_owned(), json!(object));
    body.insert("created".to_owned(), json!(CREATED));
    body.insert("model".to_owned(), json!(turn.model));
    body.insert("service_tier".to_owned(), json!("default"));
    body.insert("system_fingerprint".to_owned(), Value::Null);
    body
}

fn chunk(turn: &Turn, delta: Value, finish_reason: Value) -> Value {
    let mut body = envelope(turn, "chat.completion.chunk");
    let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish_reason});
    body.insert("choices".to_owned(), json!([choice]));
    // The real API sends random filler, to hide the length of tokens from eavesdroppers.
    body.insert("obfuscation".to_owned(), json!("m4Kx"));
    if turn.usage.is_some() {
        body.insert("usage".to_owned(), Value::Null);
    }
    Value::Object(body)
}

const fn finish_reason(stop: Stop) -> &'static str {
    match stop {
        Stop::Stop | Stop::Pause | Stop::StopSequence => "stop",
        Stop::Length | Stop::ContextExceeded => "length",
        Stop::ToolUse => "tool_calls",
        Stop::Refusal => "content_filter",
    }
}

fn tokens(usage: &TurnUsage) -> Value {
    json!({
        "prompt_tokens": usage.prompt(),
        "completion_tokens": usage.output,
        "total_tokens": usage.prompt() + usage.output,
        "prompt_tokens_details": {
            "cached_tokens": usage.cache_read,
            "cache_write_tokens": usage.cache_write,
            "audio_tokens": 0,
        },
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    })
}
