//! Renders Responses API replies for OpenAI and Azure: items, and the events that build them.
//!
//! A refusal turns text into refusal parts; a full context window ends in `response.failed`, as when the real
//! API notices it late.
//! Invariant: `sequence_number` counts all events from 0; the last event has every finished item.

use serde_json::{Value, json};

use super::chat::CREATED;
use super::frame::named;
use super::pieces::pieces;
use crate::server::{Stop, Turn, TurnBlock, TurnUsage};

pub(super) fn stream(turn: &Turn) -> Vec<Vec<u8>> {
    let mut events = Events { frames: Vec::new() };
    events.push("response.created", json!({"response": response(turn, "in_progress", &[])}));
    events.push("response.in_progress", json!({"response": response(turn, "in_progress", &[])}));
    let mut output = Vec::new();
    for (index, block) in turn.blocks.iter().enumerate() {
        let done = item(turn, index, block, "completed");
        events.push(
            "response.output_item.added",
            json!({"output_index": index, "item": item(turn, index, &emptied(block), "in_progress")}),
        );
        fill(&mut events, turn, index, block);
        events.push("response.output_item.done", json!({"output_index": index, "item": done}));
        output.push(done);
    }
    let (status, event) = ending(turn.stop);
    events.push(event, json!({"response": response(turn, status, &output)}));
    events.frames
}

pub(super) fn whole(turn: &Turn) -> Value {
    let output: Vec<Value> =
        turn.blocks.iter().enumerate().map(|(index, block)| item(turn, index, block, "completed")).collect();
    response(turn, ending(turn.stop).0, &output)
}

/// Numbers the events as they are written.
struct Events {
    frames: Vec<Vec<u8>>,
}

impl Events {
    fn push(&mut self, name: &str, mut data: Value) {
        if let Value::Object(fields) = &mut data {
            fields.insert("type".to_owned(), json!(name));
            fields.insert("sequence_number".to_owned(), json!(self.frames.len()));
        }
        self.frames.push(named(name, &data));
    }
}

/// The events between the start and the end of one item.
fn fill(events: &mut Events, turn: &Turn, index: usize, block: &TurnBlock) {
    let id = item_id(turn, index, block);
    match block {
        TurnBlock::Thinking { text, .. } => {
            let part = |text: &str| json!({"type": "summary_text", "text": text});
            let about = json!({"item_id": id, "output_index": index, "summary_index": 0});
            events.push("response.reasoning_summary_part.added", with(&about, "part", part("")));
            for piece in pieces(text, turn.piece) {
                let delta = with(&about, "delta", json!(piece));
                events
                    .push("response.reasoning_summary_text.delta", with(&delta, "obfuscation", json!("p7")));
            }
            events.push("response.reasoning_summary_text.done", with(&about, "text", json!(text)));
            events.push("response.reasoning_summary_part.done", with(&about, "part", part(text)));
        }
        TurnBlock::RedactedThinking { .. } => {}
        TurnBlock::Text(text) => {
            let about = json!({"item_id": id, "output_index": index, "content_index": 0});
            let refused = turn.stop == Stop::Refusal;
            let (delta, done, field) = if refused {
                ("response.refusal.delta", "response.refusal.done", "refusal")
            } else {
                ("response.output_text.delta", "response.output_text.done", "text")
            };
            let logged = |event: Value| if refused { event } else { with(&event, "logprobs", json!([])) };
            events.push("response.content_part.added", with(&about, "part", text_part(turn, "")));
            for piece in pieces(text, turn.piece) {
                let event = logged(with(&about, "delta", json!(piece)));
                events.push(delta, with(&event, "obfuscation", json!("Zq3")));
            }
            events.push(done, logged(with(&about, field, json!(text))));
            events.push("response.content_part.done", with(&about, "part", text_part(turn, text)));
        }
        TurnBlock::Call { name, arguments, .. } => {
            let about = json!({"item_id": id, "output_index": index});
            for piece in pieces(arguments, turn.piece) {
                let delta = with(&about, "delta", json!(piece));
                events
                    .push("response.function_call_arguments.delta", with(&delta, "obfuscation", json!("w")));
            }
            let done = with(&with(&about, "arguments", json!(arguments)), "name", json!(name));
            events.push("response.function_call_arguments.done", done);
        }
    }
}

