//! Faults in the stream: it stalls, breaks, lies, or has invalid content.
//!
//! Positions are places in the stream. Each row has the allowed outcomes before and after delivery; the
//! judge's own rule allows a stream that broke after it was complete to complete.

use std::time::Duration;

use bytes::Bytes;
use lariat_model::http::TransportError;
use serde_json::{Value, json};

use super::cell::{Cell, Position, arguments, finish_frames};
use super::fault::{Fault, Group};
use super::frame_edits::{byte_by_byte, chain, edited, frame, joined, keep_alive, other_line_ends};
use super::outcome::AllowedOutcomes;
use super::plan::{BodyStep, Completeness, Plan};
use crate::server::{Wire, render};

const MEGABYTE: usize = 1 << 20;
const PAGE: &[u8] = b"<html>\n<head><title>504 Gateway Time-out</title></head>\n<body>\n</body>\n</html>\n";

const fn fault(
    name: &'static str,
    before: &'static str,
    after: &'static str,
    plan: fn(&Cell) -> Plan,
) -> Fault {
    Fault { name, group: Group::Stream, plan, allowed: AllowedOutcomes::new(before, after) }
}

/// The faults.
pub const FAULTS: &[Fault] = &[
    fault("stall", "R", "n", |cell| cell.broken(after_cut(cell, vec![BodyStep::Hangs]))),
    fault("keep-alives for ever", "R", "n", |cell| {
        let bytes = Bytes::from(keep_alive(cell.wire));
        cell.broken(after_whole(
            cell,
            vec![BodyStep::Repeat { bytes, times: None, every: Duration::from_secs(10) }],
        ))
    }),
    fault("10,000 keep-alives, then on", "C", "C", |cell| {
        let bytes = Bytes::from(keep_alive(cell.wire));
        let storm = vec![BodyStep::Repeat { bytes, times: Some(10_000), every: Duration::from_millis(1) }];
        cell.whole(between(cell, storm))
    }),
    fault("slow, in time", "C", "C", |cell| {
        let (head, tail) = cell.cut();
        let slow = tail.into_iter().flat_map(|beat| [BodyStep::Wait(Duration::from_secs(60)), beat]);
        cell.whole(chain([head, slow.collect()])).within(Duration::from_secs(3600))
    }),
    fault("slower than the total allows", "R", "n", |cell| {
        let (head, tail) = cell.cut();
        let slow = tail.into_iter().flat_map(|beat| [BodyStep::Wait(Duration::from_secs(299)), beat]);
        let endless = BodyStep::Repeat {
            bytes: Bytes::from(keep_alive(cell.wire)),
            times: None,
            every: Duration::from_secs(10),
        };
        // Bytes arrive before every timeout, mostly with progress: only the total limit ends it, or the
        // reply.
        let mut plan = cell.whole(chain([head, slow.collect(), vec![endless]]));
        plan.reply = Completeness::Declared;
        plan.within(Duration::from_secs(3610))
    }),
    fault("reset", "R", "n", |cell| cell.broken(after_cut(cell, vec![BodyStep::reset()]))),
    fault("reset in the same instant as the bytes", "R", "n", |cell| {
        let (head, _) = cell.cut();
        cell.broken(vec![BodyStep::bytes(joined(&head)), BodyStep::reset()])
    }),
    fault("clean end", "R", "n", |cell| cell.broken(after_cut(cell, Vec::new()))),
    fault("end inside a frame", "R", "n", |cell| {
        let at = cell.victim();
        let victim = cell.frames().get(at).cloned().unwrap_or_default();
        let part = victim.get(..victim.len() / 2).unwrap_or_default().to_vec();
        let mut plan = cell.whole(chain([frames(cell, 0, at), vec![BodyStep::bytes(part)]]));
        plan.reply = cell.said_stop(at);
        plan
    }),
    fault("damaged compression", "R", "n", |cell| {
        let damaged = TransportError::Damaged("the body is damaged: invalid gzip header".to_owned());
        cell.broken(after_cut(cell, vec![BodyStep::Fails(damaged)]))
    }),
    fault("a frame twice", "CR", "Cin", |cell| {
        let at = cell.victim();
        let twice = chain([frames(cell, 0, at + 1), frames(cell, at, usize::MAX)]);
        // Google's frames contain whole calls: two frames are two calls, and nothing marks one as a copy.
        cell.whole(twice).complete(vec![arguments(), arguments()]).tampered()
    }),
    fault("a frame lost", "CR", "Cine", |cell| {
        let at = cell.victim();
        let mut plan = cell.whole(chain([frames(cell, 0, at), frames(cell, at + 1, usize::MAX)])).tampered();
        if at == cell.frames().len().saturating_sub(finish_frames(cell.wire)) {
            plan.reply = Completeness::Undeclared;
        }
        plan
    }),
    fault("two frames swapped", "CR", "Cin", |cell| {
        let at = cell.victim().min(cell.frames().len().saturating_sub(2));
        let swapped = [frames(cell, at + 1, at + 2), frames(cell, at, at + 1)];
        let [second, first] = swapped;
        cell.whole(chain([frames(cell, 0, at), second, first, frames(cell, at + 2, usize::MAX)])).tampered()
    }),
    fault("error: overloaded", "R", "ln", |cell| {
        // Anthropic has its own status for "overloaded".
        let status = if cell.wire == Wire::AnthropicMessages { 529 } else { 503 };
        failing(cell, status, "Overloaded")
    }),
    fault("error: rate limit", "R", "l", |cell| failing(cell, 429, "Rate limit reached for requests")),
    fault("error: server", "R", "n", |cell| failing(cell, 500, "Internal server error")),
    fault("error: overflow", "o", "o", |cell| failing(cell, 400, &overflow_words(cell.wire))),
    fault("error: overflow, compaction", "R", "o", |cell| {
        failing(cell, 400, &overflow_words(cell.wire)).compacting()
    }),
    // The Responses API sends no code then, and the text alone is not trusted, so it may be treated as a
    // server error.
    fault("error: bad request", "pR", "pn", |cell| failing(cell, 400, "messages.3: something is not right")),
    fault("a line of garbage", "CR", "Cin", |cell| with_invalid_bytes(cell, b"this is not a stream\n")),
    fault("a page", "CR", "Cin", |cell| with_invalid_bytes(cell, PAGE)),
    fault("NUL bytes", "CR", "Cin", |cell| with_invalid_bytes(cell, &[0; 64])),
    fault("bytes that are not UTF-8", "CR", "Cin", |cell| {
        with_invalid_bytes(cell, &[0xff, 0xfe, 0xc3, 0x28])
    }),
    fault("a byte order mark in the middle", "CR", "Cin", |cell| with_invalid_bytes(cell, b"\xEF\xBB\xBF")),
    fault("a byte that is not UTF-8 inside a frame", "CR", "Cin", |cell| {
        damaged(cell, |frame| {
            let at = frame.len() / 2;
            frame.get_mut(at).into_iter().for_each(|byte| *byte = 0xff);
        })
    }),
    fault("a lost byte inside a frame", "CR", "Cin", |cell| {
        damaged(cell, |frame| {
            let brace = frame.iter().position(|byte| *byte == b'{').unwrap_or_default();
            frame.remove(brace);
        })
    }),
    fault("invalid JSON", "R", "i", |cell| cell.broken(inserted(cell, r#"{"type": oops"#))),
    fault("half of a JSON", "R", "i", |cell| {
        cell.broken(inserted(cell, r#"{"type":"content_block_delta","#))
    }),
    fault("null", "CR", "Cin", |cell| cell.whole(inserted(cell, "null"))),
    fault("an array", "CR", "Cin", |cell| cell.whole(inserted(cell, r#"[{"type":"ping"},7,null]"#))),
    fault("a number", "CR", "Cin", |cell| cell.whole(inserted(cell, "1e308"))),
    fault("wrong types", "CR", "Cin", |cell| {
        let at = cell.victim();
        let twisted = edited(cell.wire, cell.frames().get(at).map_or(&[][..], Vec::as_slice), &twist);
        cell.whole(chain([frames(cell, 0, at), vec![BodyStep::bytes(twisted)], frames(cell, at, usize::MAX)]))
            .tampered()
    }),
    fault("JSON 10,000 levels deep", "CR", "Cin", |cell| {
        cell.whole(inserted(cell, &format!("{}{}", "[".repeat(10_000), "]".repeat(10_000))))
    }),
    fault("an unknown event", "C", "C", |cell| {
        let unknown = json!({"type": "telemetry.v9", "object": "telemetry", "telemetry": {"a": [1, null]}});
        cell.whole(between(
            cell,
            vec![BodyStep::bytes(frame(cell.wire, "telemetry.v9", &unknown.to_string()))],
        ))
    }),
    fault("unknown fields everywhere", "C", "C", |cell| {
        let more = |json: &mut Value| {
            super::frame_edits::each_object(json, &|fields| {
                fields.insert("x_new_field".to_owned(), json!({"deep": [1, {"er": null}]}));
            });
        };
        let at = cell.before();
        let tail =
            cell.frames().iter().skip(at).map(|frame| BodyStep::bytes(edited(cell.wire, frame, &more)));
        // In protocols that send arguments as JSON objects, the arguments are not changed.
        let google = matches!(cell.wire, Wire::Gemini | Wire::Vertex);
        let tail = if google { frames(cell, at, usize::MAX) } else { tail.collect() };
        cell.whole(chain([frames(cell, 0, at), tail]))
    }),
    fault("id, retry and nameless fields", "C", "C", |cell| {
        let fields: &[u8] = b"id: 7\nretry: 10\nnonsense\n: comment\nfoo: bar\n\n";
        let sse = cell.wire.is_sse();
        let odd = if sse { fields.to_vec() } else { frame(cell.wire, "", "{}") };
        cell.whole(between(cell, vec![BodyStep::bytes(odd)]))
    }),
    fault("a line of 40 MB", "R", "i", |cell| {
        let flood = BodyStep::Repeat {
            bytes: Bytes::from(vec![b'x'; MEGABYTE]),
            times: Some(40),
            every: Duration::from_millis(1),
        };
        let start: &[u8] = if cell.wire.is_sse() { b"data: " } else { &[2, 128, 0, 0, 0, 0, 0, 0] };
        cell.broken(after_whole(cell, vec![BodyStep::bytes(start.to_vec()), flood]))
    }),
    fault("an event of 40 MB in lines", "R", "i", |cell| {
        let line = [b"data: ".as_slice(), &vec![b'x'; MEGABYTE], b"\n"].concat();
        let absurd: &[u8] = &[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0];
        let bytes = if cell.wire.is_sse() { Bytes::from(line) } else { Bytes::from_static(absurd) };
        let flood = BodyStep::Repeat { bytes, times: Some(40), every: Duration::from_millis(1) };
        cell.broken(after_whole(cell, vec![flood]))
    }),
    fault("a comment of 1 MB", "C", "C", |cell| {
        let filler = "x".repeat(MEGABYTE);
        let comment = if cell.wire.is_sse() {
            format!(": {filler}\n").into_bytes()
        } else {
            frame(cell.wire, "padding", &json!({"p": filler}).to_string())
        };
        cell.whole(between(cell, vec![BodyStep::bytes(comment)]))
    }),
    fault("100,000 blank lines", "C", "C", |cell| {
        let storm =
            if cell.wire.is_sse() { vec![b'\n'; 100_000] } else { frame(cell.wire, "", "{}").repeat(1000) };
        cell.whole(between(cell, vec![BodyStep::bytes(storm)]))
    }),
    fault("other line ends from here on", "C", "C", |cell| {
        let (head, tail) = cell.cut();
        let tail = match cell.wire.is_sse() {
            true => vec![BodyStep::bytes(other_line_ends(&joined(&tail)))],
            false => byte_by_byte(&tail),
        };
        cell.whole(chain([head, tail]))
    }),
    fault("byte by byte from here on", "C", "C", |cell| {
        let (head, tail) = cell.cut();
        cell.whole(chain([head, byte_by_byte(&tail)]))
    }),
    fault("empty chunks", "C", "C", |cell| {
        let (head, tail) = cell.cut();
        cell.whole(chain([head, vec![BodyStep::bytes(Vec::new()); 100], tail]))
    }),
    fault("bytes after the end", "C", "Ci", |cell| {
        let again = cell.frames().last().cloned().unwrap_or_default();
        let junk: Vec<u8> = match cell.position {
            Position::Start => b"\n\n\n".to_vec(),
            Position::AfterFirst => b"garbage without an end".to_vec(),
            Position::Quarter => PAGE.to_vec(),
            Position::InsideHalf => vec![0; 1000],
            Position::ThreeQuarters => vec![0xff; 1000],
            Position::BeforeLast => again,
            Position::End => vec![b'x'; MEGABYTE],
        };
        cell.whole(chain([frames(cell, 0, usize::MAX), vec![BodyStep::bytes(junk)]]))
    }),
    fault("the whole reply a second time", "C", "Cin", |cell| {
        // Cut at the position: the second reply is incomplete.
        let (second, _) = cell.cut();
        let plan = cell.whole(chain([frames(cell, 0, usize::MAX), second]));
        match cell.wire {
            // Google has no closing event, and some of its models send `STOP` in every frame, so both replies
            // are valid.
            Wire::Gemini | Wire::Vertex => plan.complete(vec![arguments(), arguments()]).tampered(),
            _ => plan,
        }
    }),
    fault("the closing event too early", "R", "ine", |cell| {
        let last = cell.frames().len().saturating_sub(1);
        let at = if cell.wire == Wire::BedrockConverse { last.saturating_sub(1) } else { last };
        let closing = frames(cell, at, at + 1);
        let mut plan = cell.whole(between(cell, closing)).tampered();
        let says_stop = finish_frames(cell.wire) == 1 || cell.wire == Wire::BedrockConverse;
        plan.reply = if says_stop { Completeness::Declared } else { cell.said_stop(cell.before()) };
        plan
    }),
    fault("a lie: finished here", "R", "ine", |cell| {
        let (head, _) = cell.cut();
        let finish = cell.frames().len().saturating_sub(finish_frames(cell.wire));
        cell.whole(chain([head, frames(cell, finish.max(cell.before()), usize::MAX)]))
    }),
    fault("a flipped bit", "CR", "Cin", |cell| {
        damaged(cell, |frame| {
            // In text this turns `data` into another field; in a binary frame it breaks a checksum.
            let at = frame.iter().position(|byte| *byte == b'd').unwrap_or_default();
            frame.get_mut(at).into_iter().for_each(|byte| *byte ^= 0x10);
        })
    }),
    fault("a wrong checksum", "R", "in", |cell| {
        let at = cell.victim();
        let mut victim = cell.frames().get(at).cloned().unwrap_or_default();
        match cell.wire.is_sse() {
            false => victim.iter_mut().rev().take(4).for_each(|byte| *byte = !*byte),
            // Text has no checksum; the closest equivalent is a frame that ends in the middle of its JSON.
            true => {
                let text = String::from_utf8_lossy(&victim).trim_end().to_owned();
                victim = format!("{}\n\n", text.get(..text.len() - 1).unwrap_or_default()).into_bytes();
            }
        }
        let mut plan = cell.whole(chain([
            frames(cell, 0, at),
            vec![BodyStep::bytes(victim)],
            frames(cell, at + 1, usize::MAX),
        ]));
        plan.reply = cell.said_stop(at);
        plan
    }),
];

/// The frames in a range, as chunks.
fn frames(cell: &Cell, from: usize, to: usize) -> Vec<BodyStep> {
    let count = to.saturating_sub(from);
    cell.frames().iter().skip(from).take(count).map(|frame| BodyStep::bytes(frame.clone())).collect()
}

/// The stream up to the position, even inside a frame, then something else.
fn after_cut(cell: &Cell, then: Vec<BodyStep>) -> Vec<BodyStep> {
    chain([cell.cut().0, then])
}

/// The whole frames up to the position, then something else.
fn after_whole(cell: &Cell, then: Vec<BodyStep>) -> Vec<BodyStep> {
    chain([cell.between().0, then])
}

/// The stream with something inserted between two frames.
fn between(cell: &Cell, what: Vec<BodyStep>) -> Vec<BodyStep> {
    let (head, tail) = cell.between();
    chain([head, what, tail])
}

/// The stream with an additional frame of any payload.
fn inserted(cell: &Cell, data: &str) -> Vec<BodyStep> {
    let name = match cell.wire {
        Wire::AnthropicMessages => "content_block_delta",
        Wire::BedrockConverse => "contentBlockDelta",
        _ => "response.output_text.delta",
    };
    between(cell, vec![BodyStep::bytes(frame(cell.wire, name, data))])
}

/// The stream with invalid bytes at the position, even inside a frame.
fn with_invalid_bytes(cell: &Cell, bytes: &[u8]) -> Plan {
    let (head, tail) = cell.cut();
    cell.whole(chain([head, vec![BodyStep::bytes(bytes.to_vec())], tail])).tampered()
}

/// The stream with the frame at the position damaged.
fn damaged(cell: &Cell, damage: fn(&mut Vec<u8>)) -> Plan {
    let at = cell.victim();
    let mut victim = cell.frames().get(at).cloned().unwrap_or_default();
    damage(&mut victim);
    cell.whole(chain([frames(cell, 0, at), vec![BodyStep::bytes(victim)], frames(cell, at + 1, usize::MAX)]))
        .tampered()
}

/// An error of the provider in the stream, which then ends.
fn failing(cell: &Cell, status: u16, message: &str) -> Plan {
    let error = render::stream_error(cell.wire, status, message);
    cell.broken(after_whole(cell, vec![BodyStep::bytes(error)]))
}

/// The provider's message when the request does not fit.
fn overflow_words(wire: Wire) -> String {
    let body: Value = serde_json::from_slice(&render::overflow(wire).body).unwrap_or_default();
    let words = body.pointer("/error/message").or_else(|| body.pointer("/message"));
    words.and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Changes the type of every value: numbers become strings, strings numbers, lists objects and vice versa.
/// Keeps the names of events, so that the frame is decoded.
fn twist(json: &mut Value) {
    let Value::Object(fields) = json else { return };
    for (name, value) in fields {
        if name == "type" {
            continue;
        }
        *value = match value {
            Value::Null => json!(7),
            Value::Bool(_) => json!("yes"),
            Value::Number(_) => json!("seven"),
            Value::String(_) => json!(7),
            Value::Array(_) => json!({"0": 1}),
            Value::Object(_) => json!([1, "2", null]),
        };
    }
}
