//! Extracts JSON from a model's reply.
//!
//! The JSON is either the whole text or the only fenced code block in it. Models that no schema constrains
//! often wrap JSON in a code fence and write a sentence before it.

use serde_json::Value;

/// Parses the JSON in `text`, or returns the parse error.
pub(crate) fn parse_json_answer(text: &str) -> Result<Value, serde_json::Error> {
    let whole = serde_json::from_str(text.trim());
    whole.or_else(|error| match fenced(text) {
        Some(block) => serde_json::from_str(block.trim()),
        None => Err(error),
    })
}

/// Returns the content of the fenced code block, if there is exactly one.
fn fenced(text: &str) -> Option<&str> {
    const FENCE: &str = "```";
    // A fence inside a JSON string is not at the beginning of a line.
    let fences = |text: &str| {
        let mut at = 0;
        let mut found = Vec::new();
        for line in text.split_inclusive('\n') {
            if line.trim_start().starts_with(FENCE) {
                found.push((at, at + line.len()));
            }
            at += line.len();
        }
        found
    };
    match fences(text).as_slice() {
        [(_, begin), (end, _)] => text.get(*begin..*end),
        _ => None,
    }
}

#[cfg(test)]
#[path = "json_answer_tests.rs"]
mod tests;
