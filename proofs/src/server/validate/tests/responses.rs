use serde_json::{Value, json};

use super::{PIXEL, assert_rejected, passes, with, without};
use crate::server::{Wire, signature};

const WIRE: Wire = Wire::OpenAiResponses;

fn valid_request() -> Value {
    json!({
        "model": "gpt-5.2",
        "instructions": "Be brief.",
        "max_output_tokens": 4096,
        "store": false,
        "stream": true,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "high", "summary": "auto"},
        "tools": [{"type": "function", "name": "read", "strict": false, "parameters": {"type": "object"}}],
        "tool_choice": "auto",
        "input": [
            {"role": "user", "content": [
                {"type": "input_text", "text": "Look"},
                {"type": "input_image", "detail": "auto", "image_url": format!("data:image/png;base64,{PIXEL}")},
            ]},
            {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}],
                "encrypted_content": signature("hm")},
            {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read", "arguments": "{}"},
            {"type": "function_call", "call_id": "call_2", "name": "read", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "call_1", "output": "a"},
            {"type": "function_call_output", "call_id": "call_2", "output": [
                {"type": "input_image", "detail": "auto", "image_url": format!("data:image/png;base64,{PIXEL}")}]},
            {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed",
                "content": [{"type": "output_text", "text": "done", "annotations": []}]},
            {"role": "user", "content": "more"},
        ],
    })
}

#[test]
fn a_valid_request_passes() {
    passes(WIRE, "", &valid_request());
    passes(Wire::AzureResponses, "", &valid_request());
    passes(WIRE, "", &json!({"model": "gpt-4o", "input": "hi", "temperature": 0.2}));
}

#[test]
fn every_rule_rejects_its_example() {
    let set: &[(&str, Value, &str)] = &[
        ("/messages", json!([]), "Unknown parameter: 'messages'"),
        ("/input", json!([]), "Missing required parameter: 'input'"),
        ("/input/0/role", json!("tool"), "Invalid value: 'tool'"),
        ("/input/0/type", json!("chat"), "input[0].type"),
        ("/input/0/content", json!([]), "Missing required parameter: 'input[0].content'"),
        ("/input/0/content/0/type", json!("output_text"), "Supported values are: 'input_text'"),
        ("/input/0/content/0/text", json!(""), "input[0].content[0].text"),
        ("/input/0/content/1/image_url", json!("file:///x.png"), "neither an address nor an image"),
        ("/input/6/content/0/type", json!("input_text"), "Supported values are: 'output_text', 'refusal'"),
        ("/input/6/id", json!("rs_6"), "Expected an ID that begins with 'msg'"),
        ("/input/2/id", json!("call_1"), "Expected an ID that begins with 'fc'"),
        ("/input/3/id", json!("fc_1"), "Duplicate item found with id fc_1"),
        ("/input/2/call_id", json!(""), "Missing required parameter: 'input[2].call_id'"),
        ("/input/2/call_id", json!("x".repeat(65)), "maximum length 64"),
        ("/input/3/call_id", json!("call_1"), "Duplicate call_id 'call_1'"),
        ("/input/2/name", json!("a b"), "does not match pattern"),
        ("/input/2/arguments", json!("{\"a"), "expected a string of JSON"),
        ("/input/2/function", json!({}), "Unknown parameter: 'input[2].function'"),
        (
            "/input/4/call_id",
            json!("call_9"),
            "No tool call found for function call output with call_id call_9",
        ),
        ("/input/5/call_id", json!("call_1"), "Duplicate output"),
        ("/input/5/output/0/type", json!("image_url"), "Supported values are: 'input_text'"),
        ("/input/1/id", json!("msg_0"), "Expected an ID that begins with 'rs'"),
        ("/input/1/summary/0/text", json!("hmm"), "could not be verified"),
        ("/input/7", json!({"type": "item_reference", "id": "x"}), "Items are not persisted"),
        ("/previous_response_id", json!("resp_1"), "Previous response with id 'resp_1' not found"),
        ("/temperature", json!(0.3), "'temperature' is not supported with this model"),
        ("/model", json!("gpt-4o"), "'reasoning.effort' is not supported with this model"),
        ("/reasoning/effort", json!("huge"), "reasoning.effort"),
        ("/reasoning/summary", json!("long"), "reasoning.summary"),
        ("/max_output_tokens", json!(15), "Expected a value >= 16"),
        ("/include", json!(["everything"]), "include[0]"),
        ("/prompt_cache_key", json!("k".repeat(65)), "prompt_cache_key"),
        ("/tools/0/function", json!({}), "Unknown parameter: 'tools[0].function'"),
        ("/tools/0/strict", json!(true), "'additionalProperties' is required"),
        ("/tool_choice", json!({"type": "function", "name": "gone"}), "not found in 'tools'"),
        ("/text", json!({"format": {"type": "json_schema", "schema": {}}}), "text.format.name"),
    ];
    for (pointer, value, expected) in set {
        assert_rejected(WIRE, "", &with(&valid_request(), pointer, value.clone()), expected);
    }
    for (pointer, expected) in [
        ("/model", "Missing required parameter: 'model'"),
        ("/input", "Missing required parameter: 'input'"),
        ("/input/2", "No tool call found for function call output with call_id call_1"),
        ("/input/4", "No tool output found for function call call_1"),
        ("/input/1/encrypted_content", "Items are not persisted when `store` is set to false"),
        ("/input/1/summary", "input[1].summary"),
        ("/tools/0/name", "Missing required parameter: 'tools[0].name'"),
    ] {
        assert_rejected(WIRE, "", &without(&valid_request(), pointer), expected);
    }
}

#[test]
fn reasoning_without_its_item_is_rejected() {
    let mut orphan = valid_request();
    orphan["input"].as_array_mut().unwrap().drain(2..4);
    assert_rejected(WIRE, "", &orphan, "without its required following item");
    let mut orphan = valid_request();
    orphan["input"].as_array_mut().unwrap().drain(2..7);
    assert_rejected(WIRE, "", &orphan, "without its required following item");
    orphan["input"].as_array_mut().unwrap().truncate(2);
    assert_rejected(WIRE, "", &orphan, "without its required following item");
}
