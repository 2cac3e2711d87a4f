use serde_json::{Value, json};

use super::{PIXEL, assert_rejected, passes, with, without};
use crate::server::{Wire, signature};

const WIRE: Wire = Wire::AnthropicMessages;

fn valid_request() -> Value {
    json!({
        "model": "claude-sonnet-4-5",
        "max_tokens": 4096,
        "stream": true,
        "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral", "ttl": "1h"}}],
        "thinking": {"type": "enabled", "budget_tokens": 1024},
        "tools": [
            {"name": "read", "description": "Reads", "input_schema": {"type": "object", "properties": {}}},
            {"name": "list", "input_schema": {"type": "object"}},
        ],
        "tool_choice": {"type": "auto"},
        "messages": [
            {"role": "user", "content": [
                {"type": "text", "text": "Look"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}},
            ]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": signature("hm")},
                {"type": "redacted_thinking", "data": "b3BhcXVl"},
                {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a"}},
                {"type": "tool_use", "id": "toolu_2", "name": "list", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_2", "content": "ok"},
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": [
                    {"type": "text", "text": "see"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}},
                ], "cache_control": {"type": "ephemeral"}},
                {"type": "text", "text": "and hurry"},
            ]},
        ],
    })
}

#[test]
fn a_valid_request_passes() {
    passes(WIRE, "", &valid_request());
    let adaptive = with(&valid_request(), "/thinking", json!({"type": "adaptive"}));
    let adaptive = with(&adaptive, "/output_config", json!({"effort": "high"}));
    passes(WIRE, "", &with(&adaptive, "/model", json!("claude-opus-4-7")));
    passes(
        WIRE,
        "",
        &json!({"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "hi"}]}),
    );
}

#[test]
fn results_may_come_in_neighbouring_user_messages() {
    let mut split = valid_request();
    let rest = split["messages"][2]["content"].as_array_mut().unwrap().split_off(1);
    split["messages"].as_array_mut().unwrap().push(json!({"role": "user", "content": rest}));
    passes(WIRE, "", &split);
}

#[test]
fn every_rule_rejects_its_example() {
    let set: &[(&str, Value, &str)] = &[
        ("/frequency_penalty", json!(1), "frequency_penalty: Extra inputs are not permitted"),
        ("/messages", json!([]), "at least one message is required"),
        ("/messages/0/role", json!("assistant"), "first message must use the \"user\" role"),
        ("/messages/0/role", json!("tool"), "messages.0.role: Input should be"),
        ("/messages/0/content", json!(" "), "non-empty content"),
        ("/messages/0/content", json!([]), "non-empty content"),
        ("/messages/0/content/0/text", json!(""), "text content blocks must be non-empty"),
        ("/messages/0/content/0/text", json!(" \n"), "must contain non-whitespace text"),
        ("/messages/0/content/0/extra", json!(1), "messages.0.content.0.text.extra: Extra inputs"),
        ("/messages/0/content/0/type", json!("input_text"), "does not match any of the expected tags"),
        ("/messages/0/content/1/source/data", json!("!!"), "Invalid base64 data"),
        ("/messages/0/content/1/source/media_type", json!("image/bmp"), "Input should be 'image/jpeg'"),
        ("/messages/1/content/0/signature", json!(""), "thinking.signature: Field required"),
        ("/messages/1/content/0/thinking", json!("hmm"), "Invalid `signature` in `thinking` block"),
        ("/messages/1/content/2/id", json!("call|1"), "String should match pattern"),
        ("/messages/1/content/2/id", json!("x".repeat(65)), "String should match pattern"),
        ("/messages/1/content/2/id", json!("toolu_2"), "`tool_use` ids must be unique"),
        ("/messages/1/content/2/input", json!("{}"), "Input should be a valid dictionary"),
        (
            "/messages/1/content/2/id",
            json!("toolu_9"),
            "without `tool_result` blocks immediately after: toolu_9",
        ),
        ("/messages/2/content/0/tool_use_id", json!("toolu_7"), "unexpected `tool_use_id`"),
        ("/messages/2/content/0/tool_use_id", json!("toolu_1"), "each tool_use must have a single result"),
        ("/messages/2/content/1/is_error", json!(true), "all content must be type \"text\""),
        ("/thinking/budget_tokens", json!(1023), "greater than or equal to 1024"),
        ("/thinking/budget_tokens", json!(4096), "`max_tokens` must be greater than"),
        ("/model", json!("claude-opus-4-7"), "\"thinking.type.enabled\" is not supported"),
        ("/model", json!("claude-sonnet-5"), "\"thinking.type.enabled\" is not supported"),
        ("/thinking", json!({"type": "adaptive"}), "adaptive thinking is not supported"),
        ("/temperature", json!(0.5), "`temperature` may only be set to 1"),
        ("/top_k", json!(5), "`top_k` must be unset"),
        ("/tool_choice", json!({"type": "any"}), "Thinking may not be enabled when tool_choice forces"),
        ("/tool_choice", json!({"type": "tool", "name": "gone"}), "Tool 'gone' not found"),
        ("/output_config", json!({"effort": "high"}), "does not support the effort parameter"),
        ("/tools/0/name", json!("read file"), "tools.0.custom.name: String should match pattern"),
        ("/tools/1/name", json!("read"), "Tool names must be unique"),
        ("/tools/0/input_schema", json!({"type": "string"}), "input_schema.type: Input should be 'object'"),
        ("/tools/0/input_schema/anyOf", json!([]), "does not support oneOf, allOf, or anyOf"),
        ("/tools/0/parameters", json!({}), "tools.0.custom.parameters: Extra inputs"),
        ("/system/0/text", json!(""), "text content blocks must be non-empty"),
        ("/stop_sequences", json!([" "]), "must contain non-whitespace"),
        ("/messages/2/content/1/cache_control/ttl", json!("2h"), "Input should be '5m' or '1h'"),
        ("/system/0/cache_control/type", json!("persistent"), "Input should be 'ephemeral'"),
        ("/tools/0/cache_control", json!({"type": "ephemeral"}), "must not come after a ttl='5m'"),
    ];
    for (pointer, value, expected) in set {
        assert_rejected(WIRE, "", &with(&valid_request(), pointer, value.clone()), expected);
    }
    for (pointer, expected) in [
        ("/max_tokens", "max_tokens: Field required"),
        ("/model", "model: Field required"),
        ("/messages/2/content/0", "without `tool_result` blocks immediately after: toolu_2"),
        ("/messages/2", "without `tool_result` blocks immediately after: toolu_1, toolu_2"),
        ("/messages/1", "unexpected `tool_use_id`"),
        ("/tools/0/input_schema", "tools.0.custom.input_schema: Field required"),
        ("/tools", "tool_choice may only be specified while providing tools"),
    ] {
        assert_rejected(WIRE, "", &without(&valid_request(), pointer), expected);
    }
}

#[test]
fn text_before_the_results_is_rejected() {
    let mut swapped = valid_request();
    swapped["messages"][2]["content"].as_array_mut().unwrap().rotate_right(1);
    assert_rejected(WIRE, "", &swapped, "must come before other content");
}

#[test]
fn the_last_turn_with_tools_must_begin_with_thinking() {
    let mut bare = valid_request();
    bare["messages"][1]["content"].as_array_mut().unwrap().drain(..2);
    assert_rejected(WIRE, "", &bare, "Expected `thinking` or `redacted_thinking`, but found `tool_use`");
    passes(WIRE, "", &without(&bare, "/thinking"));
}

#[test]
fn thinking_may_not_end_a_message() {
    let mut cut = valid_request();
    cut["messages"].as_array_mut().unwrap().truncate(2);
    cut["messages"][1]["content"].as_array_mut().unwrap().truncate(1);
    cut["messages"].as_array_mut().unwrap().push(json!({"role": "user", "content": "go on"}));
    assert_rejected(WIRE, "", &cut, "The final block in an assistant message cannot be `thinking`");
}

#[test]
fn a_fifth_breakpoint_is_rejected() {
    let mut many = valid_request();
    for block in many["messages"][0]["content"].as_array_mut().unwrap() {
        block["cache_control"] = json!({"type": "ephemeral"});
    }
    passes(WIRE, "", &many);
    let many = with(&many, "/messages/2/content/0/cache_control", json!({"type": "ephemeral"}));
    assert_rejected(WIRE, "", &many, "A maximum of 4 blocks with cache_control may be provided. Found 5.");
}

#[test]
fn prefill_depends_on_the_model() {
    let request = |model: &str, text: &str| {
        json!({"model": model, "max_tokens": 10, "messages": [
            {"role": "user", "content": "hi"}, {"role": "assistant", "content": text}]})
    };
    passes(WIRE, "", &request("claude-sonnet-4-5", "The answer is"));
    assert_rejected(WIRE, "", &request("claude-sonnet-4-5", "The answer is "), "trailing whitespace");
    assert_rejected(
        WIRE,
        "",
        &request("claude-opus-4-7", "The answer is"),
        "does not support assistant message prefill",
    );
}

#[test]
fn new_models_reject_sampling_parameters() {
    let request = json!({"model": "claude-opus-4-7", "max_tokens": 10, "temperature": 1,
        "messages": [{"role": "user", "content": "hi"}]});
    assert_rejected(WIRE, "", &request, "`temperature` is deprecated for this model.");
}

#[test]
fn structured_output_must_close_its_objects() {
    let format = |schema: Value| {
        json!({"model": "claude-opus-4-7", "max_tokens": 10, "messages": [{"role": "user", "content": "hi"}],
            "output_config": {"format": {"type": "json_schema", "schema": schema}}})
    };
    let closed =
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false});
    passes(WIRE, "", &format(closed.clone()));
    let nested = json!({"type": "array", "items": without(&closed, "/additionalProperties")});
    assert_rejected(WIRE, "", &format(nested), "'additionalProperties' must be explicitly set to false");
}
