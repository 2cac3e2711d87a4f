use serde_json::{Value, json};

use super::{PIXEL, assert_rejected, passes, with, without};
use crate::server::{Wire, signature};

const WIRE: Wire = Wire::BedrockConverse;
const MODEL: &str = "anthropic.claude-opus-4-5-20251101-v1:0";

fn valid_request() -> Value {
    json!({
        "system": [{"text": "Be brief."}, {"cachePoint": {"type": "default"}}],
        "inferenceConfig": {"maxTokens": 4096},
        "additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 1024}},
        "toolConfig": {"tools": [
            {"toolSpec": {"name": "read", "description": "Reads", "inputSchema": {"json": {"type": "object"}}}},
            {"cachePoint": {"type": "default"}},
        ], "toolChoice": {"auto": {}}},
        "messages": [
            {"role": "user", "content": [
                {"text": "Look"}, {"image": {"format": "png", "source": {"bytes": PIXEL}}}]},
            {"role": "assistant", "content": [
                {"reasoningContent": {"reasoningText": {"text": "hm", "signature": signature("hm")}}},
                {"reasoningContent": {"redactedContent": "b3BhcXVl"}},
                {"toolUse": {"toolUseId": "tooluse_1", "name": "read", "input": {}}},
                {"toolUse": {"toolUseId": "tooluse_2", "name": "read", "input": {}}},
            ]},
            {"role": "user", "content": [
                {"toolResult": {"toolUseId": "tooluse_2", "content": [{"text": "b"}], "status": "error"}},
                {"toolResult": {"toolUseId": "tooluse_1", "content": [
                    {"json": {"a": 1}}, {"image": {"format": "png", "source": {"bytes": PIXEL}}}]}},
                {"cachePoint": {"type": "default"}},
            ]},
        ],
    })
}

#[test]
fn a_valid_request_passes() {
    passes(WIRE, MODEL, &valid_request());
    passes(WIRE, MODEL, &json!({"messages": [{"role": "user", "content": [{"text": "hi"}]}]}));
}

#[test]
fn every_rule_rejects_its_example() {
    let set: &[(&str, Value, &str)] = &[
        ("/modelId", json!("x"), "extraneous key [modelId]"),
        ("/inferenceConfig/max_tokens", json!(5), "extraneous key [max_tokens]"),
        ("/inferenceConfig/maxTokens", json!(0), "greater than or equal to 1"),
        ("/inferenceConfig/temperature", json!(2), "less than or equal to 1"),
        ("/inferenceConfig/temperature", json!(0.5), "`temperature` may only be set to 1"),
        ("/inferenceConfig/maxTokens", json!(1024), "`max_tokens` must be greater than"),
        ("/additionalModelRequestFields/thinking/budget_tokens", json!(10), "greater than or equal to 1024"),
        ("/system/0/text", json!(""), "system.0.text"),
        ("/messages/0/role", json!("assistant"), "must start with a user message"),
        ("/messages/0/content", json!([]), "The content field in the Message object at messages.0 is empty"),
        (
            "/messages/0/content/0/text",
            json!(" "),
            "The text field in the ContentBlock object at messages.0.content.0 is blank",
        ),
        ("/messages/0/content/0/image", json!({}), "exactly one of its members"),
        ("/messages/0/content/1/image/format", json!("image/png"), "[png, jpeg, gif, webp]"),
        ("/messages/0/content/1/image/source/bytes", json!("%"), "Could not process image"),
        (
            "/messages/0/content/0",
            json!({"cachePoint": {"type": "default"}}),
            "cannot be the first content block",
        ),
        ("/messages/2/content/2/cachePoint/type", json!("ephemeral"), "[default]"),
        ("/messages/1/content/2/toolUse/toolUseId", json!("a|b"), "[a-zA-Z0-9_-]+"),
        ("/messages/1/content/2/toolUse/toolUseId", json!("tooluse_2"), "contain duplicate Ids: tooluse_2"),
        ("/messages/1/content/2/toolUse/input", json!("{}"), "Provide a json object"),
        ("/messages/1/content/2/toolUse/name", json!("a b"), "toolUse.name"),
        (
            "/messages/1/content/0/reasoningContent/reasoningText/signature",
            json!(""),
            "signature: Field required",
        ),
        ("/messages/1/content/0/reasoningContent/reasoningText/text", json!("hmm"), "Invalid `signature`"),
        ("/messages/1/content/1/reasoningContent/redactedContent", json!("%"), "must be base64"),
        ("/messages/2/content/0/toolResult/toolUseId", json!("tooluse_9"), "that no toolUse block"),
        (
            "/messages/2/content/0/toolResult/toolUseId",
            json!("tooluse_1"),
            "contain duplicate Ids: tooluse_1",
        ),
        ("/messages/2/content/0/toolResult/status", json!("failed"), "[success, error]"),
        ("/messages/2/content/0/toolResult/content", json!([]), "must not be empty"),
        ("/messages/2/content/1/toolResult/content/0/json", json!([1]), "json must be an object"),
        ("/toolConfig/tools", json!([]), "toolConfig.tools"),
        ("/toolConfig/tools/0/toolSpec/name", json!("a b"), "toolSpec.name"),
        ("/toolConfig/tools/0/toolSpec/description", json!(""), "toolSpec.description"),
        (
            "/toolConfig/tools/0/toolSpec/inputSchema",
            json!({"json": {}}),
            "inputSchema.json.type must be one of",
        ),
        ("/toolConfig/toolChoice", json!({"any": {}}), "Thinking may not be enabled"),
        ("/toolConfig/toolChoice", json!({"tool": {"name": "gone"}}), "no tool is named gone"),
    ];
    for (pointer, value, expected) in set {
        assert_rejected(WIRE, MODEL, &with(&valid_request(), pointer, value.clone()), expected);
    }
    for (pointer, expected) in [
        ("/toolConfig", "The toolConfig field must be defined"),
        (
            "/messages/2/content/0",
            "Expected toolResult blocks at messages.2.content for the following Ids: tooluse_2",
        ),
        ("/messages/2", "requires the last turn in the conversation to be a user message"),
        ("/messages/1", "must alternate between user and assistant roles"),
    ] {
        assert_rejected(WIRE, MODEL, &without(&valid_request(), pointer), expected);
    }
}

#[test]
fn a_fifth_cache_point_is_rejected() {
    let point = json!({"cachePoint": {"type": "default"}});
    let four = with(&valid_request(), "/system/-", point.clone());
    passes(WIRE, MODEL, &four);
    assert_rejected(WIRE, MODEL, &with(&four, "/system/-", point), "A maximum of 4 cachePoint blocks");
}
