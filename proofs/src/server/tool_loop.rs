//! Plays a model that uses tools, from the request alone: it replies to a prompt with tool calls, and to
//! results with a quotation of them.
//!
//! Invariant: the same request gets the same reply, and call ids never repeat within a conversation.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::camel::camel;
use super::request_summary::{self, Latest};
use super::script::{self, Answer, Frame, RawResponse, Request};
use super::{Stop, Turn, TurnBlock, TurnUsage, Wire, json as look, render};

/// Number of parallel tool calls.
const CALLS: usize = 2;

/// The response to a request. A prompt that begins with `!` requests an error instead of tools: `!status N`,
/// `!overflow`, `!stream-error`, `!stop length|refusal|pause|context|sequence`, `!silence`; or a specific
/// reply: `!say JSON`, `!call TOOL JSON`.
pub(super) fn answer(request: &Request) -> Answer {
    let turn = reply(request);
    let Some(order) = order(&turn) else { return Answer::Turn(turn) };
    let wire = request.wire;
    let words: Vec<&str> = order.split_whitespace().collect();
    match *words.as_slice() {
        ["status", status] => Answer::error(wire, status.parse().unwrap_or(500), "This was asked for."),
        ["overflow"] => Answer::Error(render::overflow(wire)),
        ["stream-error"] => {
            let status = if wire == Wire::AnthropicMessages { 529 } else { 503 };
            let failure = render::stream_error(wire, status, "The stream broke off in the middle.");
            let begun = render::stream(wire, &script::adapt_to_request(turn, request)).into_iter().take(4);
            Answer::frames(begun.chain([failure]))
        }
        ["stop", reason] => {
            let stop = match reason {
                "length" => Stop::Length,
                "refusal" => Stop::Refusal,
                "pause" => Stop::Pause,
                "context" => Stop::ContextExceeded,
                "sequence" => Stop::StopSequence,
                _ => Stop::Stop,
            };
            Answer::Turn(turn.stop(stop))
        }
        ["silence", ..] => {
            Answer::Raw(RawResponse { status: 200, headers: Vec::new(), frames: vec![Frame::Stall] })
        }
        ["say", ..] => Answer::Turn(Turn::new().id(turn.id).text(match value(&order, 1) {
            Value::String(text) => text,
            other => other.to_string(),
        })),
        ["call", name, ..] => {
            let call = format!("toolu_{}", turn.id);
            Answer::Turn(Turn::new().id(turn.id).call(call, name, &value(&order, 2)))
        }
        _ => Answer::Turn(turn),
    }
}

/// The instruction in the prompt that a reply quotes.
fn order(turn: &Turn) -> Option<String> {
    let text = turn.blocks.iter().find_map(|block| match block {
        TurnBlock::Text(text) => text.strip_prefix("You said \u{201c}"),
        _ => None,
    })?;
    let prompt = text.split('\u{201d}').next()?;
    // Notes of the agent and earlier messages may precede the user's last message.
    let order = prompt.rsplit_once(" !").map(|(_, order)| order).or_else(|| prompt.strip_prefix('!'))?;
    Some(order.to_owned())
}

/// The JSON after some words of an instruction, ignoring what follows.
fn value(order: &str, words: usize) -> Value {
    let rest = order.splitn(words + 1, ' ').nth(words).unwrap_or_default();
    serde_json::Deserializer::from_str(rest).into_iter().next().and_then(Result::ok).unwrap_or_default()
}

fn reply(request: &Request) -> Turn {
    let body = match request.wire {
        Wire::Gemini | Wire::Vertex => camel(&request.body),
        _ => Cow::Borrowed(&request.body),
    };
    let summary = request_summary::summarize(request.wire, &body);
    let id = format!("{}{:04}", request.wire.name(), summary.length);
    let turn = Turn::new().id(id);
    match summary.latest {
        Latest::Results(results) => {
            let mut turn = turn;
            if summary.thinking {
                turn = turn.thinking(format!("I have {} results now.", results.len()));
            }
            let quoted = results
                .iter()
                .map(|result| format!("\u{201c}{result}\u{201d}"))
                .collect::<Vec<_>>()
                .join(" and ");
            let usage = TurnUsage { input: 30, output: 24, cache_read: 120, cache_write: 8, reasoning: 6 };
            turn.text(format!("The tools said {quoted}.")).usage(usage)
        }
        Latest::Prompt(prompt) => {
            let mut turn = turn.usage(TurnUsage {
                input: 50,
                output: 90,
                cache_read: 0,
                cache_write: 100,
                reasoning: 20,
            });
            if summary.thinking {
                turn = turn.thinking("The user wants something: größer als gedacht 🦀. Two tools will do.");
                // Redacted thinking must also be sent back unchanged; Google and Chat Completions do not have
                // it.
                if matches!(request.wire, Wire::AnthropicMessages | Wire::BedrockConverse) {
                    turn = turn.redacted("b3BhcXVlIHRob3VnaHRz");
                }
            }
            turn = turn.text(format!("You said \u{201c}{prompt}\u{201d}; let me look."));
            for (number, (name, schema)) in summary.tools.iter().take(CALLS).enumerate() {
                let call = format!("{}{:03}{number}", prefix(request.wire), summary.length);
                turn = turn.call(call, *name, &arguments(schema));
            }
            turn
        }
    }
}

const fn prefix(wire: Wire) -> &'static str {
    match wire {
        Wire::AnthropicMessages => "toolu_01Lariat",
        Wire::OpenAiChat | Wire::OpenAiResponses | Wire::AzureResponses => "call_Lariat",
        Wire::Gemini | Wire::Vertex => "lariat",
        Wire::BedrockConverse => "tooluse_Lariat",
    }
}

/// Arguments that fit the required properties of a schema.
fn arguments(schema: &Value) -> Value {
    let mut arguments = Map::new();
    for name in look::list(schema, "required").iter().filter_map(Value::as_str) {
        let property = schema.get("properties").and_then(|all| all.get(name)).unwrap_or(&Value::Null);
        arguments.insert(name.to_owned(), fitting(name, property));
    }
    Value::Object(arguments)
}

fn fitting(name: &str, property: &Value) -> Value {
    if let Some(first) = look::list(property, "enum").first() {
        return first.clone();
    }
    let kind = look::text(property, "type").unwrap_or("string").to_ascii_lowercase();
    match kind.as_str() {
        "integer" => json!(7),
        "number" => json!(1.5),
        "boolean" => json!(true),
        "array" => json!([]),
        "object" => arguments(property),
        _ => json!(format!("größe {name}")),
    }
}
