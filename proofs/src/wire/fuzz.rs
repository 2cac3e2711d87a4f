//! The checks of the fuzz targets: splitting the bytes must not change the result, and no invalid tool call
//! may be delivered.
//!
//! Also parses a fuzzer's input (where to split, then what to feed) and makes seeds. The targets themselves
//! are in `fuzz/`, outside the workspace, and only call this module, so that tests cover it.

use std::collections::HashSet;

use lariat_core::model::StreamEvent;
use lariat_model::wire::{frames, sse};

use super::corpus::{Variant, stream, turn};
use super::splits::{outcome, pieces};
use super::{protocol, request};
use crate::server::crc32::crc32;
use crate::server::{Wire, render};

/// Maximum number of splits in an input.
const MOST_CUTS: usize = 15;

/// Parses an input: the first byte is the number of splits, two bytes each say where, the rest is the data.
fn cut_input(input: &[u8]) -> Option<(Vec<u16>, &[u8])> {
    let (count, rest) = input.split_first()?;
    let (cuts, body) = rest.split_at_checked((usize::from(*count) & MOST_CUTS) * 2)?;
    let cuts = cuts.chunks_exact(2).filter_map(|pair| Some(u16::from_le_bytes(pair.try_into().ok()?)));
    Some((cuts.collect(), body))
}

fn places(cuts: &[u16], length: usize) -> Vec<usize> {
    let mut places: Vec<usize> = cuts.iter().map(|cut| usize::from(*cut) % (length + 1)).collect();
    places.sort_unstable();
    places
}

/// Feeds a decoder at once and in chunks.
///
/// # Panics
/// Panics if the results differ, or if invalid events are delivered.
pub fn decoder(wire: Wire, input: &[u8]) {
    let Some((cuts, body)) = cut_input(input) else { return };
    let body = if wire.is_sse() { body.to_vec() } else { binary(body) };
    let request = request(wire, "http://127.0.0.1");
    let whole = outcome(protocol(wire).decoder(&request), std::iter::once(body.as_slice()));
    let places = places(&cuts, body.len());
    let cut = outcome(protocol(wire).decoder(&request), pieces(&body, &places));
    assert_eq!(whole, cut, "cut at {places:?}");
    check_events(&whole.0, whole.1.is_some());
}

/// Checks the order of events: a tool call must be delivered whole, and only by a reply that ended.
fn check_events(events: &[StreamEvent], failed: bool) {
    let mut ids = HashSet::new();
    for (at, event) in events.iter().enumerate() {
        match event {
            StreamEvent::Done { .. } => {
                assert!(!failed && at + 1 == events.len(), "done before the end: {events:?}");
            }
            StreamEvent::ToolCallEnd { call, .. } => {
                assert!(!failed, "a call of a reply that failed: {events:?}");
                assert!(call.arguments.is_object() && !call.name.is_empty(), "{call:?}");
                assert!(!call.id.as_str().is_empty() && ids.insert(call.id.clone()), "{call:?}");
            }
            StreamEvent::Start { .. } => assert_eq!(at, 0, "started late: {events:?}"),
            _ => assert!(ids.is_empty(), "more after the calls: {events:?}"),
        }
    }
    let done = matches!(events.last(), Some(StreamEvent::Done { .. }));
    assert!(done != failed, "neither done nor failed: {events:?}");
}

/// Feeds the parser of server-sent events at once and in chunks, and compares with a naive implementation of
/// the specification.
///
/// # Panics
/// Panics if any of the three differ.
pub fn events(input: &[u8]) {
    let Some((cuts, body)) = cut_input(input) else { return };
    let read = |pieces: &mut dyn Iterator<Item = &[u8]>| {
        let (mut parser, mut found) = (sse::Parser::new(), Vec::new());
        for piece in pieces {
            let fed: Result<(), sse::EventTooLarge> = parser.feed(piece, |name, data| {
                found.push((name.to_owned(), data.to_owned()));
                Ok(())
            });
            assert!(fed.is_ok());
        }
        found
    };
    let whole = read(&mut std::iter::once(body));
    assert_eq!(whole, read(&mut pieces(body, &places(&cuts, body.len()))));
    assert_eq!(whole, naive_events(body));
}

