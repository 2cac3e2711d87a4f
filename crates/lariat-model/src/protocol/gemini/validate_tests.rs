//! Tests that validation rejects what the provider would reject.

use serde_json::json;

use super::*;

fn refusal(era: Era, parts: &[(&'static str, Value)]) -> Option<String> {
    let mut validator = RequestValidator::new(era);
    let fed = parts.iter().try_for_each(|(role, part)| validator.part(role, part));
    fed.and_then(|()| validator.end()).err().map(|error| error.to_string())
}

fn call(name: &str, id: &str) -> Value {
    json!({"functionCall": {"name": name, "id": id, "args": {}}, "thoughtSignature": "s"})
}

fn response(name: &str, id: &str) -> Value {
    json!({"functionResponse": {"name": name, "id": id, "response": {"output": "x"}}})
}

#[test]
fn accepts_valid_conversation() {
    let parts = [
        (USER, json!({"text": "hi"})),
        (MODEL, json!({"text": "", "thoughtSignature": "s"})),
        (MODEL, call("a", "1")),
        (MODEL, json!({"functionCall": {"name": "b", "id": "2", "args": {}}})),
        (USER, response("a", "1")),
        (USER, response("b", "2")),
        (USER, json!({"inlineData": {"mimeType": "image/png", "data": "AA=="}})),
    ];
    assert_eq!(refusal(Era::Modern, &parts), None);
}

#[test]
fn rejects_what_the_provider_rejects() {
    let hi = (USER, json!({"text": "hi"}));
    let rows: Vec<(&str, Vec<(&'static str, Value)>)> = vec![
        ("no messages", vec![]),
        ("starts with a reply", vec![(MODEL, json!({"text": "hi"}))]),
        ("ends in a reply", vec![hi.clone(), (MODEL, json!({"text": "x"}))]),
        ("a text part is empty", vec![(USER, json!({"text": ""}))]),
        ("0 types", vec![(USER, json!({"thought": true}))]),
        ("2 types", vec![(USER, json!({"text": "a", "functionCall": {}}))]),
        ("not a JSON object", vec![(USER, json!("hi"))]),
        ("has no response", vec![hi.clone(), (MODEL, call("a", "1"))]),
        ("`b` has no tool call", vec![hi.clone(), (MODEL, call("a", "1")), (USER, response("b", "1"))]),
        ("`a` has no tool call", vec![hi.clone(), (MODEL, call("a", "1")), (USER, response("a", "2"))]),
        ("other content precedes", vec![hi.clone(), (MODEL, call("a", "1")), hi.clone()]),
        ("same id", vec![hi.clone(), (MODEL, call("a", "1")), (MODEL, call("b", "1"))]),
        ("invalid function name", vec![hi.clone(), (MODEL, call("a b", "1"))]),
        ("user message contains a tool call", vec![(USER, call("a", "1"))]),
        ("reply contains a response", vec![hi.clone(), (MODEL, call("a", "1")), (MODEL, response("a", "1"))]),
        ("no signature", vec![hi.clone(), (MODEL, json!({"functionCall": {"name": "a", "args": {}}}))]),
        (
            "not a JSON object",
            vec![
                hi.clone(),
                (MODEL, json!({"functionCall": {"name": "a", "args": 1}, "thoughtSignature": "s"})),
            ],
        ),
        (
            "unsupported image type",
            vec![(USER, json!({"inlineData": {"mimeType": "image/gif", "data": "AA=="}}))],
        ),
        ("an image is empty", vec![(USER, json!({"inlineData": {"mimeType": "image/png", "data": ""}}))]),
    ];
    for (why, parts) in rows {
        let rejection = refusal(Era::Modern, &parts).unwrap_or_default();
        assert!(
            rejection.contains(why) && rejection.contains("would reject this request"),
            "{why}: {rejection}"
        );
    }
}

#[test]
fn rejects_reply_before_all_responses_to_tool_calls() {
    let mut validator = RequestValidator::new(Era::Early);
    validator.part(USER, &json!({"text": "hi"})).unwrap();
    validator.part(MODEL, &json!({"functionCall": {"name": "a", "args": {}}})).unwrap();
    validator.part(MODEL, &json!({"functionCall": {"name": "a", "args": {}}})).unwrap();
    validator.part(USER, &json!({"functionResponse": {"name": "a", "response": {}}})).unwrap();
    assert!(validator.part(MODEL, &json!({"text": "x"})).is_err());
}
