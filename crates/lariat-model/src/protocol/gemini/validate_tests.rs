//! The guard refuses what the service would.

use serde_json::json;

use super::*;

fn refusal(era: Era, parts: &[(&'static str, Value)]) -> Option<String> {
    let mut guard = Guard::new(era);
    let fed = parts.iter().try_for_each(|(role, part)| guard.part(role, part));
    fed.and_then(|()| guard.end()).err().map(|error| error.to_string())
}

fn call(name: &str, id: &str) -> Value {
    json!({"functionCall": {"name": name, "id": id, "args": {}}, "thoughtSignature": "s"})
}

fn response(name: &str, id: &str) -> Value {
    json!({"functionResponse": {"name": name, "id": id, "response": {"output": "x"}}})
}

#[test]
fn a_proper_conversation_passes() {
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
fn what_the_service_rejects_is_refused() {
    let hi = (USER, json!({"text": "hi"}));
    let rows: Vec<(&str, Vec<(&'static str, Value)>)> = vec![
        ("empty", vec![]),
        ("starts with the model", vec![(MODEL, json!({"text": "hi"}))]),
        ("ends with the model", vec![hi.clone(), (MODEL, json!({"text": "x"}))]),
        ("a text is empty", vec![(USER, json!({"text": ""}))]),
        ("0 kinds", vec![(USER, json!({"thought": true}))]),
        ("2 kinds", vec![(USER, json!({"text": "a", "functionCall": {}}))]),
        ("not an object", vec![(USER, json!("hi"))]),
        ("has no response", vec![hi.clone(), (MODEL, call("a", "1"))]),
        ("no call of `b`", vec![hi.clone(), (MODEL, call("a", "1")), (USER, response("b", "1"))]),
        ("no call of `a`", vec![hi.clone(), (MODEL, call("a", "1")), (USER, response("a", "2"))]),
        ("something else", vec![hi.clone(), (MODEL, call("a", "1")), hi.clone()]),
        ("same id", vec![hi.clone(), (MODEL, call("a", "1")), (MODEL, call("b", "1"))]),
        ("not a valid function", vec![hi.clone(), (MODEL, call("a b", "1"))]),
        ("not the model's", vec![(USER, call("a", "1"))]),
        ("is the model's", vec![hi.clone(), (MODEL, call("a", "1")), (MODEL, response("a", "1"))]),
        ("no signature", vec![hi.clone(), (MODEL, json!({"functionCall": {"name": "a", "args": {}}}))]),
        (
            "not an object",
            vec![
                hi.clone(),
                (MODEL, json!({"functionCall": {"name": "a", "args": 1}, "thoughtSignature": "s"})),
            ],
        ),
        ("not a type", vec![(USER, json!({"inlineData": {"mimeType": "image/gif", "data": "AA=="}}))]),
        ("an image is empty", vec![(USER, json!({"inlineData": {"mimeType": "image/png", "data": ""}}))]),
    ];
    for (why, parts) in rows {
        let refused = refusal(Era::Modern, &parts).unwrap_or_default();
        assert!(refused.contains(why) && refused.contains("would be rejected"), "{why}: {refused}");
    }
}

#[test]
fn the_model_cannot_speak_before_its_calls_are_answered() {
    let mut guard = Guard::new(Era::Early);
    guard.part(USER, &json!({"text": "hi"})).unwrap();
    guard.part(MODEL, &json!({"functionCall": {"name": "a", "args": {}}})).unwrap();
    guard.part(MODEL, &json!({"functionCall": {"name": "a", "args": {}}})).unwrap();
    guard.part(USER, &json!({"functionResponse": {"name": "a", "response": {}}})).unwrap();
    assert!(guard.part(MODEL, &json!({"text": "x"})).is_err());
}
