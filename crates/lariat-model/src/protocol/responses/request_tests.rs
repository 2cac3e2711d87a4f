use lariat_core::model::{OutputSchema, ThinkingLevel};
use lariat_proofs::server::Wire;
use proptest::prelude::*;

use super::*;
use crate::protocol::Protocol;
use crate::protocol::chat::fixtures::*;
use crate::protocol::responses::Responses;

fn input(request: &StreamConfig) -> Value {
    sent_field(&Responses, request, "input")
}

fn plain(id: &str) -> StreamConfig {
    request(model("openai", id), [Message::user("hi")])
}

fn read_tool() -> Arc<[ToolDefinition]> {
    Arc::from([ToolDefinition { name: "read".into(), description: "Reads.".into(), parameters: json!({}) }])
}

#[test]
fn request_has_model_messages_and_store_false() {
    let mut request = plain("gpt-5.4");
    request.system_prompt = "Be brief.".into();
    request.max_tokens = Some(100);
    request.temperature = Some(0.5);
    request.thinking_level = ThinkingLevel::High;
    request.tools = read_tool();
    let outgoing = Responses.request(&request).unwrap();
    assert_eq!(outgoing.url, "https://api.openai.com/v1/responses");
    assert_eq!(outgoing.auth, crate::wire::Auth::Bearer);
    let body: Value = serde_json::from_slice(&outgoing.body).unwrap();
    assert_eq!(
        body,
        json!({
            "model": "gpt-5.4",
            "stream": true,
            "store": false,
            "include": ["reasoning.encrypted_content"],
            "instructions": "Be brief.",
            "max_output_tokens": 100,
            "reasoning": {"effort": "high", "summary": "auto"},
            "tools": [{
                "type": "function",
                "name": "read",
                "description": "Reads.",
                "parameters": {"type": "object", "properties": {}},
                "strict": false,
            }],
            "input": [{"role": "user", "content": [{"type": "input_text", "text": "hi"}]}],
        })
    );
}

#[test]
fn model_that_does_not_reason_gets_temperature_and_no_reasoning() {
    let mut request = plain("gpt-4.1");
    request.temperature = Some(0.5);
    request.thinking_level = ThinkingLevel::High;
    let body = sent(&Responses, &request);
    assert_eq!(body["temperature"], 0.5);
    assert!(body.get("reasoning").is_none() && body.get("include").is_none());
}

#[test]
fn maps_levels_by_generation_or_compat() {
    for (id, level, effort) in [
        ("gpt-5", ThinkingLevel::Off, "minimal"),
        ("gpt-5.1", ThinkingLevel::Off, "none"),
        ("gpt-5.5", ThinkingLevel::Max, "xhigh"),
        ("gpt-6-sol", ThinkingLevel::Max, "max"),
        ("o3", ThinkingLevel::Minimal, "low"),
    ] {
        let mut request = plain(id);
        request.thinking_level = level;
        assert_eq!(sent(&Responses, &request)["reasoning"]["effort"], effort, "{id}");
    }
    let mut request = plain("my-deployment");
    let model = Arc::make_mut(&mut request.model_config);
    model.reasoning = true;
    model.compat = json!({"efforts": {"off": "none"}, "reasoning_summary": null, "extra_body": {"top_p": 1}});
    let body = sent(&Responses, &request);
    assert_eq!((&body["reasoning"], &body["top_p"]), (&json!({"effort": "none"}), &json!(1)));
}

#[test]
fn raises_output_limit_to_the_minimum() {
    let mut request = plain("gpt-5");
    request.max_tokens = Some(1);
    assert_eq!(sent(&Responses, &request)["max_output_tokens"], 16);
}

#[test]
fn tool_calls_and_results_are_separate_items() {
    let model = model("openai", "gpt-5");
    assert_eq!(
        input(&request(model.clone(), tool_loop(&model))),
        json!([
            {"role": "user", "content": [{"type": "input_text", "text": "read it"}]},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I will."}]},
            {"type": "function_call", "call_id": "call_1", "name": "read", "arguments": "{\"path\":\"a\"}"},
            {"type": "function_call_output", "call_id": "call_1", "output": "hello"},
        ])
    );
}

#[test]
fn sends_images_in_prompts_and_results() {
    let model = model("openai", "gpt-5");
    let history = [
        user(vec![Content::text("look"), image()]),
        reply(&model, vec![Content::tool_call("a", "shot", json!({}))]),
        result("a", "shot", vec![Content::text("one"), image()]),
    ];
    let picture = json!({"type": "input_image", "image_url": "data:image/png;base64,AA==", "detail": "auto"});
    let sent = input(&request(model, history));
    assert_eq!(sent[0]["content"], json!([{"type": "input_text", "text": "look"}, picture]));
    assert_eq!(sent[2]["output"], json!([{"type": "input_text", "text": "one"}, picture]));
}

fn item(id: &str) -> Value {
    json!({"type": "reasoning", "id": id, "summary": [{"type": "summary_text", "text": "hm"}],
        "encrypted_content": "gAAA==", "status": "completed"})
}

#[test]
fn reasoning_goes_back_unchanged_and_only_to_its_model() {
    let own = model("openai", "gpt-5");
    let blocks = vec![
        thinking("hm", Some(&item("rs_1").to_string())),
        thinking("", Some(&item("rs_2").to_string())),
        Content::text("ok"),
    ];
    let history = |by: &ModelConfig| vec![Message::user("x"), reply(by, blocks.clone()), Message::user("y")];
    let sent = input(&request(own.clone(), history(&own)));
    assert_eq!((&sent[1], &sent[2]), (&item("rs_1"), &item("rs_2")));
    assert_eq!(sent[3]["role"], "assistant");
    for other in [model("openai", "gpt-5-mini"), model("azure", "gpt-5")] {
        assert_eq!(input(&request(other, history(&own)))[1]["role"], "assistant");
    }
}

