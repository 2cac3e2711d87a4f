use serde_json::{Value, json};

use super::{PIXEL, assert_rejected, passes, with, without};
use crate::server::Wire;

const WIRE: Wire = Wire::OpenAiChat;

fn valid_request() -> Value {
    json!({
        "model": "gpt-5.2",
        "max_completion_tokens": 4096,
        "reasoning_effort": "high",
        "stream": true,
        "stream_options": {"include_usage": true},
        "tools": [{"type": "function", "function": {"name": "read", "strict": true, "parameters": {
            "type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"],
            "additionalProperties": false}}}],
        "tool_choice": "auto",
        "parallel_tool_calls": true,
        "messages": [
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": [
                {"type": "text", "text": "Look"},
                {"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{PIXEL}")}},
            ]},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": "{\"path\":\"a\"}"}},
                {"id": "call_2", "type": "function", "function": {"name": "read", "arguments": "{}"}},
            ]},
            {"role": "tool", "tool_call_id": "call_2", "content": "b"},
            {"role": "tool", "tool_call_id": "call_1", "content": [{"type": "text", "text": "a"}]},
        ],
    })
}

#[test]
fn extensions_of_compatible_servers_pass_only_for_their_models() {
    for (field, value) in [("thinking", json!({"type": "enabled"})), ("reasoning", json!({"effort": "low"}))]
    {
        let asked = with(&valid_request(), &format!("/{field}"), value);
        assert_rejected(WIRE, "", &asked, &format!("Unrecognized request argument supplied: {field}"));
        passes(WIRE, "", &with(&asked, "/model", json!("deepseek-reasoner")));
    }
    let any = with(&valid_request(), "/tool_choice", json!("any"));
    assert_rejected(WIRE, "", &any, "Invalid value: \"any\"");
    passes(WIRE, "", &with(&any, "/model", json!("mistral-large-latest")));
}

#[test]
fn a_valid_request_passes() {
    passes(WIRE, "", &valid_request());
    let other = with(&valid_request(), "/model", json!("deepseek-reasoner"));
    passes(WIRE, "", &with(&other, "/messages/2/reasoning_content", json!("hm")));
    passes(
        WIRE,
        "",
        &json!({"model": "gpt-4o", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}),
    );
}

#[test]
fn every_rule_rejects_its_example() {
    let image = "/messages/1/content/1/image_url/url";
    let set: &[(&str, Value, &str)] = &[
        ("/thinking", json!({}), "Unrecognized request argument supplied: thinking"),
        ("/messages", json!([]), "Invalid 'messages': empty array"),
        ("/messages/0/role", json!("root"), "Invalid value: 'root'"),
        ("/messages/0/content", json!(null), "expected a string, got null"),
        ("/messages/1/content", json!(""), "not empty"),
        ("/messages/1/content", json!([]), "empty array"),
        ("/messages/1/content", json!([[]]), "messages[1].content[0].type"),
        (
            "/messages/1/content/0/text",
            json!(""),
            "Missing required parameter: 'messages[1].content[0].text'",
        ),
        (image, json!("data:image/png;base64,%%"), "neither an address nor an image"),
        (image, json!("data:image/tiff;base64,AAAA"), "neither an address nor an image"),
        ("/messages/4/content/0/type", json!("image_url"), "Supported values are: 'text'"),
        ("/messages/2/tool_calls", json!([]), "messages[2].tool_calls"),
        ("/messages/2/reasoning_content", json!("hm"), "Unknown parameter: 'messages[2].reasoning_content'"),
        ("/messages/2/tool_calls/0/id", json!("call_2"), "Duplicate tool call id 'call_2'"),
        ("/messages/2/tool_calls/0/id", json!(""), "Missing required parameter"),
        ("/messages/2/tool_calls/0/id", json!("x".repeat(41)), "maximum length 40"),
        ("/messages/2/tool_calls/0/type", json!("tool"), "tool_calls[0].type"),
        ("/messages/2/tool_calls/0/function/name", json!("a b"), "does not match pattern"),
        ("/messages/2/tool_calls/0/function/arguments", json!({}), "expected a string of JSON"),
        ("/messages/2/tool_calls/0/function/arguments", json!("{\"pa"), "expected a string of JSON"),
        ("/messages/4/tool_call_id", json!("call_9"), "must be a response to a preceeding message"),
        ("/messages/4/tool_call_id", json!("call_2"), "Duplicate value for 'tool_call_id'"),
        ("/max_tokens", json!(5), "Use 'max_completion_tokens' instead"),
        ("/temperature", json!(0.2), "does not support 0.2 with this model"),
        ("/stop", json!(["x"]), "'stop' is not supported with this model"),
        ("/reasoning_effort", json!("huge"), "Supported values are: 'none'"),
        ("/model", json!("gpt-4o"), "Unrecognized request argument supplied: reasoning_effort"),
        ("/stream", json!(false), "only allowed when 'stream' is enabled"),
        ("/tools", json!([]), "Invalid 'tools': empty array"),
        ("/tools/0/function/name", json!("a.b"), "does not match pattern"),
        (
            "/tools/0/function/parameters",
            json!({"type": "array"}),
            "schema must be a JSON Schema of 'type: \"object\"'",
        ),
        ("/tools/0/function/parameters/required", json!([]), "Missing 'path'"),
        (
            "/tools/0/function/parameters/additionalProperties",
            json!(true),
            "'additionalProperties' is required",
        ),
        ("/tool_choice", json!({"type": "function", "function": {"name": "gone"}}), "not found in 'tools'"),
        ("/tool_choice", json!("any"), "Supported values are: 'none', 'auto', and 'required'"),
        (
            "/response_format",
            json!({"type": "json_schema", "json_schema": {"name": "a"}}),
            "json_schema.schema",
        ),
        ("/response_format", json!({"type": "schema"}), "response_format.type"),
    ];
    for (pointer, value, expected) in set {
        assert_rejected(WIRE, "", &with(&valid_request(), pointer, value.clone()), expected);
    }
    for (pointer, expected) in [
        ("/model", "you must provide a model parameter"),
        ("/messages/3", "did not have response messages: call_2"),
        ("/messages/2", "must be a response to a preceeding message"),
        ("/tools/0/function", "tools[0].function"),
        ("/tools", "'tool_choice' is only allowed when 'tools' are specified"),
        ("/messages/2/tool_calls", "expected a string, got null"),
    ] {
        assert_rejected(WIRE, "", &without(&valid_request(), pointer), expected);
    }
}

#[test]
fn a_message_between_a_call_and_its_results_is_rejected() {
    let mut split = valid_request();
    split["messages"].as_array_mut().unwrap().insert(4, json!({"role": "user", "content": "hurry"}));
    assert_rejected(WIRE, "", &split, "did not have response messages: call_1");
}
