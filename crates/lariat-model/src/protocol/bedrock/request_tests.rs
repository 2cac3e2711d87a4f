//! Tests what the model sees, feature by feature.

use lariat_core::message::{SharedMessage, StopReason};
use lariat_core::model::{OutputSchema, ThinkingLevel};

use super::*;
use crate::protocol::anthropic::fixtures::{
    call, failed, image, reply_of, request_to, result, says, thinking, tool, unknown, user,
};

const CLAUDE: &str = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";
const NOVA: &str = "amazon.nova-pro-v1:0";

fn model(id: &str) -> ModelConfig {
    let mut model = ModelConfig::new("bedrock-converse", id);
    model.provider = "bedrock".into();
    model
}

fn asked(id: &str, given: Vec<SharedMessage>) -> StreamConfig {
    request_to(model(id), given)
}

fn reply(content: Vec<Content>) -> SharedMessage {
    reply_of(("bedrock", CLAUDE), StopReason::Stop, content)
}

fn body(request: &StreamConfig) -> Value {
    serde_json::from_slice(&build(request).unwrap().body).unwrap()
}

fn plain(mut request: StreamConfig) -> StreamConfig {
    request.cache_config.enabled = false;
    request
}

fn messages(given: Vec<SharedMessage>) -> Value {
    body(&plain(asked(CLAUDE, given)))["messages"].take()
}

#[test]
fn plain_request_has_only_the_required_fields() {
    let mut request = plain(asked(CLAUDE, vec![says("hi")]));
    request.system_prompt = "Be brief.".into();
    request.temperature = Some(0.7);
    let outgoing = build(&request).unwrap();
    assert_eq!(
        outgoing.url,
        "https://bedrock-runtime.us-east-1.amazonaws.com/model/\
         us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream"
    );
    assert_eq!(
        body(&request),
        json!({
            "system": [{"text": "Be brief."}],
            "inferenceConfig": {"maxTokens": 8192, "temperature": 0.7},
            "messages": [{"role": "user", "content": [{"text": "hi"}]}],
        })
    );
    assert_eq!(body(&plain(asked("meta.llama3-70b", vec![says("hi")]))).get("inferenceConfig"), None);
}

#[test]
fn maps_reasoning_tool_calls_results_and_images() {
    let sent = messages(vec![
        user(vec![image("image/jpg"), "look".into()]),
        reply(vec![
            thinking("Hm.", Some("sig==")),
            Content::RedactedThinking { data: "b3BhcXVl".into() },
            "First.".into(),
            call("tooluse_1", "read"),
            call("tooluse_2", "read"),
        ]),
        result("tooluse_1", vec!["text".into(), image("image/png")]),
        failed("tooluse_2", "no such file"),
        says("go on"),
    ]);
    let picture = |format: &str| json!({"image": {"format": format, "source": {"bytes": "aGVsbG8="}}});
    let called = |id: &str| json!({"toolUse": {"toolUseId": id, "name": "read", "input": {"path": "a.txt"}}});
    assert_eq!(
        sent,
        json!([
            {"role": "user", "content": [picture("jpeg"), {"text": "look"}]},
            {"role": "assistant", "content": [
                {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "sig=="}}},
                {"reasoningContent": {"redactedContent": "b3BhcXVl"}},
                {"text": "First."},
                called("tooluse_1"),
                called("tooluse_2"),
            ]},
            {"role": "user", "content": [
                {"toolResult": {"toolUseId": "tooluse_1", "content": [{"text": "text"}, picture("png")]}},
                {"toolResult": {"toolUseId": "tooluse_2", "content": [{"text": "no such file"}], "status": "error"}},
                {"text": "go on"},
            ]},
        ])
    );
}

#[test]
fn sends_status_only_to_models_that_accept_it() {
    let given = vec![
        says("hi"),
        reply_of(("bedrock", "mistral.mistral-large"), StopReason::ToolUse, vec![call("a", "read")]),
        failed("a", "no"),
    ];
    assert!(!body(&asked("mistral.mistral-large", given)).to_string().contains("status"));
}

