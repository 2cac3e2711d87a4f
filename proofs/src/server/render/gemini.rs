//! Renders Gemini and Vertex replies: one response object per event, each with the new parts.
//!
//! Function calls arrive whole, as in the real API; a signature is attached to the part after the thinking
//! that it signs. Only Gemini gives calls an id.
//! Invariant: only the last event has a finish reason; all events have the usage so far.

use serde_json::{Map, Value, json};

use super::frame::crlf;
use super::pieces::pieces;
use crate::server::{Stop, Turn, TurnBlock, TurnUsage, Wire, json};

pub(super) fn stream(wire: Wire, turn: &Turn) -> Vec<Vec<u8>> {
    let mut steps: Vec<Vec<Value>> = Vec::new();
    let mut signature: Option<&str> = None;
    let mut was_call = false;
    for block in &turn.blocks {
        let is_call = matches!(block, TurnBlock::Call { .. });
        match block {
            TurnBlock::Thinking { text, signature: signed } => {
                steps.extend(pieces(text, turn.piece).into_iter().map(|piece| vec![thought(piece)]));
                signature = signed.as_deref().or(signature);
            }
            TurnBlock::RedactedThinking { data } => signature = Some(data),
            TurnBlock::Text(text) => {
                let cut = pieces(text, turn.piece);
                let last = cut.len().saturating_sub(1);
                for (index, piece) in cut.into_iter().enumerate() {
                    let signature = if index == last { signature.take() } else { None };
                    steps.push(vec![signed(json!({"text": piece}), signature)]);
                }
            }
            // Parallel calls arrive in one event.
            TurnBlock::Call { id, name, arguments } => {
                let part = signed(call(wire, id, name, arguments), signature.take());
                match steps.last_mut() {
                    Some(step) if was_call => step.push(part),
                    _ => steps.push(vec![part]),
                }
            }
        }
        was_call = is_call;
    }
    // If nothing follows the thinking, Gemini sends the signature on an empty text, with the finish reason.
    steps.push(vec![signed(json!({"text": ""}), signature)]);
    let last = steps.len().saturating_sub(1);
    let event = |(index, parts): (usize, Vec<Value>)| {
        crlf(&response(turn, parts, if index == last { Some(turn.stop) } else { None }))
    };
    steps.into_iter().enumerate().map(event).collect()
}

pub(super) fn whole(wire: Wire, turn: &Turn) -> Value {
    let mut parts = Vec::new();
    let mut signature: Option<&str> = None;
    for block in &turn.blocks {
        match block {
            TurnBlock::Thinking { text, signature: signed } => {
                parts.push(thought(text));
                signature = signed.as_deref().or(signature);
            }
            TurnBlock::RedactedThinking { data } => signature = Some(data),
            TurnBlock::Text(text) => parts.push(signed(json!({"text": text}), signature.take())),
            TurnBlock::Call { id, name, arguments } => {
                parts.push(signed(call(wire, id, name, arguments), signature.take()));
            }
        }
    }
    if signature.is_some() {
        parts.push(signed(json!({"text": ""}), signature));
    }
    response(turn, parts, Some(turn.stop))
}

fn thought(text: &str) -> Value {
    json!({"text": text, "thought": true})
}

fn call(wire: Wire, id: &str, name: &str, arguments: &str) -> Value {
    let mut call = Map::new();
    if wire == Wire::Gemini {
        call.insert("id".to_owned(), json!(id));
    }
    call.insert("name".to_owned(), json!(name));
    call.insert("args".to_owned(), json::parsed(arguments));
    json!({"functionCall": call})
}

fn signed(mut part: Value, signature: Option<&str>) -> Value {
    if let (Value::Object(fields), Some(signature)) = (&mut part, signature) {
        fields.insert("thoughtSignature".to_owned(), json!(signature));
    }
    part
}

fn response(turn: &Turn, parts: Vec<Value>, stop: Option<Stop>) -> Value {
    let mut candidate = Map::new();
    candidate.insert("content".to_owned(), json!({"role": "model", "parts": parts}));
    candidate.insert("index".to_owned(), json!(0));
    if let Some(stop) = stop {
        candidate.insert("finishReason".to_owned(), json!(finish_reason(stop)));
    }
    let mut body = Map::new();
    body.insert("candidates".to_owned(), json!([candidate]));
    if let Some(usage) = &turn.usage {
        let usage = if stop.is_some() { tokens(usage) } else { tokens_so_far(usage) };
        body.insert("usageMetadata".to_owned(), usage);
    }
    body.insert("modelVersion".to_owned(), json!(turn.model));
    body.insert("responseId".to_owned(), json!(turn.id));
    Value::Object(body)
}

const fn finish_reason(stop: Stop) -> &'static str {
    match stop {
        Stop::Stop | Stop::ToolUse | Stop::Pause | Stop::StopSequence => "STOP",
        Stop::Length | Stop::ContextExceeded => "MAX_TOKENS",
        Stop::Refusal => "SAFETY",
    }
}

fn tokens(usage: &TurnUsage) -> Value {
    json!({
        "promptTokenCount": usage.prompt(),
        "cachedContentTokenCount": usage.cache_read,
        "candidatesTokenCount": usage.output.saturating_sub(usage.reasoning),
        "thoughtsTokenCount": usage.reasoning,
        "totalTokenCount": usage.prompt() + usage.output,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": usage.prompt()}],
    })
}

/// Usage before the end: only the prompt.
fn tokens_so_far(usage: &TurnUsage) -> Value {
    json!({"promptTokenCount": usage.prompt(), "totalTokenCount": usage.prompt()})
}
