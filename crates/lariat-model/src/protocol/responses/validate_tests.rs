use serde_json::json;

use super::*;

fn check(items: &[Value]) -> Result<(), String> {
    let mut validator = RequestValidator::default();
    let feed = |item: &Value| match item.get("input") {
        Some(part) => validator.user_part(part),
        None => validator.item(item),
    };
    let fed = items.iter().try_for_each(feed);
    fed.and_then(|()| validator.end()).map_err(|error| error.to_string())
}

fn user() -> Value {
    json!({"input": {"type": "input_text", "text": "x"}})
}

fn call(id: &str) -> Value {
    json!({"type": "function_call", "call_id": id, "name": "t", "arguments": "{}"})
}

fn output(id: &str) -> Value {
    json!({"type": "function_call_output", "call_id": id, "output": "ok"})
}

fn reasoning() -> Value {
    json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"})
}

fn message(text: &str) -> Value {
    json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]})
}

#[test]
fn accepts_conversation_with_reasoning_tool_calls_and_outputs() {
    let items = [
        user(),
        reasoning(),
        message("so"),
        call("a"),
        call("b"),
        output("b"),
        output("a"),
        message("done"),
        user(),
    ];
    assert_eq!(check(&items), Ok(()));
}

#[test]
fn rejects_everything_that_the_provider_rejects() {
    for (items, why) in [
        (vec![], "no messages"),
        (vec![json!({"input": {"type": "input_text", "text": ""}})], "empty part"),
        (vec![json!({"input": {"type": "input_image", "image_url": "data:;base64,"}})], "empty part"),
        (vec![json!({"input": {"type": "output_text", "text": "x"}})], "empty part"),
        (vec![message("x")], "starts with a reply"),
        (vec![user(), message("")], "empty"),
        (vec![user(), message("x")], "ends in a reply"),
        (vec![user(), call("a")], "`a` has no output"),
        (vec![user(), call("a"), user()], "`a` has no output"),
        (vec![user(), call("a"), message("x")], "`a` has no output"),
        (vec![user(), output("a")], "has no tool call"),
        (vec![user(), call("a"), output("a"), output("a")], "has no tool call"),
        (vec![user(), call("a"), output("a"), call("a")], "used twice"),
        (vec![user(), call("a b")], "invalid tool call id"),
        (
            vec![user(), json!({"type": "function_call", "call_id": "a", "name": "t t", "arguments": "{}"})],
            "tool name",
        ),
        (
            vec![user(), json!({"type": "function_call", "call_id": "a", "name": "t", "arguments": "{"})],
            "not a JSON object",
        ),
        (
            vec![user(), call("a"), json!({"type": "function_call_output", "call_id": "a", "output": []})],
            "output is empty",
        ),
        (vec![user(), reasoning(), user()], "not followed"),
        (vec![user(), json!({"type": "reasoning", "summary": []}), message("x"), user()], "no id"),
        (vec![user(), json!({"role": "user"})], "no type"),
    ] {
        let error = check(&items).expect_err(why);
        assert!(error.contains(why) && error.contains("would reject this request"), "{error}");
    }
}
