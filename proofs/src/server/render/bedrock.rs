//! Renders Bedrock Converse replies: the whole reply, and the binary events of ConverseStream.
//!
//! As in the real API, only tool calls announce their block; text and reasoning begin with their first delta,
//! and usage follows `messageStop`.
//! Invariant: the name of every event is in `:event-type` and not in its payload.

use serde_json::{Value, json};

use super::event_stream;
use super::pieces::pieces;
use crate::server::{Stop, Turn, TurnBlock, TurnUsage, json};

pub(super) fn stream(turn: &Turn) -> Vec<Vec<u8>> {
    let mut frames = vec![event("messageStart", json!({"role": "assistant"}))];
    for (index, block) in turn.blocks.iter().enumerate() {
        if let TurnBlock::Call { id, name, .. } = block {
            let start = json!({"toolUse": {"toolUseId": id, "name": name}});
            frames.push(event("contentBlockStart", json!({"contentBlockIndex": index, "start": start})));
        }
        for delta in deltas(block, turn.piece) {
            frames.push(event("contentBlockDelta", json!({"contentBlockIndex": index, "delta": delta})));
        }
        frames.push(event("contentBlockStop", json!({"contentBlockIndex": index})));
    }
    frames.push(event("messageStop", json!({"stopReason": stop_reason(turn.stop)})));
    if let Some(usage) = &turn.usage {
        frames.push(event("metadata", json!({"usage": tokens(usage), "metrics": {"latencyMs": 321}})));
    }
    frames
}

pub(super) fn whole(turn: &Turn) -> Value {
    let content: Vec<Value> = turn.blocks.iter().map(block).collect();
    let mut body = json!({
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": stop_reason(turn.stop),
        "metrics": {"latencyMs": 321},
    });
    if let (Value::Object(fields), Some(usage)) = (&mut body, &turn.usage) {
        fields.insert("usage".to_owned(), tokens(usage));
    }
    body
}

fn event(name: &str, mut payload: Value) -> Vec<u8> {
    if let Value::Object(fields) = &mut payload {
        // The real service pads every payload with a field of varying length.
        fields.insert("p".to_owned(), json!("abcdefghijk"));
    }
    let headers = [(":event-type", name), (":content-type", "application/json"), (":message-type", "event")];
    event_stream::message(&headers, payload.to_string().as_bytes())
}

fn deltas(block: &TurnBlock, size: Option<usize>) -> Vec<Value> {
    match block {
        TurnBlock::Thinking { text, signature } => {
            let texts =
                pieces(text, size).into_iter().map(|piece| json!({"reasoningContent": {"text": piece}}));
            let proof = signature.iter().map(|proof| json!({"reasoningContent": {"signature": proof}}));
            texts.chain(proof).collect()
        }
        TurnBlock::RedactedThinking { data } => vec![json!({"reasoningContent": {"redactedContent": data}})],
        TurnBlock::Text(text) => pieces(text, size).into_iter().map(|piece| json!({"text": piece})).collect(),
        TurnBlock::Call { arguments, .. } => {
            pieces(arguments, size).into_iter().map(|piece| json!({"toolUse": {"input": piece}})).collect()
        }
    }
}

fn block(block: &TurnBlock) -> Value {
    match block {
        TurnBlock::Thinking { text, signature: Some(signature) } => {
            json!({"reasoningContent": {"reasoningText": {"text": text, "signature": signature}}})
        }
        TurnBlock::Thinking { text, signature: None } => {
            json!({"reasoningContent": {"reasoningText": {"text": text}}})
        }
        TurnBlock::RedactedThinking { data } => json!({"reasoningContent": {"redactedContent": data}}),
        TurnBlock::Text(text) => json!({"text": text}),
        TurnBlock::Call { id, name, arguments } => {
            json!({"toolUse": {"toolUseId": id, "name": name, "input": json::parsed(arguments)}})
        }
    }
}

const fn stop_reason(stop: Stop) -> &'static str {
    match stop {
        Stop::Stop | Stop::Pause => "end_turn",
        Stop::Length => "max_tokens",
        Stop::ToolUse => "tool_use",
        Stop::Refusal => "content_filtered",
        Stop::ContextExceeded => "model_context_window_exceeded",
        Stop::StopSequence => "stop_sequence",
    }
}

fn tokens(usage: &TurnUsage) -> Value {
    json!({
        "inputTokens": usage.input,
        "outputTokens": usage.output,
        "totalTokens": usage.prompt() + usage.output,
        "cacheReadInputTokens": usage.cache_read,
        "cacheWriteInputTokens": usage.cache_write,
    })
}
