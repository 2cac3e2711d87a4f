//! Runs the cases of JSONTestSuite through the readers of tool-call arguments and of answers.
//!
//! Names say what a case demands: `y_` must be accepted, `n_` must be rejected, `i_` is left to the implementation. Arguments are an
//! object, so a case is the value of its only field. Its bytes arrive in a stream of each protocol that sends arguments as a text.

use std::path::Path;

use lariat_core::model::{ProviderError, StreamEvent};
use lariat_runtime::typed::AnswerSchema;
use serde_json::{Value, json};

use crate::server::{Turn, Wire, render};
use crate::wire::splits::outcome;
use crate::wire::{protocol, request};

/// The protocols that send arguments as a text in server-sent events, so that any bytes can take its place.
const WIRES: [Wire; 4] =
    [Wire::AnthropicMessages, Wire::OpenAiChat, Wire::OpenAiResponses, Wire::AzureResponses];

/// Stands for the bytes of the case in the rendered stream.
const PLACE: &str = "THE-BYTES-OF-THE-CASE";
/// The field of the arguments that has the case as its value.
const FIELD: &str = "value";

/// What the readers made of a suite.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Cases that must be accepted, and were.
    pub accepted: usize,
    /// Cases that must be rejected, and were.
    pub rejected: usize,
    /// Cases of the implementation's choice that were accepted.
    pub chosen: usize,
    /// Cases of the implementation's choice that were rejected.
    pub declined: usize,
    /// What a reader did wrong, with the name of the case.
    pub faults: Vec<String>,
}

/// Reads a directory of cases and runs each.
///
/// # Errors
/// If the directory cannot be read.
pub fn run(directory: &Path) -> Result<Tally, String> {
    let answer = AnswerSchema::from_value(json!({})).map_err(|error| error.to_string())?;
    let mut tally = Tally::default();
    for path in super::files(directory)? {
        let (name, case) = (super::name(&path), super::read(&path)?);
        check(&name, &case, &answer, &mut tally);
    }
    Ok(tally)
}

/// Runs one case through every reader.
fn check(name: &str, case: &[u8], answer: &AnswerSchema, tally: &mut Tally) {
    let mut readers: Vec<(String, Result<Value, String>)> =
        WIRES.iter().map(|wire| (format!("arguments of {wire:?}"), arguments(*wire, case))).collect();
    // An answer is a text before it is read, so invalid UTF-8 cannot reach this reader.
    if let Ok(text) = std::str::from_utf8(case) {
        readers.push(("answer".to_owned(), answer.read(text)));
    }
    let accepts = readers.iter().all(|(_, read)| read.is_ok());
    let must = match name.as_bytes().first() {
        Some(b'y') => Some(true),
        Some(b'n') => Some(false),
        _ => None,
    };
    // Server-sent events are decoded with a replacement for what is not UTF-8.
    let expected = serde_json::from_str::<Value>(&String::from_utf8_lossy(case)).ok();
    let before = tally.faults.len();
    for (reader, read) in readers {
        match (&read, must) {
            (Err(reason), Some(true)) => tally.faults.push(format!("{name}: {reader} rejected: {reason}")),
            (Ok(value), Some(false)) => tally.faults.push(format!("{name}: {reader} accepted as {value}")),
            (Ok(value), _) if expected.as_ref() != Some(value) => {
                tally.faults.push(format!("{name}: {reader} changed the value to {value}"));
            }
            _ => {}
        }
    }
    if tally.faults.len() > before {
        return;
    }
    *match (must, accepts) {
        (Some(true), _) => &mut tally.accepted,
        (Some(false), _) => &mut tally.rejected,
        (None, true) => &mut tally.chosen,
        (None, false) => &mut tally.declined,
    } += 1;
}

/// What a decoder delivers as the value of the only argument.
fn arguments(wire: Wire, case: &[u8]) -> Result<Value, String> {
    let turn = Turn::new().piece(PLACE.len() * 2).call_raw("call_1", "read", PLACE);
    let stream = render::stream(wire, &turn).concat();
    let body = put(&stream, &escaped(case));
    let (events, failure) =
        outcome(protocol(wire).decoder(&request(wire, "http://127.0.0.1")), std::iter::once(body.as_slice()));
    if let Some(failure) = failure {
        return match failure {
            ProviderError::InvalidReply(reason) => Err(reason.to_string()),
            other => Err(format!("{other:?}")),
        };
    }
    let call = events.iter().find_map(|event| match event {
        StreamEvent::ToolCallEnd { call, .. } => Some(call),
        _ => None,
    });
    let value = call.and_then(|call| call.arguments.get(FIELD));
    value.cloned().ok_or_else(|| "the reply has no such argument".to_owned())
}

/// The arguments with this case, as the content of a JSON string. Bytes that are not UTF-8 stay as they are.
fn escaped(case: &[u8]) -> Vec<u8> {
    let mut text = format!("{{\\\"{FIELD}\\\":").into_bytes();
    for byte in case {
        match byte {
            b'"' | b'\\' => text.extend([b'\\', *byte]),
            0..=0x1f => text.extend(format!("\\u{byte:04x}").into_bytes()),
            _ => text.push(*byte),
        }
    }
    text.push(b'}');
    text
}

/// Replaces every [`PLACE`] by these bytes.
fn put(stream: &[u8], bytes: &[u8]) -> Vec<u8> {
    let (mut body, mut rest) = (Vec::with_capacity(stream.len() + bytes.len()), stream);
    while let Some(at) = rest.windows(PLACE.len()).position(|window| window == PLACE.as_bytes()) {
        let (before, after) = rest.split_at_checked(at).unwrap_or((rest, &[]));
        body.extend_from_slice(before);
        body.extend_from_slice(bytes);
        rest = after.get(PLACE.len()..).unwrap_or_default();
    }
    body.extend_from_slice(rest);
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(name: &str, case: &[u8]) -> Tally {
        let (answer, mut tally) = (AnswerSchema::from_value(json!({})).unwrap(), Tally::default());
        check(name, case, &answer, &mut tally);
        tally
    }

    #[test]
    fn cases_are_counted_by_their_names() {
        assert_eq!(tally("y_a", b"[1,\"\\u00e9\\\"\",{}]"), Tally { accepted: 1, ..Tally::default() });
        assert_eq!(tally("n_a", b"[1,]"), Tally { rejected: 1, ..Tally::default() });
        assert_eq!(tally("n_utf8", b"[\xff]"), Tally { rejected: 1, ..Tally::default() });
        assert_eq!(tally("i_utf8", b"[\"\xff\"]"), Tally { chosen: 1, ..Tally::default() });
        assert_eq!(tally("i_a", b"[1e9999]"), Tally { declined: 1, ..Tally::default() });
        assert_eq!(tally("i_a", b"[1e-9999]"), Tally { chosen: 1, ..Tally::default() });
    }

    #[test]
    fn every_reader_that_is_wrong_is_a_fault() {
        assert_eq!(tally("n_a", b"[1]").faults.len(), WIRES.len() + 1);
        let faults = tally("y_a", b"[1").faults;
        assert_eq!(faults.len(), WIRES.len() + 1);
        assert!(
            faults[0]
                .starts_with("y_a: arguments of AnthropicMessages rejected: the arguments of the tool call")
        );
    }
}
