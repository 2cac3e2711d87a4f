//! Builds the next request of a long conversation and compares it with the least possible work: writing what
//! is new and copying the rest.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use lariat_core::content::{Content, ToolCall};
use lariat_core::message::{AssistantMessage, Message, SharedMessage, StopReason, ToolResultMessage};
use lariat_core::model::{ModelConfig, StreamConfig};
use lariat_core::time::Timestamp;
use lariat_core::tool::ToolDefinition;
use lariat_core::transcript::Transcript;
use lariat_core::usage::Usage;
use lariat_proofs::server::Wire;
use lariat_proofs::wire::{model, protocol};
use serde_json::json;

use super::super::Size;
use super::super::measure::{figure, goal, median};

/// Messages before the new turn.
const MESSAGES: usize = 1_000;
const GOAL_RATIO: f64 = 2.0;
const GOAL_RATIO_SHORT: f64 = 4.0;

pub(super) fn measure(size: Size) -> bool {
    let (turns, limit) = if size == Size::Full { (200, GOAL_RATIO) } else { (40, GOAL_RATIO_SHORT) };
    let mut met = true;
    for wire in Wire::ALL {
        let Some(samples) = samples(wire, turns) else {
            println!("{}: a request was refused", wire.name());
            return false;
        };
        let middle = |of: fn(&Sample) -> f64| median(samples.iter().map(of).collect());
        let (ours, least) = (middle(|sample| sample.ours_us), middle(|sample| sample.least_us));
        let name = |what: &str| format!("{}: request of {MESSAGES} messages, {what}", wire.name());
        let size = middle(|sample| sample.bytes) / 1024.0;
        figure(&name("size"), format!("{size:.0} KB"));
        figure(&name("copy + JSON / ours"), format!("{least:.1} / {ours:.1} µs"));
        met &= goal(&name("ours against it"), ours / least, "×", limit);
    }
    met
}

struct Sample {
    ours_us: f64,
    least_us: f64,
    bytes: f64,
}

fn samples(wire: Wire, turns: usize) -> Option<Vec<Sample>> {
    let model = Arc::new(model(wire, "http://127.0.0.1"));
    let mut transcript = Transcript::new();
    transcript.push_user(Arc::new("Please make the tests pass.".into())).ok()?;
    let mut turn = 0;
    while transcript.len() < MESSAGES {
        push_turn(&mut transcript, &model, turn)?;
        turn += 1;
    }
    let mut config = StreamConfig::new(Arc::clone(&model), transcript.window());
    config.system_prompt = "You are careful. ".repeat(200).into();
    config.tools = (0..20).map(tool).collect();
    protocol(wire).request(&config).inspect_err(|error| eprintln!("{}: {error}", wire.name())).ok()?;
    let mut samples = Vec::new();
    for _ in 0..turns {
        let new = push_turn(&mut transcript, &model, turn)?;
        turn += 1;
        config.messages = transcript.window();
        let started = Instant::now();
        let built = protocol(wire).request(&config).ok()?;
        let ours_us = started.elapsed().as_nanos() as f64 / 1e3;
        let started = Instant::now();
        let copy = black_box(built.body.to_vec());
        let written: Vec<Vec<u8>> =
            new.iter().filter_map(|message| serde_json::to_vec(message).ok()).collect();
        let least_us = started.elapsed().as_nanos() as f64 / 1e3;
        black_box(&written);
        samples.push(Sample { ours_us, least_us, bytes: copy.len() as f64 });
    }
    Some(samples)
}

/// Adds a reply that thinks, speaks and calls two tools, and their results.
fn push_turn(transcript: &mut Transcript, model: &ModelConfig, turn: usize) -> Option<Vec<SharedMessage>> {
    let text = |size: usize| format!("{turn}: {}", "some words \"quoted\" \n".repeat(size / 20));
    let call = |n: usize| {
        let arguments = json!({"path": format!("src/file_{turn}_{n}.rs"), "text": text(300)});
        let id = format!("call_{turn}_{n}").as_str().into();
        Content::ToolCall(Arc::new(ToolCall { id, name: "tool_1".to_owned(), arguments, signature: None }))
    };
    let reply = Message::Assistant(AssistantMessage {
        content: vec![
            Content::Thinking { thinking: text(400), signature: Some("c2lnbmF0dXJl".to_owned()) },
            Content::text(text(200)),
            call(0),
            call(1),
        ],
        stop_reason: StopReason::ToolUse,
        model: model.id.clone(),
        requested_model: None,
        provider: model.provider.clone(),
        usage: Usage::new(100, 10),
        timestamp: Timestamp::default(),
        error_message: None,
    });
    let result = |n: usize| {
        Message::ToolResult(ToolResultMessage {
            tool_call_id: format!("call_{turn}_{n}").as_str().into(),
            tool_name: "tool_1".to_owned(),
            content: vec![Content::text(text(2_000))],
            is_error: false,
            timestamp: Timestamp::default(),
        })
    };
    let shared = |message: Message| -> SharedMessage { Arc::new(message.into()) };
    let (reply, results) = (shared(reply), vec![shared(result(0)), shared(result(1))]);
    transcript.push_exchange(Arc::clone(&reply), results.clone()).ok()?;
    Some(std::iter::once(reply).chain(results).collect())
}

fn tool(n: usize) -> ToolDefinition {
    ToolDefinition {
        name: format!("tool_{n}"),
        description: "Does something to a file. ".repeat(10),
        parameters: json!({
            "type": "object",
            "properties": {"path": {"type": "string"}, "text": {"type": "string"}},
            "required": ["path"]
        }),
    }
}
