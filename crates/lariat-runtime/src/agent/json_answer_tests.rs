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
