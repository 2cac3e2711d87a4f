use serde_json::{Value, json};

use super::{PIXEL, assert_rejected, passes, with, without};
use crate::server::Wire;

const WIRE: Wire = Wire::Gemini;
const MODEL: &str = "gemini-3-pro-preview";

fn valid_request() -> Value {
    json!({
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "generationConfig": {"maxOutputTokens": 4096, "thinkingConfig": {"includeThoughts": true, "thinkingLevel": "high"}},
        "tools": [{"functionDeclarations": [
            {"name": "read", "parametersJsonSchema": {"type": "object", "additionalProperties": false}},
            {"name": "list", "parameters": {"type": "OBJECT", "properties": {"path": {"type": "STRING"}}, "required": ["path"]}},
        ]}],
        "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
        "contents": [
            {"role": "user", "parts": [
                {"text": "Look"}, {"inlineData": {"mimeType": "image/png", "data": PIXEL}}]},
            {"role": "model", "parts": [
                {"text": "hm", "thought": true},
                {"functionCall": {"id": "a", "name": "read", "args": {}}, "thoughtSignature": "c2ln"},
                {"functionCall": {"id": "b", "name": "list", "args": {"path": "x"}}},
            ]},
            {"role": "user", "parts": [
                {"functionResponse": {"id": "a", "name": "read", "response": {"output": "1"},
                    "parts": [{"inlineData": {"mimeType": "image/png", "data": PIXEL}}]}},
                {"functionResponse": {"id": "b", "name": "list", "response": {"output": "2"}}},
            ]},
        ],
    })
}

#[test]
fn a_valid_request_passes() {
    passes(WIRE, MODEL, &valid_request());
    passes(
        WIRE,
        MODEL,
        &with(&valid_request(), "/generationConfig/thinkingConfig", json!({"include_thoughts": true})),
    );
    passes(Wire::Vertex, MODEL, &with(&valid_request(), "/labels", json!({"team": "x"})));
    passes(WIRE, "gemini-2.5-flash", &json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}));
}

#[test]
fn every_rule_rejects_its_example() {
    let set: &[(&str, Value, &str)] = &[
        ("/labels", json!({}), "Unknown name \"labels\""),
        ("/generationConfig/maxTokens", json!(5), "Unknown name \"maxTokens\" at 'generation_config'"),
        ("/generationConfig/maxOutputTokens", json!(0), "max_output_tokens must be positive"),
        ("/generationConfig/responseSchema", json!({}), "response_mime_type must be application/json"),
        (
            "/generationConfig/thinkingConfig/thinkingBudget",
            json!(512),
            "only one of thinking budget and thinking level",
        ),
        ("/generationConfig/thinkingConfig/thinkingLevel", json!("extreme"), "thinkingLevel: Invalid value"),
        ("/systemInstruction/parts", json!([{"text": ""}]), "systemInstruction"),
        ("/contents", json!([]), "contents is not specified"),
        ("/contents/0/role", json!("assistant"), "Please use a valid role: user, model."),
        ("/contents/0/role", json!("model"), "first content has the role user"),
        ("/contents/0/parts", json!([]), "contents.parts must not be empty"),
        ("/contents/0/parts/0/text", json!(""), "empty text parameter"),
        (
            "/contents/0/parts/0/inlineData",
            json!({"mimeType": "a/b", "data": "AAAA"}),
            "required oneof field 'data'",
        ),
        ("/contents/0/parts/0/kind", json!("text"), "Unknown name \"kind\""),
        ("/contents/0/parts/1/inlineData/data", json!("!"), "Base64 decoding failed"),
        ("/contents/1/parts/1/thoughtSignature", json!("not base64"), "Base64 decoding failed"),
        ("/contents/1/parts/1/functionCall/args", json!("{}"), "args must be a struct"),
        ("/contents/1/parts/1/functionCall/name", json!("9 lives"), "function_call.name"),
        ("/contents/1/parts/1/functionCall/arguments", json!({}), "Unknown name \"arguments\""),
        ("/contents/2/parts/1/functionResponse/name", json!("read"), "answers no function call"),
        ("/contents/2/parts/1/functionResponse/id", json!("z"), "answers no function call"),
        ("/contents/2/parts/1/functionResponse/response", json!("2"), "response must be a struct"),
        ("/contents/2/parts/0/functionResponse/parts/0", json!({"text": "x"}), "is a blob"),
        ("/tools/0/functionDeclarations/0/name", json!("9"), "Invalid function name"),
        ("/tools/0/functionDeclarations/1/name", json!("read"), "Duplicate function declaration found: read"),
        ("/tools/0/functionDeclarations/1/parameters/$schema", json!("x"), "Unknown name \"$schema\""),
        (
            "/tools/0/functionDeclarations/1/parameters/properties/path/const",
            json!(1),
            "Unknown name \"const\"",
        ),
        ("/tools/0/functionDeclarations/1/parameters/type", json!("STRING"), "should be of type OBJECT"),
        ("/tools/0/functionDeclarations/1/parameters/required", json!(["gone"]), "property is not defined"),
        (
            "/tools/0/functionDeclarations/1/parametersJsonSchema",
            json!({"type": "object"}),
            "Only one of parameters",
        ),
        ("/toolConfig/functionCallingConfig/mode", json!("required"), "Invalid value (required)"),
        (
            "/toolConfig/functionCallingConfig/allowedFunctionNames",
            json!(["read"]),
            "only when function calling mode is ANY",
        ),
    ];
    for (pointer, value, expected) in set {
        assert_rejected(WIRE, MODEL, &with(&valid_request(), pointer, value.clone()), expected);
    }
    for (pointer, expected) in [
        ("/contents/1/parts/1/thoughtSignature", "missing a thought_signature in functionCall parts"),
        ("/contents/2/parts/1", "number of function response parts is equal"),
        ("/contents/2", "followed by a function response turn"),
        ("/contents/1", "comes immediately after a function call turn"),
    ] {
        assert_rejected(WIRE, MODEL, &without(&valid_request(), pointer), expected);
    }
}

#[test]
fn adjacent_turns_of_one_role_are_rejected() {
    let more = with(&valid_request(), "/contents/-", json!({"role": "user", "parts": [{"text": "hurry"}]}));
    assert_rejected(WIRE, MODEL, &more, "alternate between user and model");
    let last = with(&valid_request(), "/contents/-", json!({"role": "model", "parts": [{"text": "so"}]}));
    assert_rejected(WIRE, MODEL, &last, "end with a user role");
}

#[test]
fn signatures_are_required_only_in_the_current_turn() {
    let bare = without(&valid_request(), "/contents/1/parts/1/thoughtSignature");
    let done = with(&bare, "/contents/-", json!({"role": "model", "parts": [{"text": "so"}]}));
    let next = with(&done, "/contents/-", json!({"role": "user", "parts": [{"text": "and now?"}]}));
    passes(WIRE, MODEL, &next);
}

#[test]
fn the_second_generation_thinks_by_budget() {
    let request = |model: &str, thinking: Value| {
        let body = json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}],
            "generationConfig": {"thinkingConfig": thinking}});
        (model.to_owned(), body)
    };
    let (model, body) = request("gemini-2.5-pro", json!({"thinkingBudget": -1}));
    passes(WIRE, &model, &body);
    let (model, body) = request("gemini-2.5-pro", json!({"thinkingBudget": 0}));
    assert_rejected(WIRE, &model, &body, "only works in thinking mode");
    let (model, body) = request("gemini-2.5-flash", json!({"thinkingLevel": "low"}));
    assert_rejected(WIRE, &model, &body, "Thinking level is not supported");
}
