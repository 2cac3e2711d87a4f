//! Tests that each rule reports its violation, and that valid conversations pass.

use serde_json::json;

use super::*;
use crate::protocol::anthropic::fixtures::tool;

fn words(text: &str) -> Value {
    json!({"text": text})
}

fn call(id: &str) -> Value {
    json!({"toolUse": {"toolUseId": id, "name": "read", "input": {}}})
}

fn result(id: &str) -> Value {
    json!({"toolResult": {"toolUseId": id, "content": [words("x")]}})
}

fn validate(blocks: &[(&'static str, Value)]) -> Result<(), String> {
    let mut validator = RequestValidator::default();
    let looked = blocks.iter().try_for_each(|(role, block)| validator.block(role, block));
    looked.and_then(|()| validator.end()).map_err(|error| error.to_string())
}

#[test]
fn accepts_conversation_with_tool_calls_and_results() {
    let blocks = [
        ("user", words("hi")),
        ("assistant", json!({"reasoningContent": {"reasoningText": {"text": "", "signature": "s"}}})),
        ("assistant", json!({"reasoningContent": {"redactedContent": "eA=="}})),
        (
            "assistant",
            json!({"toolUse": {"toolUseId": "s", "name": "nova_grounding", "type": "server_tool_use"}}),
        ),
        ("assistant", call("a")),
        ("assistant", call("b")),
        ("user", result("b")),
        ("user", result("a")),
        ("user", words("and")),
    ];
    assert_eq!(validate(&blocks), Ok(()));
}

#[test]
fn reports_every_violated_rule() {
    let user = || ("user", words("hi"));
    let named =
        |name: &str, input: Value| json!({"toolUse": {"toolUseId": "a", "name": name, "input": input}});
    let cases: Vec<(Vec<(&'static str, Value)>, &str)> = vec![
        (vec![], "no messages"),
        (vec![("assistant", words("hi"))], "first message"),
        (vec![user(), ("assistant", words("hi"))], "last message"),
        (vec![("user", words(" "))], "blank"),
        (vec![("user", json!({"image": {"format": "bmp", "source": {"bytes": "AA"}}}))], "image"),
        (vec![("user", json!({"image": {"format": "png", "source": {}}}))], "image"),
        (vec![("user", json!({"reasoningContent": {}}))], "type `reasoningContent`"),
        (vec![("user", json!({"text": "a", "image": {}}))], "exactly one type"),
        (
            vec![user(), ("assistant", json!({"reasoningContent": {"reasoningText": {"text": "x"}}}))],
            "signature",
        ),
        (vec![user(), ("assistant", call("a")), user()], "`a` has no result"),
        (vec![user(), ("assistant", call("a b"))], "is invalid"),
        (vec![user(), ("assistant", call("a")), ("assistant", call("a"))], "twice"),
        (vec![("user", result("a"))], "no tool call"),
        (
            vec![user(), ("assistant", call("a")), ("user", json!({"toolResult": {"toolUseId": "a"}}))],
            "empty",
        ),
        (vec![user(), ("assistant", named(&"x".repeat(65), json!({})))], "name"),
        (vec![user(), ("assistant", named("read", json!(3)))], "input"),
    ];
    for (blocks, why) in cases {
        let error = validate(&blocks).unwrap_err();
        assert!(error.contains("would reject this request") && error.contains(why), "{why}: {error}");
    }
}

#[test]
fn checks_the_request_head() {
    let validate = |fields: Value, model: &str, tools: &[ToolDefinition]| {
        head(fields.as_object().unwrap(), model, tools, None).map_err(|error| error.to_string())
    };
    let thinking = |budget: u32| {
        json!({"inferenceConfig": {"maxTokens": 2000},
            "additionalModelRequestFields": {"thinking": {"budget_tokens": budget}}})
    };
    assert_eq!(validate(thinking(1024), "m", &[tool("a")]), Ok(()));
    assert!(validate(thinking(1023), "m", &[]).unwrap_err().contains("budget"));
    assert!(validate(thinking(2000), "m", &[]).unwrap_err().contains("budget"));
    assert!(
        validate(json!({"inferenceConfig": {"maxTokens": 0}}), "m", &[]).unwrap_err().contains("maxTokens")
    );
    assert!(validate(json!({}), "", &[]).unwrap_err().contains("model"));
    assert!(validate(json!({}), "m", &[tool("a"), tool("a")]).unwrap_err().contains("twice"));
    let schema = OutputSchema { name: "x".into(), schema: json!("no") };
    assert!(head(&Map::new(), "m", &[], Some(&schema)).is_err());
}
