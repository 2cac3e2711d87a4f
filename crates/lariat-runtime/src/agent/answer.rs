//! The JSON in a model's words.
//!
//! Owns what counts as an answer in JSON: the whole text, or the one block between code fences in it. Models that are
//! not forced into a form like to fence it and to say a word before.

use serde_json::Value;

/// The JSON of a text; else why there is none.
pub(crate) fn read(text: &str) -> Result<Value, serde_json::Error> {
    let whole = serde_json::from_str(text.trim());
    whole.or_else(|error| match fenced(text) {
        Some(block) => serde_json::from_str(block.trim()),
        None => Err(error),
    })
}

/// What stands between fences, if there is exactly one such block.
fn fenced(text: &str) -> Option<&str> {
    const FENCE: &str = "```";
    // A fence inside a string of the answer is not at the beginning of a line.
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
#[path = "answer_tests.rs"]
mod tests;
