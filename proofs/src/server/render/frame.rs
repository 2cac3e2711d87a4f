//! Formats server-sent events.
//!
//! Google ends lines with CRLF, all others with LF. Invariant: a frame is one event and ends with its blank
//! line.

use serde_json::Value;

/// An event with a name.
pub(super) fn named(name: &str, data: &Value) -> Vec<u8> {
    format!("event: {name}\ndata: {data}\n\n").into_bytes()
}

/// An event with data only.
pub(super) fn unnamed(data: &Value) -> Vec<u8> {
    format!("data: {data}\n\n").into_bytes()
}

/// An event with data only, lines ending in CRLF.
pub(super) fn crlf(data: &Value) -> Vec<u8> {
    format!("data: {data}\r\n\r\n").into_bytes()
}