/// The block at the start of its item.
fn emptied(block: &TurnBlock) -> TurnBlock {
    match block {
        TurnBlock::Thinking { signature, .. } => {
            TurnBlock::Thinking { text: String::new(), signature: signature.as_ref().map(|_| String::new()) }
        }
        TurnBlock::RedactedThinking { .. } => TurnBlock::RedactedThinking { data: String::new() },
        TurnBlock::Text(_) => TurnBlock::Text(String::new()),
        TurnBlock::Call { id, name, .. } => {
            TurnBlock::Call { id: id.clone(), name: name.clone(), arguments: String::new() }
        }
    }
}

fn item(turn: &Turn, index: usize, block: &TurnBlock, status: &str) -> Value {
    let id = item_id(turn, index, block);
    match block {
        TurnBlock::Thinking { text, signature } => {
            let summary =
                if text.is_empty() { json!([]) } else { json!([{"type": "summary_text", "text": text}]) };
            reasoning(&id, summary, signature.as_deref())
        }
        TurnBlock::RedactedThinking { data } => reasoning(&id, json!([]), Some(data)),
        TurnBlock::Text(text) => {
            let content = if text.is_empty() { json!([]) } else { json!([text_part(turn, text)]) };
            json!({"id": id, "type": "message", "role": "assistant", "status": status, "content": content})
        }
        TurnBlock::Call { id: call, name, arguments } => json!({
            "id": id,
            "type": "function_call",
            "call_id": call,
            "name": name,
            "arguments": arguments,
            "status": status,
        }),
    }
}

fn reasoning(id: &str, summary: Value, encrypted: Option<&str>) -> Value {
    let item = json!({"id": id, "type": "reasoning", "summary": summary});
    match encrypted {
        Some(encrypted) => with(&item, "encrypted_content", json!(encrypted)),
        None => item,
    }
}

fn text_part(turn: &Turn, text: &str) -> Value {
    if turn.stop == Stop::Refusal {
        json!({"type": "refusal", "refusal": text})
    } else {
        json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
    }
}

fn item_id(turn: &Turn, index: usize, block: &TurnBlock) -> String {
    let kind = match block {
        TurnBlock::Thinking { .. } | TurnBlock::RedactedThinking { .. } => "rs",
        TurnBlock::Text(_) => "msg",
        TurnBlock::Call { .. } => "fc",
    };
    format!("{kind}_{}{index:02}", turn.id)
}

/// The response's status and the name of the event that ends the stream.
const fn ending(stop: Stop) -> (&'static str, &'static str) {
    match stop {
        Stop::Length => ("incomplete", "response.incomplete"),
        Stop::ContextExceeded => ("failed", "response.failed"),
        Stop::Stop | Stop::ToolUse | Stop::Refusal | Stop::Pause | Stop::StopSequence => {
            ("completed", "response.completed")
        }
    }
}

/// The response object, with every field that the official types require.
fn response(turn: &Turn, status: &str, output: &[Value]) -> Value {
    let usage = match (&turn.usage, status) {
        (Some(usage), "completed" | "incomplete") => tokens(usage),
        _ => Value::Null,
    };
    let error = match status {
        "failed" => json!({
            "code": "context_length_exceeded",
            "message": "Your input exceeds the context window of this model. Please adjust your input and try again.",
        }),
        _ => Value::Null,
    };
    let incomplete =
        if status == "incomplete" { json!({"reason": "max_output_tokens"}) } else { Value::Null };
    json!({
        "id": format!("resp_{}", turn.id),
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "background": false,
        "error": error,
        "incomplete_details": incomplete,
        "instructions": null,
        "max_output_tokens": null,
        "model": turn.model,
        "output": output,
        "parallel_tool_calls": true,
        "previous_response_id": null,
        "reasoning": {"effort": "medium", "summary": "auto"},
        "service_tier": "default",
        "store": false,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}, "verbosity": "medium"},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": usage,
        "user": null,
        "metadata": {},
    })
}

fn tokens(usage: &TurnUsage) -> Value {
    json!({
        "input_tokens": usage.prompt(),
        "input_tokens_details": {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.prompt() + usage.output,
    })
}

/// A copy of an object with one more field.
fn with(object: &Value, key: &str, value: Value) -> Value {
    let mut copy = object.clone();
    if let Value::Object(fields) = &mut copy {
        fields.insert(key.to_owned(), value);
    }
    copy
}