#[test]
fn omits_unreadable_or_duplicate_reasoning() {
    let own = model("openai", "gpt-5");
    let gone = json!({"type": "reasoning", "id": "rs_3", "summary": []});
    let open = json!({"type": "reasoning", "id": "rs_4", "summary": [],
        "content": [{"type": "reasoning_text", "text": "hm"}]});
    let blocks = |signatures: &[Value]| {
        let thoughts = signatures.iter().map(|item| thinking("hm", Some(&item.to_string())));
        thoughts.chain([Content::text("ok")]).collect::<Vec<_>>()
    };
    let history = [
        Message::user("x"),
        reply(&own, blocks(&[item("rs_1"), gone, open.clone(), json!("not an item")])),
        Message::user("y"),
        reply(&own, blocks(&[item("rs_1")])),
        Message::user("z"),
    ];
    let sent = input(&request(own, history));
    let kinds: Vec<&str> =
        sent.as_array().unwrap().iter().map(|item| item["type"].as_str().unwrap_or("user")).collect();
    assert_eq!(kinds, ["user", "reasoning", "reasoning", "message", "user", "message", "user"]);
    assert_eq!(sent[2], open);
}

#[test]
fn phase_goes_back_with_its_text() {
    let own = model("openai", "gpt-5.4");
    let phase =
        Content::Unknown(json!({"type": PHASE_BLOCK, "phase": "commentary"}).as_object().unwrap().clone());
    let history =
        [Message::user("x"), reply(&own, vec![phase, "so".into(), "on".into()]), Message::user("y")];
    let sent = input(&request(own, history));
    assert_eq!((&sent[1]["phase"], sent[2].get("phase")), (&json!("commentary"), None));
}

#[test]
fn provider_tool_items_go_back_unchanged_and_client_items_do_not() {
    let own = model("openai", "gpt-5");
    let search =
        json!({"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"q": [1]}});
    let unknown = |item: &Value| Content::Unknown(item.as_object().unwrap().clone());
    let shell = json!({"type": "local_shell_call", "id": "ls_1"});
    let blocks =
        vec![thinking("", Some(&item("rs_1").to_string())), unknown(&shell), unknown(&search), "ok".into()];
    let history = |by: &ModelConfig| vec![Message::user("x"), reply(by, blocks.clone()), Message::user("y")];
    let sent = input(&request(own.clone(), history(&own)));
    assert_eq!((&sent[1], &sent[2], &sent[3]["type"]), (&item("rs_1"), &search, &json!("message")));
    assert_eq!(input(&request(own, history(&model("x", "y"))))[1]["type"], "message");
}

#[test]
fn drops_provider_specific_blocks_of_foreign_replies_and_omits_empty_ones() {
    let foreign = model("anthropic", "claude");
    let odd = Content::Unknown(json!({"type": "server_tool_use"}).as_object().unwrap().clone());
    let history = [
        Message::user("a"),
        reply(&foreign, vec![thinking("hm", Some("s")), odd.clone()]),
        user(vec![odd]),
        reply(&foreign, vec![Content::tool_call("toolu|1", "läs", json!({}))]),
        result("toolu|1", "läs", vec![Content::text(" ")]),
    ];
    let sent = input(&request(model("openai", "gpt-5"), history));
    let text = |text: &str| json!({"type": "input_text", "text": text});
    assert_eq!(sent[0], json!({"role": "user", "content": [text("a"), text(NO_CONTENT)]}));
    assert_eq!((&sent[1]["name"], &sent[2]["output"]), (&json!("l_s"), &json!(NO_OUTPUT)));
    assert_eq!(sent[1]["call_id"], sent[2]["call_id"]);
}

#[test]
fn maps_tool_choice_and_schema() {
    for (choice, expected) in [
        (ToolChoice::Auto, Value::Null),
        (ToolChoice::None, json!("none")),
        (ToolChoice::Required, json!("required")),
        (ToolChoice::Tool("read".into()), json!({"type": "function", "name": "read"})),
    ] {
        let mut request = plain("gpt-5");
        (request.tools, request.tool_choice) = (read_tool(), choice);
        assert_eq!(sent_field(&Responses, &request, "tool_choice"), expected);
    }
    let mut request = plain("gpt-5");
    let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
    request.output_schema = Some(Arc::new(OutputSchema { name: "answer".into(), schema: schema.clone() }));
    let format = json!({"type": "json_schema", "name": "answer", "schema": schema, "strict": true});
    assert_eq!(sent_field(&Responses, &request, "text"), json!({"format": format}));
}

#[test]
fn paused_reply_of_another_provider_gets_a_continue_message() {
    let mut paused = reply(&model("anthropic", "claude"), vec![Content::text("so far")]);
    if let Message::Assistant(paused) = &mut paused {
        paused.stop_reason = StopReason::Pause;
    }
    let sent = input(&request(model("openai", "gpt-5"), [Message::user("a"), paused]));
    assert_eq!(sent[2]["content"][0]["text"], CONTINUE);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_history_is_accepted_and_appending_equals_rebuilding(
        messages in histories(model("openai", "gpt-5")),
        cut in 0..3usize,
    ) {
        grows_like_it_is_built(&Responses, model("openai", "gpt-5"), &messages, cut, Some(Wire::OpenAiResponses))?;
    }
}
