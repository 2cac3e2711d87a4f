//! Creates and edits frames of both framings, server-sent events and binary.
//!
//! Invariant: the result is a whole frame unless the function's name says otherwise.

use serde_json::Value;

use super::plan::BodyStep;
use crate::server::{Wire, render};

/// A frame with any payload.
pub(super) fn frame(wire: Wire, name: &str, data: &str) -> Vec<u8> {
    match wire {
        Wire::AnthropicMessages | Wire::OpenAiResponses | Wire::AzureResponses => {
            format!("event: {name}\ndata: {data}\n\n").into_bytes()
        }
        Wire::OpenAiChat => format!("data: {data}\n\n").into_bytes(),
        Wire::Gemini | Wire::Vertex => format!("data: {data}\r\n\r\n").into_bytes(),
        Wire::BedrockConverse => {
            let headers =
                [(":event-type", name), (":content-type", "application/json"), (":message-type", "event")];
            render::event_stream_message(&headers, data.as_bytes())
        }
    }
}

/// What the provider sends to keep a connection open: pings, comments, or, for Bedrock, which has neither, an
/// unknown event.
pub(super) fn keep_alive(wire: Wire) -> Vec<u8> {
    match wire {
        Wire::AnthropicMessages => frame(wire, "ping", r#"{"type":"ping"}"#),
        Wire::BedrockConverse => frame(wire, "keepAlive", "{}"),
        _ => b": keep-alive\n\n".to_vec(),
    }
}

/// Edits the JSON of a frame; a frame without JSON is unchanged.
pub(super) fn edited(wire: Wire, frame: &[u8], edit: &dyn Fn(&mut Value)) -> Vec<u8> {
    if wire == Wire::BedrockConverse {
        let parsed = render::parse_event_stream(frame);
        let Some((headers, Ok(mut json))) =
            parsed.map(|(headers, payload)| (headers, serde_json::from_slice::<Value>(&payload)))
        else {
            return frame.to_vec();
        };
        edit(&mut json);
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        return render::event_stream_message(&headers, json.to_string().as_bytes());
    }
    let text = String::from_utf8_lossy(frame);
    let line = |line: &str| {
        let (data, end) = line.strip_suffix('\r').map_or((line, ""), |data| (data, "\r"));
        let json = data.strip_prefix("data: ").and_then(|data| serde_json::from_str::<Value>(data).ok());
        match json {
            Some(mut json) => {
                edit(&mut json);
                format!("data: {json}{end}")
            }
            None => line.to_owned(),
        }
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n").into_bytes()
}

/// Calls `visit` for every object in a JSON value, from the inside out: what `visit` adds is not visited.
pub(super) fn each_object(json: &mut Value, visit: &dyn Fn(&mut serde_json::Map<String, Value>)) {
    match json {
        Value::Object(fields) => {
            fields.values_mut().for_each(|value| each_object(value, visit));
            visit(fields);
        }
        Value::Array(items) => items.iter_mut().for_each(|item| each_object(item, visit)),
        _ => {}
    }
}

/// Converts to the other kind of line ends.
pub(super) fn other_line_ends(bytes: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    if text.contains("\r\n") { text.replace("\r\n", "\n") } else { text.replace('\n', "\r\n") }.into_bytes()
}

/// The concatenated bytes.
pub(super) fn joined(beats: &[BodyStep]) -> Vec<u8> {
    let bytes = |beat: &BodyStep| if let BodyStep::Bytes(bytes) = beat { bytes.to_vec() } else { Vec::new() };
    beats.iter().flat_map(bytes).collect()
}

/// One chunk per byte.
pub(super) fn byte_by_byte(beats: &[BodyStep]) -> Vec<BodyStep> {
    joined(beats).into_iter().map(|byte| BodyStep::bytes(vec![byte])).collect()
}

/// Concatenates several lists.
pub(super) fn chain<const N: usize>(parts: [Vec<BodyStep>; N]) -> Vec<BodyStep> {
    parts.into_iter().flatten().collect()
}
