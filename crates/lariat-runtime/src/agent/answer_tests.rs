use serde_json::json;

use super::read;

#[test]
fn json_is_read_with_and_without_a_fence_and_words_around_it() {
    for text in [
        r#"{"a": 1}"#,
        "\n {\"a\": 1}\n",
        "```json\n{\"a\": 1}\n```",
        "```\n{\"a\":\n1}\n```\n",
        "Here it is:\n\n```json\n{\"a\": 1}\n```\nI hope it helps.",
    ] {
        assert_eq!(read(text).unwrap(), json!({"a": 1}), "{text}");
    }
}

#[test]
fn a_fence_inside_of_an_answer_stays_where_it_is() {
    let answer = json!({"markdown": "```rust\nfn main() {}\n```"});
    assert_eq!(read(&answer.to_string()).unwrap(), answer);
    assert_eq!(read(&format!("```json\n{answer}\n```")).unwrap(), answer);
}

#[test]
fn words_and_two_blocks_are_no_answer() {
    for text in ["", "It is one.", "```json\n{}", "```\n{}\n```\n```\n{}\n```", "{\"a\": 1} {\"a\": 2}"] {
        assert!(read(text).is_err(), "{text}");
    }
}
