use serde_json::json;

use super::*;

fn call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

fn calls(calls: &[Value]) -> Value {
    json!({"role": "assistant", "content": null, "tool_calls": calls})
}

fn answer(id: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": "ok"})
}

fn check(items: &[Value]) -> Result<(), String> {
    let mut validator = RequestValidator::new(IdRule::FORTY);
    let fed = items.iter().try_for_each(|item| validator.item(item));
    fed.and_then(|()| validator.end()).map_err(|error| error.to_string())
}

#[test]
fn accepts_conversation_with_results_for_all_tool_calls() {
    let user = json!({"role": "user", "content": "x"});
    let items = [
        json!({"role": "system", "content": "s"}),
        user.clone(),
        calls(&[call("a", "t", "{}"), call("b", "t", "{}")]),
        answer("b"),
        answer("a"),
        json!({"role": "assistant", "content": "done"}),
        user,
    ];
    assert_eq!(check(&items), Ok(()));
}

#[test]
fn rejects_everything_that_the_provider_rejects() {
    let user = json!({"role": "user", "content": "x"});
    let one = calls(&[call("a", "t", "{}")]);
    for (items, why) in [
        (vec![], "no messages"),
        (vec![json!({"role": "user", "content": ""})], "empty"),
        (vec![json!({"role": "user", "content": []})], "empty"),
        (vec![json!({"role": "user", "content": [[]]})], "empty part"),
        (vec![json!({"role": "user", "content": [{"type": "text", "text": ""}]})], "empty part"),
        (
            vec![
                json!({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:;base64,"}}]}),
            ],
            "empty part",
        ),
        (vec![json!({"role": "assistant", "content": "hi"})], "starts with a reply"),
        (vec![user.clone(), json!({"role": "assistant", "content": null})], "empty"),
        (vec![user.clone(), json!({"role": "assistant", "content": "hi"})], "ends in a reply"),
        (
            vec![user.clone(), json!({"role": "assistant", "content": "hi", "tool_calls": []})],
            "list of tool calls",
        ),
        (vec![user.clone(), one.clone()], "`a` has no result"),
        (vec![user.clone(), one.clone(), user.clone()], "`a` has no result"),
        (vec![user.clone(), one.clone(), answer("b")], "`b` has no tool call"),
        (vec![user.clone(), one, answer("a"), answer("a")], "`a` has no tool call"),
        (vec![user.clone(), calls(&[call("a", "t", "{}"), call("a", "t", "{}")])], "used twice"),
        (vec![user.clone(), calls(&[call("", "t", "{}")])], "invalid tool call id"),
        (vec![user.clone(), calls(&[call("a", "t t", "{}")])], "invalid tool name"),
        (vec![user.clone(), calls(&[call("a", "t", "[1]")])], "not a JSON object"),
        (vec![user.clone(), json!({"role": "system", "content": "s"})], "not the first"),
        (vec![json!({"role": "robot", "content": "s"})], "unknown role"),
    ] {
        let error = check(&items).expect_err(why);
        assert!(error.contains(why) && error.contains("would reject this request"), "{error}");
    }
}
