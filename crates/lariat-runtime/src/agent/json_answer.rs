//! Extracts JSON from a model's reply.
//!
//! The JSON is either the whole text or the only fenced code block in it. Models that no schema constrains
//! often wrap JSON in a code fence and write a sentence before it.

use serde_json::Value;

/// Parses the JSON in `text`, or returns the parse error.
pub(crate) fn parse_json_answer(text: &str) -> Result<Value, serde_json::Error> {
    let whole = serde_json::from_str(text.trim());
    whole.or_else(|error| match fenced_block(text) {
        Some(block) => serde_json::from_str(block.trim()),
        None => Err(error),
    })
}

/// Returns the content of the fenced code block, if there is exactly one.
fn fenced_block(text: &str) -> Option<&str> {
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
mod tests {
    use serde_json::json;

    use super::parse_json_answer;

    #[test]
    fn reads_json_with_and_without_fence_and_surrounding_text() {
        for text in [
            r#"{"a": 1}"#,
            "\n {\"a\": 1}\n",
            "```json\n{\"a\": 1}\n```",
            "```\n{\"a\":\n1}\n```\n",
            "Here it is:\n\n```json\n{\"a\": 1}\n```\nI hope it helps.",
        ] {
            assert_eq!(parse_json_answer(text).unwrap(), json!({"a": 1}), "{text}");
        }
    }

    #[test]
    fn keeps_a_fence_inside_a_json_string() {
        let answer = json!({"markdown": "```rust\nfn main() {}\n```"});
        assert_eq!(parse_json_answer(&answer.to_string()).unwrap(), answer);
        assert_eq!(parse_json_answer(&format!("```json\n{answer}\n```")).unwrap(), answer);
    }

    #[test]
    fn rejects_plain_text_and_several_blocks() {
        for text in ["", "It is one.", "```json\n{}", "```\n{}\n```\n```\n{}\n```", "{\"a\": 1} {\"a\": 2}"] {
            assert!(parse_json_answer(text).is_err(), "{text}");
        }
    }
}
