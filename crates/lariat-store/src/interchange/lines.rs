//! Reads files with one JSON object per line.
//!
//! Reading never fails: a line that is not an object (torn, merged with another, or not UTF-8) becomes a note.

use lariat_core::time::Timestamp;
use serde_json::{Map, Value};

use super::Note;

/// A JSON object and its line number, from 1.
pub(super) struct JsonLine {
    pub(super) number: usize,
    pub(super) fields: Map<String, Value>,
}

/// Returns the objects of a file, and notes about the other lines.
pub(super) fn read(bytes: &[u8]) -> (Vec<JsonLine>, Vec<Note>) {
    let (mut lines, mut notes) = (Vec::new(), Vec::new());
    for (line, number) in bytes.split(|byte| *byte == b'\n').zip(1..) {
        if line.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice::<Value>(line) {
            Ok(Value::Object(fields)) => lines.push(JsonLine { number, fields }),
            Ok(_) => notes.push(Note { line: number, text: "not a JSON object".to_owned() }),
            Err(error) => notes.push(Note { line: number, text: format!("not JSON: {error}") }),
        }
    }
    (lines, notes)
}

/// Returns a text field that is not empty.
pub(super) fn text<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    fields.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// Returns a field that is an object.
pub(super) fn object<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Map<String, Value>> {
    fields.get(name).and_then(Value::as_object)
}

/// Returns a number, or 0 if the field is missing.
pub(super) fn count(fields: &Map<String, Value>, name: &str) -> u64 {
    fields.get(name).and_then(Value::as_u64).unwrap_or_default()
}

/// Returns the `timestamp` of an object.
pub(super) fn timestamp(fields: &Map<String, Value>) -> Option<Timestamp> {
    serde::Deserialize::deserialize(fields.get("timestamp")?).ok()
}
