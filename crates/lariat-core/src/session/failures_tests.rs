use serde_json::json;

use super::*;
use crate::content::Content;
use crate::time::Timestamp;

fn attempt(failures: &mut Failures, tool: &str, command: &str, error: Option<&str>) {
    let call = ToolCall {
        id: "c".into(),
        name: tool.to_owned(),
        arguments: json!({"command": command}),
        signature: None,
    };
    let result = ToolResultMessage {
        tool_call_id: "c".into(),
        tool_name: tool.to_owned(),
        content: vec![Content::text(error.unwrap_or("fine"))],
        is_error: error.is_some(),
        timestamp: Timestamp::default(),
    };
    failures.apply(&result, Some(&call));
}

#[test]
fn repeated_attempt_is_counted_with_its_last_error() {
    let mut failures = Failures::default();
    attempt(&mut failures, "bash", "make", Some("\n  no rule\nmore"));
    attempt(&mut failures, "bash", "make", Some("no compiler"));
    attempt(&mut failures, "bash", "make test", Some("no rule"));
    let listed: Vec<_> = failures.list().iter().map(|one| (&*one.target, &*one.error, one.count)).collect();
    assert_eq!(listed, [("make", "no compiler", 2), ("make test", "no rule", 1)]);
}

#[test]
fn success_removes_the_failure() {
    let mut failures = Failures::default();
    attempt(&mut failures, "bash", "make", Some("no rule"));
    attempt(&mut failures, "bash", "make", None);
    assert!(failures.is_empty());
}

#[test]
fn attempts_and_their_texts_are_bounded() {
    let mut failures = Failures::default();
    for n in 0..50 {
        attempt(&mut failures, "bash", &format!("try {n}"), Some(&"é".repeat(5_000)));
    }
    assert_eq!(failures.list().len(), MOST);
    assert!(failures.list().iter().all(|one| one.error.chars().count() <= WORDS + 1));
    assert_eq!(failures.list().last().map(|one| &*one.target), Some("try 49"));
}
