//! Measures what a streamed reply costs in the model crate, compared with a bare HTTP client that reads the
//! same bytes.
//!
//! Selects the measurements and their goals; each measurement is a sibling module. The server sends what the
//! scripted server renders, with one chunk and one write per event, as providers do; figures for large writes
//! are also shown.

mod building;
mod first_delta;
mod instructions;
mod reading;
pub(crate) mod service;

use lariat_proofs::server::{Turn, Wire, render};

use super::Size;

/// The protocols that differ on the wire: Azure uses Responses, Vertex uses Gemini.
const WIRES: [Wire; 5] =
    [Wire::AnthropicMessages, Wire::OpenAiChat, Wire::OpenAiResponses, Wire::Gemini, Wire::BedrockConverse];

/// Parses the options and measures. Returns `None` if the options are invalid.
pub(crate) fn run(options: &[&str]) -> Option<bool> {
    match options {
        [] => Some(measure(Size::Full)),
        ["--short"] => Some(measure(Size::Short)),
        ["--read", client, wire, address] => reading::once(client, wire, address),
        ["--serve", events] => service::print_addresses(events.parse().ok()?),
        _ => None,
    }
}

fn measure(size: Size) -> bool {
    let read = reading::measure(size);
    instructions::measure(size);
    let first = first_delta::measure(size);
    let built = building::measure(size);
    read && first && built
}

/// Frames of a reply of about this many events: one fifth thinking, the rest text, and one tool call with
/// long arguments.
fn frames(wire: Wire, events: usize) -> Vec<Vec<u8>> {
    // Five characters per chunk: about the size of a token.
    const PIECE: usize = 5;
    let words = |pieces: usize| "word ".repeat(pieces);
    let turn = Turn::new().model("m-1").piece(PIECE).thinking(words(events / 5)).text(words(events * 4 / 5));
    let arguments = serde_json::json!({ "text": words(events / 10) });
    render::stream(wire, &turn.call("call_1", "write", &arguments))
}

/// Finds a wire protocol by its short name.
fn wire_named(name: &str) -> Option<Wire> {
    WIRES.into_iter().find(|wire| wire.name() == name)
}