#[test]
fn sends_only_text_and_tool_calls_of_another_models_reply() {
    let foreign = vec![
        thinking("hm", Some("sig")),
        unknown(json!({"type": "server_tool_use", "id": "x"})),
        "Look.".into(),
        call("call|fc_1", "my.tool"),
    ];
    let given = vec![
        says("hi"),
        reply_of(("anthropic", CLAUDE), StopReason::ToolUse, foreign),
        result("call|fc_1", vec!["ok".into()]),
    ];
    let sent = messages(given);
    let content = sent[1]["content"].as_array().unwrap();
    assert_eq!(
        (content.len(), &content[0], &content[1]["toolUse"]["name"]),
        (2, &json!({"text": "Look."}), &json!("my_tool"))
    );
    assert_eq!(content[1]["toolUse"]["toolUseId"], sent[2]["content"][0]["toolResult"]["toolUseId"]);
}

#[test]
fn provider_blocks_go_back_and_other_unknown_blocks_do_not() {
    let grounding = json!({"toolUse": {"toolUseId": "s", "name": "nova_grounding", "type": "server_tool_use", "input": {}}});
    let content =
        vec![unknown(grounding.clone()), unknown(json!({"type": "odd"})), thinking("x", None), "Yes.".into()];
    let sent = messages(vec![says("hi"), reply(content), says("ok")]);
    assert_eq!(sent[1]["content"], json!([grounding, {"text": "Yes."}]));
}

#[test]
fn paused_reply_gets_a_continue_message() {
    let paused = reply_of(("bedrock", CLAUDE), StopReason::Pause, vec!["Half".into()]);
    assert_eq!(messages(vec![says("hi"), paused])[2]["content"], json!([{"text": CONTINUE}]));
}

#[test]
fn cache_points_are_separate_blocks() {
    let mut request = asked(
        CLAUDE,
        vec![
            says("one"),
            reply(vec![call("a", "read")]),
            result("a", vec!["x".into()]),
            reply(vec!["two".into()]),
            says("three"),
        ],
    );
    request.system_prompt = "Be brief.".into();
    request.tools = vec![tool("read")].into();
    let sent = body(&request);
    let point = json!({"cachePoint": {"type": "default"}});
    assert_eq!(sent["system"], json!([{"text": "Be brief."}, point]));
    assert_eq!(
        (sent["toolConfig"]["tools"].as_array().unwrap().len(), &sent["toolConfig"]["tools"][1]),
        (2, &point)
    );
    assert_eq!(sent["messages"][4]["content"], json!([{"text": "three"}, point]));
    assert_eq!(sent["messages"][2]["content"][1], point);
    assert_eq!(sent.to_string().matches("cachePoint").count(), 4);
    request.cache_config.ttl = CacheTtl::OneHour;
    let sent = body(&request);
    assert_eq!(sent["messages"][4]["content"][1], json!({"cachePoint": {"type": "default", "ttl": "1h"}}));
    assert_eq!(sent["toolConfig"]["tools"][1], sent["system"][1]);
}

#[test]
fn both_system_prompt_parts_end_with_a_cache_point_and_at_most_four_are_sent() {
    let mut request = asked(CLAUDE, vec![says("one"), reply(vec!["two".into()]), says("three")]);
    request.tools = vec![tool("read")].into();
    request.system_prompt = lariat_core::model::SystemPrompt::of_sections(&[
        lariat_core::model::PromptSection::new(
            "base",
            lariat_core::model::SectionStability::Static,
            "Be brief.",
        ),
        lariat_core::model::PromptSection::new(
            "memory",
            lariat_core::model::SectionStability::SemiStatic,
            "Use tabs.",
        ),
    ]);
    let (sent, point) = (body(&request), json!({"cachePoint": {"type": "default"}}));
    assert_eq!(sent["system"], json!([{"text": "Be brief.\n\n"}, point, {"text": "Use tabs."}, point]));
    assert_eq!(sent.to_string().matches("cachePoint").count(), 4);
}