/// Parses a whole body of server-sent events by the letter of the specification, without regard to speed.
fn naive_events(body: &[u8]) -> Vec<(String, String)> {
    let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    // Every line end becomes one line feed; what follows the last one is not a line.
    let mut lines: Vec<Vec<u8>> = vec![Vec::new()];
    let mut bytes = body.iter().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\r' => {
                bytes.next_if(|next| **next == b'\n');
                lines.push(Vec::new());
            }
            b'\n' => lines.push(Vec::new()),
            other => lines.last_mut().into_iter().for_each(|line| line.push(*other)),
        }
    }
    lines.pop();
    let (mut found, mut name, mut data) = (Vec::new(), Vec::new(), Vec::new());
    for line in lines {
        if line.is_empty() {
            let data: Vec<Vec<u8>> = std::mem::take(&mut data);
            let name = std::mem::take(&mut name);
            if !data.is_empty() {
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                found.push((text(&name), text(&data.join(&b'\n'))));
            }
            continue;
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (field, value) = line.split_at(colon.unwrap_or(line.len()));
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value).to_vec();
        match field {
            b"data" => data.push(value),
            b"event" => name = value,
            _ => {}
        }
    }
    found
}

/// Feeds the parser of AWS frames at once and in chunks. Usually corrects the checksums first, because few
/// random inputs would pass them.
///
/// # Panics
/// Panics if the results differ.
pub fn aws_frames(input: &[u8]) {
    let Some((cuts, body)) = cut_input(input) else { return };
    let body = if cuts.len() % 4 == 3 { body.to_vec() } else { with_checksums(body) };
    let read = |pieces: &mut dyn Iterator<Item = &[u8]>| {
        let (mut parser, mut found) = (frames::Parser::new(), Vec::new());
        for piece in pieces {
            let fed: Result<(), frames::FrameError> = parser.feed(piece, |message| {
                found.push(message);
                Ok(())
            });
            if let Err(error) = fed {
                return (found, Some(error));
            }
        }
        (found, None)
    };
    let whole = read(&mut std::iter::once(body.as_slice()));
    assert_eq!(whole, read(&mut pieces(&body, &places(&cuts, body.len()))));
}

fn with_checksums(bytes: &[u8]) -> Vec<u8> {
    let mut fixed = bytes.to_vec();
    let mut rest = fixed.as_mut_slice();
    while let Some((length, _)) = rest.split_first_chunk::<4>() {
        let length = u32::from_be_bytes(*length) as usize;
        let Some((frame, after)) = rest.split_at_mut_checked(length) else { break };
        let Some((prelude, tail)) = frame.split_at_mut_checked(8) else { break };
        let Some(checksum) = tail.first_chunk_mut::<4>() else { break };
        *checksum = crc32(prelude).to_be_bytes();
        let Some((content, checksum)) = frame.split_last_chunk_mut::<4>() else { break };
        *checksum = crc32(content).to_be_bytes();
        rest = after;
    }
    fixed
}

/// Converts server-sent events to AWS frames: a form that can be mutated without breaking checksums. A name
/// that starts with `!` is that of an exception.
fn binary(text: &[u8]) -> Vec<u8> {
    let frame = |(name, data): &(String, String)| match name.strip_prefix('!') {
        Some(name) => {
            let headers = [(":message-type", "exception"), (":exception-type", name)];
            render::event_stream_message(&headers, data.as_bytes())
        }
        None => {
            let headers = [(":message-type", "event"), (":event-type", name.as_str())];
            render::event_stream_message(&headers, data.as_bytes())
        }
    };
    naive_events(text).iter().flat_map(frame).collect()
}

