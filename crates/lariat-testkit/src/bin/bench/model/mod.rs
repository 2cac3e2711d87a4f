//! What a streamed reply costs on its way through the model crate, against the bare HTTP client reading the same bytes.
//!
//! Owns the choice of measurements and their goals; each is a sibling module. The server writes what the scripted server
//! renders, every event as a chunk and a write of its own, as model services do; what comes in large writes is shown, too.

mod building;
mod first_delta;
mod instructions;
mod reading;
pub(crate) mod service;

use lariat_testkit::server::{Turn, Wire, render};

use super::Size;

/// The protocols that differ on the wire: Azure is Responses, Vertex is Gemini.
const WIRES: [Wire; 5] =
    [Wire::AnthropicMessages, Wire::OpenAiChat, Wire::OpenAiResponses, Wire::Gemini, Wire::BedrockConverse];

/// Reads the options and measures; `None` when they make no sense.
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

/// The frames of a reply of about this many events: a fifth thinking, the rest text, and a call with long arguments.
fn frames(wire: Wire, events: usize) -> Vec<Vec<u8>> {
    // Five characters a piece: about what a token is.
    const PIECE: usize = 5;
    let words = |pieces: usize| "word ".repeat(pieces);
    let turn = Turn::new().model("m-1").piece(PIECE).thinking(words(events / 5)).text(words(events * 4 / 5));
    let arguments = serde_json::json!({ "text": words(events / 10) });
    render::stream(wire, &turn.call("call_1", "write", &arguments))
}

/// A wire by its short name.
fn wire_named(name: &str) -> Option<Wire> {
    WIRES.into_iter().find(|wire| wire.name() == name)
}
