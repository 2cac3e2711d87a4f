//! Tests that each rule reports its violation, and that valid conversations pass.

use serde_json::json;

use super::*;
use crate::protocol::anthropic::fixtures::tool;

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn call(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "read", "input": {}})
}

fn result(id: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": [text("x")]})
}

fn validate(blocks: &[(&'static str, Value)]) -> Result<(), String> {
    let mut validator = RequestValidator::default();
    let looked = blocks.iter().try_for_each(|(role, block)| validator.block(role, block));
    looked.and_then(|()| validator.end(false)).map_err(|error| {
        assert!(matches!(error, ProviderError::Api(_)) && !error.is_retryable());
        error.to_string()
    })
}

#[test]
fn accepts_conversation_with_tool_calls_and_results() {
    let blocks = [
        ("user", text("hi")),
        ("assistant", json!({"type": "thinking", "thinking": "", "signature": "s"})),
        ("assistant", json!({"type": "redacted_thinking", "data": "s"})),
        ("assistant", call("a")),
        ("assistant", call("b")),
        ("user", result("b")),
        ("user", result("a")),
        ("user", text("and")),
    ];
    assert_eq!(validate(&blocks), Ok(()));
}

#[test]
fn reports_every_violated_rule() {
    let user = || ("user", text("hi"));
    let image = |media_type: &str, data: &str| json!({"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}});
    let empty = json!({"type": "tool_result", "tool_use_id": "a", "content": []});
    let strange = json!({"type": "tool_result", "tool_use_id": "a", "content": [{"type": "audio"}]});
    let cases: Vec<(Vec<(&'static str, Value)>, &str)> = vec![
        (vec![], "no messages"),
        (vec![("assistant", text("hi"))], "first message"),
        (vec![user(), ("assistant", text("hi"))], "last message is an assistant message"),
        (vec![("user", text(" \n"))], "blank"),
        (vec![("user", image("image/bmp", "AA"))], "image"),
        (vec![("user", image("image/png", ""))], "image"),
        (vec![("user", json!({"type": "thinking", "signature": "s"}))], "type `thinking`"),
        (vec![("user", json!({}))], "type ``"),
        (vec![user(), ("assistant", json!({}))], "type ``"),
        (vec![user(), ("assistant", json!({"type": "thinking", "thinking": "x"}))], "signature"),
        (vec![user(), ("assistant", json!({"type": "redacted_thinking"}))], "redacted"),
        (vec![user(), ("assistant", call("a")), user()], "`a` has no result"),
        (vec![user(), ("assistant", call("a"))], "`a` has no result"),
        (vec![user(), ("assistant", call("a b"))], "is invalid"),
        (vec![user(), ("assistant", call("a")), ("assistant", call("a"))], "twice"),
        (vec![("user", result("a"))], "no tool call"),
        (
            vec![user(), ("assistant", call("a")), ("user", result("a")), ("user", result("a"))],
            "no tool call",
        ),
        (vec![user(), ("assistant", call("a")), ("user", empty)], "empty"),
        (vec![user(), ("assistant", call("a")), ("user", strange)], "audio"),
        (
            vec![user(), ("assistant", json!({"type": "tool_use", "id": "a", "name": "a b", "input": {}}))],
            "name",
        ),
        (
            vec![user(), ("assistant", json!({"type": "tool_use", "id": "a", "name": "read", "input": 3}))],
            "input",
        ),
    ];
    for (blocks, why) in cases {
        let error = validate(&blocks).unwrap_err();
        assert!(error.contains("would reject this request") && error.contains(why), "{why}: {error}");
    }
}

#[test]
fn rejects_result_after_other_content() {
    let mut validator = RequestValidator::default();
    validator.block("user", &text("hi")).unwrap();
    validator.block("assistant", &call("a")).unwrap();
    validator.block("user", &result("a")).unwrap();
    validator.block("user", &text("words")).unwrap();
    assert!(validator.block("user", &result("a")).unwrap_err().to_string().contains("follows other content"));
}

#[test]
fn accepts_paused_reply_as_the_last_message() {
    let mut validator = RequestValidator::default();
    validator.block("user", &text("hi")).unwrap();
    validator.block("assistant", &text("searching")).unwrap();
    assert_eq!((validator.end(true).is_ok(), validator.end(false).is_ok()), (true, false));
}

#[test]
fn checks_the_request_head() {
    let validate = |fields: Value, tools: &[ToolDefinition]| {
        let mut whole = json!({"model": "m", "max_tokens": 2000});
        fields.as_object().unwrap().iter().for_each(|(name, value)| whole[name] = value.clone());
        head(whole.as_object().unwrap(), tools, None).map_err(|error| error.to_string())
    };
    assert_eq!(
        validate(json!({"thinking": {"type": "enabled", "budget_tokens": 1024}}), &[tool("a")]),
        Ok(())
    );
    let mut combined = tool("a");
    combined.parameters = json!({"anyOf": []});
    let cases = [
        (json!({"max_tokens": 0}), vec![], "max_tokens"),
        (json!({"model": ""}), vec![], "model"),
        (json!({"thinking": {"budget_tokens": 1023}}), vec![], "budget of 1023"),
        (json!({"thinking": {"budget_tokens": 2000}}), vec![], "budget of 2000"),
        (json!({}), vec![tool("a b")], "`a b`"),
        (json!({}), vec![tool("a"), tool("a")], "twice"),
        (json!({}), vec![combined], "anyOf"),
        (json!({"tool_choice": {"type": "tool", "name": "b"}}), vec![tool("a")], "`b`"),
    ];
    for (fields, tools, why) in cases {
        let error = validate(fields, &tools).unwrap_err();
        assert!(error.contains(why), "{why}: {error}");
    }
    let schema = OutputSchema { name: "x".into(), schema: json!("no") };
    let whole = json!({"model": "m", "max_tokens": 1});
    assert!(head(whole.as_object().unwrap(), &[], Some(&schema)).is_err());
}