#[test]
fn cache_points_go_only_to_models_that_accept_them() {
    let points = |id: &str, compat: Value| {
        let mut model = model(id);
        model.compat = compat;
        let mut request = request_to(model, vec![says("hi")]);
        (request.system_prompt, request.tools) = ("Be brief.".into(), vec![tool("read")].into());
        body(&request).to_string().matches("cachePoint").count()
    };
    assert_eq!(points(CLAUDE, Value::Null), 3);
    assert_eq!(points(NOVA, Value::Null), 2);
    assert_eq!(points("meta.llama3-70b", Value::Null), 0);
    assert_eq!(
        points("arn:aws:bedrock:us-east-1:1:application-inference-profile/x", json!({"caching": true})),
        3
    );
}

#[test]
fn tools_and_tool_choice_are_one_object() {
    let config = |choice: ToolChoice| {
        let mut request = plain(asked(CLAUDE, vec![says("hi")]));
        (request.tools, request.tool_choice) = (vec![tool("read")].into(), choice);
        body(&request).get("toolConfig").cloned()
    };
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    let spec =
        json!({"toolSpec": {"name": "read", "description": "Does read.", "inputSchema": {"json": schema}}});
    assert_eq!(config(ToolChoice::Auto), Some(json!({"tools": [spec]})));
    assert_eq!(config(ToolChoice::Required), Some(json!({"tools": [spec], "toolChoice": {"any": {}}})));
    let named = json!({"tools": [spec], "toolChoice": {"tool": {"name": "read"}}});
    assert_eq!(config(ToolChoice::Tool("read".into())), Some(named));
    assert_eq!(config(ToolChoice::None), None);
}

#[test]
fn tool_choice_can_change_with_a_stored_body() {
    let mut request = plain(asked(CLAUDE, vec![says("hi")]));
    request.tools = vec![tool("read")].into();
    assert_eq!(body(&request)["toolConfig"].get("toolChoice"), None);
    request.tool_choice = ToolChoice::Required;
    assert_eq!(body(&request)["toolConfig"]["toolChoice"], json!({"any": {}}));
}

#[test]
fn tool_calls_in_the_history_always_have_a_definition() {
    let given = || vec![says("hi"), reply(vec![call("a", "read")]), result("a", vec!["x".into()])];
    let mut request = plain(asked(CLAUDE, given()));
    assert_eq!(body(&request)["toolConfig"]["tools"][0]["toolSpec"]["name"], "read");
    request.tools = vec![tool("write")].into();
    request.tool_choice = ToolChoice::None;
    assert_eq!(body(&request)["toolConfig"]["tools"][0]["toolSpec"]["name"], "write");
}

#[test]
fn thinking_parameters_match_the_generation() {
    let sent = |id: &str, reasoning: bool| {
        let mut model = model(id);
        (model.max_tokens, model.reasoning) = (Some(64_000), reasoning);
        let mut request = plain(request_to(model, vec![says("hi")]));
        request.thinking_level = ThinkingLevel::Max;
        body(&request)
    };
    let older = sent(CLAUDE, true);
    let budget = json!({"thinking": {"type": "enabled", "budget_tokens": 32_768}});
    assert_eq!((&older["additionalModelRequestFields"], older.get("outputConfig")), (&budget, None));
    let newer = sent("global.anthropic.claude-opus-4-7", true);
    assert_eq!(newer["additionalModelRequestFields"]["thinking"]["type"], "adaptive");
    assert_eq!(newer["outputConfig"], json!({"effort": "xhigh"}));
    assert_eq!(sent("deepseek.r1-v1:0", true).get("additionalModelRequestFields"), None);
}

#[test]
fn sends_schema_as_text_and_extra_fields_as_configured() {
    let mut model = model(CLAUDE);
    model.compat = json!({"additionalModelRequestFields": {"top_k": 5}});
    let mut request = plain(request_to(model, vec![says("hi")]));
    let schema = OutputSchema { name: "answer".into(), schema: json!({"type": "object"}) };
    request.output_schema = Some(Arc::new(schema));
    let sent = body(&request);
    assert_eq!(
        sent["outputConfig"],
        json!({"textFormat": {"type": "json_schema",
            "structure": {"jsonSchema": {"name": "answer", "schema": "{\"type\":\"object\"}"}}}})
    );
    assert_eq!(sent["additionalModelRequestFields"], json!({"top_k": 5}));
}