/// The names of the targets, and what each fuzzes.
pub const TARGETS: [(&str, Target); 9] = [
    ("sse", Target::Events),
    ("aws_frames", Target::AwsFrames),
    ("anthropic", Target::Decoder(Wire::AnthropicMessages)),
    ("chat", Target::Decoder(Wire::OpenAiChat)),
    ("responses", Target::Decoder(Wire::OpenAiResponses)),
    ("azure", Target::Decoder(Wire::AzureResponses)),
    ("gemini", Target::Decoder(Wire::Gemini)),
    ("vertex", Target::Decoder(Wire::Vertex)),
    ("bedrock", Target::Decoder(Wire::BedrockConverse)),
];

/// What a target fuzzes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The parser of server-sent events.
    Events,
    /// The parser of AWS frames.
    AwsFrames,
    /// The decoder of a protocol.
    Decoder(Wire),
}

impl Target {
    /// Runs the target on an input.
    ///
    /// # Panics
    /// Panics if a check fails.
    pub fn run(self, input: &[u8]) {
        match self {
            Self::Events => events(input),
            Self::AwsFrames => aws_frames(input),
            Self::Decoder(wire) => decoder(wire, input),
        }
    }

    /// A seed input: a stream as the provider sends it, with three splits.
    pub fn seed(self, seed: u64) -> Vec<u8> {
        let variants = Variant::of(Wire::OpenAiChat);
        let variant = variants.get(seed as usize % variants.len()).copied().unwrap_or(Variant::Lf);
        let body = match self {
            Self::Events => stream(Wire::AnthropicMessages, seed, variant),
            Self::AwsFrames => render::stream(Wire::BedrockConverse, &turn(seed)).concat(),
            Self::Decoder(Wire::BedrockConverse) => {
                textual(&render::stream(Wire::BedrockConverse, &turn(seed)))
            }
            Self::Decoder(wire) => stream(wire, seed, variant),
        };
        let cut = |n: u64| u16::try_from((seed * 31 + n * 97) % 4096).unwrap_or_default().to_le_bytes();
        [&[2u8][..], &cut(1), &cut(2), &body].concat()
    }
}

/// The inverse of [`binary`].
fn textual(frames: &[Vec<u8>]) -> Vec<u8> {
    let text = |frame: &Vec<u8>| {
        let (headers, payload) = render::parse_event_stream(frame)?;
        let (_, name) = headers.iter().find(|(name, _)| name == ":event-type")?;
        Some([b"event: ", name.as_bytes(), b"\ndata: ", &payload, b"\n\n"].concat())
    };
    frames.iter().filter_map(text).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lariat_test::SeededRandom;

    #[test]
    fn every_seed_of_every_target_passes() {
        for (_, target) in TARGETS {
            (0..40).for_each(|seed| target.run(&target.seed(seed)));
        }
    }

    #[test]
    fn randomly_damaged_seeds_pass() {
        for (_, target) in TARGETS {
            for seed in 0..60 {
                let (mut dice, mut input) = (SeededRandom::new(seed), target.seed(seed % 20));
                for _ in 0..1 + dice.index(6) {
                    let at = dice.index(input.len());
                    match dice.index(3) {
                        0 => input[at] = dice.bits() as u8,
                        1 => drop(input.remove(at)),
                        _ => input.insert(at, dice.bits() as u8),
                    }
                }
                target.run(&input);
            }
        }
    }

    #[test]
    fn frames_survive_conversion_to_text_and_back() {
        let frames = render::stream(Wire::BedrockConverse, &turn(3));
        let again = binary(&textual(&frames));
        let names = |bytes: &[u8]| {
            let mut found = Vec::new();
            let fed: Result<(), frames::FrameError> = frames::Parser::new().feed(bytes, |message| {
                found.push(message.payload().clone());
                Ok(())
            });
            fed.unwrap();
            found
        };
        assert_eq!(names(&again), names(&frames.concat()));
        assert_eq!(names(&again).len(), frames.len());
    }
}
