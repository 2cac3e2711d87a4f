//! Generates streams as providers send them: random turns, rendered for every protocol, with every kind of
//! line end.
//!
//! Invariant: a stream is a function of its seed, wire and variant.

use lariat_test::SeededRandom;
use serde_json::{Value, json};

use crate::server::{Stop, Turn, Wire, render};

/// The line format of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// `\n`.
    Lf,
    /// `\r\n`.
    CrLf,
    /// `\r`.
    Cr,
    /// A byte order mark, then `\n`.
    Bom,
    /// Comments, `id`, `retry` and unknown fields between events, line ends mixed.
    Comments,
}

impl Variant {
    /// The variants of a wire: binary frames have no lines.
    pub const fn of(wire: Wire) -> &'static [Self] {
        if wire.is_sse() { &[Self::Lf, Self::CrLf, Self::Cr, Self::Bom, Self::Comments] } else { &[Self::Lf] }
    }
}

/// Text fragments that have broken decoders: escapes, quotes, wide and combining characters, line ends in
/// JSON.
const PIECES: &[&str] = &[
    "Hello",
    " world",
    "né",
    "日本語",
    "👩‍👩‍👧‍👦",
    "\"quoted\"",
    "back\\slash",
    "a\nb",
    "\r\n",
    "\t",
    "data: x",
    ": c",
    "event: y",
    "\u{2028}",
    "e\u{301}",
    "{\"a\":1}",
    "[DONE]",
    "\u{1}",
    "</s>",
    "ÿþ",
    "\u{fffd}",
    "  ",
    "٣",
];

/// The turn of a seed: thinking, text and tool calls, at least one of the last two.
pub fn turn(seed: u64) -> Turn {
    let mut dice = SeededRandom::new(seed);
    let mut turn = Turn::new().id(format!("{seed:x}")).model("m-1").piece(1 + dice.index(12));
    if dice.chance(40) {
        turn = turn.thinking(words(&mut dice, 6));
    }
    if dice.chance(15) {
        turn = turn.redacted("cmVkYWN0ZWQ=");
    }
    let calls = if dice.chance(50) { 1 + dice.index(3) } else { 0 };
    if calls == 0 || dice.chance(60) {
        turn = turn.text(format!("x{}", words(&mut dice, 12)));
    }
    for call in 0..calls {
        let name = ["read", "write", "search"].get(dice.index(3)).copied().unwrap_or("read");
        turn = turn.call(format!("call_{call}_{seed}"), name, &arguments(&mut dice));
    }
    if calls == 0 {
        let stop =
            [Stop::Stop, Stop::Length, Stop::Refusal, Stop::Pause, Stop::ContextExceeded, Stop::StopSequence];
        turn = turn.stop(stop.get(dice.index(12)).copied().unwrap_or(Stop::Stop));
    }
    if dice.chance(10) { turn.without_usage() } else { turn }
}

pub(super) fn words(dice: &mut SeededRandom, most: usize) -> String {
    (0..1 + dice.index(most)).filter_map(|_| dice.pick(PIECES)).copied().collect()
}

fn arguments(dice: &mut SeededRandom) -> Value {
    match dice.index(4) {
        0 => json!({}),
        1 => json!({"path": words(dice, 3)}),
        2 => json!({"n": dice.below(1000), "deep": {"list": [1, words(dice, 2), null, true]}}),
        _ => json!({"text": words(dice, 8), "ünïcode": words(dice, 1)}),
    }
}

/// The body of a stream.
pub fn stream(wire: Wire, seed: u64, variant: Variant) -> Vec<u8> {
    let frames = render::stream(wire, &turn(seed));
    // Google's line ends are `\r\n`; every variant starts from `\n`.
    let plain = |frame: Vec<u8>| {
        if wire.is_sse() { frame.into_iter().filter(|byte| *byte != b'\r').collect() } else { frame }
    };
    let frames: Vec<Vec<u8>> = frames.into_iter().map(plain).collect();
    match variant {
        Variant::Lf => frames.concat(),
        Variant::CrLf => with_line_ends(&frames.concat(), b"\r\n"),
        Variant::Cr => with_line_ends(&frames.concat(), b"\r"),
        Variant::Bom => [b"\xEF\xBB\xBF".as_slice(), &frames.concat()].concat(),
        Variant::Comments => with_comments(&frames, &mut SeededRandom::new(seed).fork("comments")),
    }
}

/// Replaces line ends. JSON contains no raw ones, so all of them belong to the framing.
fn with_line_ends(body: &[u8], end: &[u8]) -> Vec<u8> {
    body.split(|byte| *byte == b'\n').collect::<Vec<_>>().join(end)
}

fn with_comments(frames: &[Vec<u8>], dice: &mut SeededRandom) -> Vec<u8> {
    const NOISE: &[&[u8]] = &[
        b":\n\n",
        b": ping\n",
        b"retry: 3000\n",
        b"id: 7\n",
        b"unknown: field\n",
        b"nocolon\n",
        b":\r\n\r\n",
        b"\r",
        b"\n\n",
    ];
    let mut body = Vec::new();
    for frame in frames {
        for _ in 0..dice.index(3) {
            body.extend_from_slice(dice.pick(NOISE).copied().unwrap_or_default());
        }
        let end: &[u8] = [&b"\n"[..], b"\r\n", b"\r"].get(dice.index(3)).copied().unwrap_or(b"\n");
        body.extend_from_slice(&with_line_ends(frame, end));
    }
    body
}
