//! Tests what the model sees, feature by feature.

use lariat_core::message::StopReason;
use lariat_core::model::{
    CacheConfig, CacheStrategy, OutputSchema, PromptSection, SectionStability, ThinkingLevel,
};

use super::*;
use crate::protocol::anthropic::fixtures::*;

/// The body of a request, without cache marks unless the request enables them.
fn body(request: &StreamConfig) -> Value {
    serde_json::from_slice(&build(request).unwrap().body).unwrap()
}

fn plain(mut request: StreamConfig) -> StreamConfig {
    request.cache_config.enabled = false;
    request
}

fn messages(given: Vec<lariat_core::message::SharedMessage>) -> Value {
    body(&plain(request(given)))["messages"].take()
}

#[test]
fn plain_request_has_only_the_required_fields() {
    let mut request = plain(request(vec![says("hi")]));
    request.system_prompt = "Be brief.".into();
    request.temperature = Some(0.7);
    let outgoing = build(&request).unwrap();
    assert_eq!(outgoing.url, "https://api.anthropic.com/v1/messages");
    assert_eq!(outgoing.auth, Auth::Header("x-api-key"));
    assert_eq!(outgoing.headers["anthropic-version"], "2023-06-01");
    assert_eq!(
        body(&request),
        json!({
            "model": MODEL,
            "max_tokens": 8192,
            "stream": true,
            "temperature": 0.7,
            "system": [{"type": "text", "text": "Be brief."}],
            "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
        })
    );
}

#[test]
fn accepts_any_form_of_base_url_and_extra_headers_win() {
    for base in ["https://p.example", "https://p.example/", "https://p.example/v1", "https://p.example/v1/"] {
        let mut model = model(MODEL).with_base_url(base);
        model.headers.insert("anthropic-version".into(), "2099-01-01".into());
        model.compat = json!({"auth": "bearer"});
        let outgoing = build(&request_to(model, vec![says("hi")])).unwrap();
        assert_eq!(outgoing.url, "https://p.example/v1/messages", "{base}");
        assert_eq!(
            (&outgoing.headers["anthropic-version"], outgoing.auth),
            (&"2099-01-01".parse().unwrap(), Auth::Bearer)
        );
    }
}

#[test]
fn output_limit_of_the_request_wins_over_the_models() {
    let mut model = model(MODEL);
    model.max_tokens = Some(64_000);
    let mut request = request_to(model, vec![says("hi")]);
    assert_eq!(body(&request)["max_tokens"], 64_000);
    request.max_tokens = Some(100);
    assert_eq!(body(&request)["max_tokens"], 100);
}

#[test]
fn own_thinking_goes_back_unchanged_and_in_order() {
    let sent = messages(vec![
        says("hi"),
        reply(vec![
            thinking("Hm. \n", Some("sig==")),
            Content::RedactedThinking { data: "opaque".into() },
            "First.".into(),
            thinking("", Some("sig2")),
            call("toolu_1", "read"),
        ]),
        result("toolu_1", vec!["text".into()]),
    ]);
    insta::assert_json_snapshot!(sent, @r#"
    [
      {
        "content": [
          {
            "text": "hi",
            "type": "text"
          }
        ],
        "role": "user"
      },
      {
        "content": [
          {
            "signature": "sig==",
            "thinking": "Hm. \n",
            "type": "thinking"
          },
          {
            "data": "opaque",
            "type": "redacted_thinking"
          },
          {
            "text": "First.",
            "type": "text"
          },
          {
            "signature": "sig2",
            "thinking": "",
            "type": "thinking"
          },
          {
            "id": "toolu_1",
            "input": {
              "path": "a.txt"
            },
            "name": "read",
            "type": "tool_use"
          }
        ],
        "role": "assistant"
      },
      {
        "content": [
          {
            "content": [
              {
                "text": "text",
                "type": "text"
              }
            ],
            "tool_use_id": "toolu_1",
            "type": "tool_result"
          }
        ],
        "role": "user"
      }
    ]
    "#);
}

#[test]
fn parallel_results_and_following_text_share_one_item() {
    let sent = messages(vec![
        says("hi"),
        reply(vec![call("a", "read"), call("b", "read")]),
        result("a", vec!["one".into(), image("image/png")]),
        failed("b", "no such file"),
        says("go on"),
    ]);
    let source = json!({"type": "base64", "media_type": "image/png", "data": "aGVsbG8="});
    assert_eq!(
        sent[2],
        json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a",
                "content": [{"type": "text", "text": "one"}, {"type": "image", "source": source}]},
            {"type": "tool_result", "tool_use_id": "b", "is_error": true,
                "content": [{"type": "text", "text": "no such file"}]},
            {"type": "text", "text": "go on"},
        ]})
    );
    assert_eq!(sent.as_array().unwrap().len(), 3);
}

#[test]
fn failed_result_contains_no_image() {
    let mut failed = Message::clone(result("a", vec!["no".into(), image("image/png")]).as_llm().unwrap());
    let Message::ToolResult(outcome) = &mut failed else { panic!() };
    outcome.is_error = true;
    let sent = messages(vec![says("hi"), reply(vec![call("a", "read")]), Arc::new(failed.into())]);
    let kinds = sent[2]["content"][0]["content"].as_array().unwrap().iter().map(|block| &block["type"]);
    assert_eq!(kinds.collect::<Vec<_>>(), ["text", "text"]);
}

#[test]
fn sends_images_as_base64_and_unsupported_ones_as_a_note() {
    let sent = messages(vec![user(vec![image("image/jpg"), image("image/bmp"), "what is it?".into()])]);
    assert_eq!(sent[0]["content"][0]["source"]["media_type"], "image/jpeg");
    assert_eq!(sent[0]["content"][1]["text"], "(image of type image/bmp omitted: this model cannot read it)");
}

#[test]
fn sends_only_text_and_tool_calls_of_another_models_reply() {
    let foreign = vec![
        thinking("hm", Some("sig")),
        Content::RedactedThinking { data: "x".into() },
        unknown(json!({"type": "web_search_call", "id": "ws_1"})),
        "Let me look.".into(),
        call("call|fc_1", "my.tool"),
    ];
    let sent = messages(vec![
        says("hi"),
        reply_of(("openai", "gpt-5"), StopReason::ToolUse, foreign),
        result("call|fc_1", vec!["ok".into()]),
    ]);
    let content = sent[1]["content"].as_array().unwrap();
    assert_eq!(content[0], json!({"type": "text", "text": "Let me look."}));
    assert_eq!((content.len(), &content[1]["name"]), (2, &json!("my_tool")));
    assert_eq!(content[1]["id"], sent[2]["content"][0]["tool_use_id"]);
}

#[test]
fn reply_without_sendable_blocks_is_omitted() {
    let other = reply_of(("openai", "gpt-5"), StopReason::Stop, vec![unknown(json!({"type": "x"}))]);
    let sent = messages(vec![says("one"), other, says("two")]);
    let words = json!([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]);
    assert_eq!(sent, json!([{"role": "user", "content": words}]));
}

#[test]
fn thinking_without_signature_is_not_sent() {
    let sent = messages(vec![says("hi"), reply(vec![thinking("hm", None), "yes".into()]), says("ok")]);
    assert_eq!(sent[1]["content"], json!([{"type": "text", "text": "yes"}]));
}

#[test]
fn unreadable_content_is_replaced_by_a_note() {
    let odd = || vec![unknown(json!({"type": "audio"}))];
    let sent = messages(vec![user(odd()), reply(vec![call("a", "read")]), result("a", odd())]);
    assert_eq!(sent[0]["content"][0]["text"], UNREADABLE_CONTENT);
    assert_eq!(sent[2]["content"][0]["content"][0]["text"], NO_OUTPUT);
}

fn search(id: &str) -> Content {
    unknown(json!({"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": "x"}}))
}

fn found(id: &str) -> Content {
    unknown(
        json!({"type": "web_search_tool_result", "tool_use_id": id, "content": [{"encrypted_content": "e"}]}),
    )
}

#[test]
fn provider_tool_blocks_go_back_unchanged() {
    let content = vec![search("srvtoolu_1"), found("srvtoolu_1"), "Found.".into()];
    let sent = messages(vec![says("hi"), reply(content.clone()), says("ok")]);
    assert_eq!(sent[1]["content"][0], serde_json::to_value(&content[0]).unwrap());
    assert_eq!(sent[1]["content"][1], serde_json::to_value(&content[1]).unwrap());
}

#[test]
fn paused_reply_is_the_last_message_and_its_continuation_joins_it() {
    let paused = reply_of(("anthropic", MODEL), StopReason::Pause, vec!["Searching.".into(), search("s1")]);
    let sent = messages(vec![says("hi"), paused.clone()]);
    assert_eq!(sent[1]["content"][1]["type"], "server_tool_use");
    assert_eq!(sent.as_array().unwrap().len(), 2);
    let sent = messages(vec![says("hi"), paused, reply(vec![found("s1"), "Done.".into()]), says("ok")]);
    assert_eq!(sent[1]["content"].as_array().unwrap().len(), 4);
}

#[test]
fn abandoned_paused_reply_gets_results_for_its_provider_tool_calls() {
    let paused = reply_of(("anthropic", MODEL), StopReason::Pause, vec!["Searching.".into(), search("s1")]);
    let sent = messages(vec![says("hi"), paused, says("never mind")]);
    assert_eq!(
        sent[1]["content"][2],
        json!({"type": "web_search_tool_result", "tool_use_id": "s1",
            "content": {"type": "web_search_tool_result_error", "error_code": "unavailable"}})
    );
}

#[test]
fn paused_reply_of_another_model_gets_a_continue_message() {
    let paused = reply_of(("bedrock", "x"), StopReason::Pause, vec!["Half".into()]);
    let sent = messages(vec![says("hi"), paused]);
    assert_eq!(sent[2], json!({"role": "user", "content": [{"type": "text", "text": CONTINUE}]}));
}

#[test]
fn cache_marks_are_where_the_next_request_finds_them() {
    let mut request = request(vec![
        says("one"),
        reply(vec![call("a", "read")]),
        result("a", vec!["x".into()]),
        reply(vec!["two".into()]),
        user(vec!["three".into(), image("image/png")]),
    ]);
    request.system_prompt = "Be brief.".into();
    request.tools = vec![tool("read"), tool("write")].into();
    let sent = body(&request);
    let mark = json!({"type": "ephemeral"});
    assert_eq!(sent["system"][0]["cache_control"], mark);
    assert_eq!(
        (&sent["tools"][0]["cache_control"], &sent["tools"][1]["cache_control"]),
        (&Value::Null, &mark)
    );
    let marked: Vec<bool> = sent["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item.to_string().contains("cache_control"))
        .collect();
    assert_eq!(marked, [false, false, true, false, true]);
    assert_eq!(sent["messages"][2]["content"][0]["cache_control"], mark);
    assert_eq!(sent["messages"][4]["content"][1]["cache_control"], mark);
    assert_eq!(sent["messages"][4]["content"][0].get("cache_control"), None);
}

#[test]
fn both_system_prompt_parts_are_marked_with_at_most_four_marks() {
    let mut request = request(vec![says("one"), reply(vec!["two".into()]), says("three")]);
    request.tools = vec![tool("read")].into();
    request.system_prompt = SystemPrompt::of_sections(&[
        PromptSection::new("base", SectionStability::Static, "Be brief."),
        PromptSection::new("memory", SectionStability::SemiStatic, "Use tabs."),
    ]);
    let (sent, mark) = (body(&request), json!({"type": "ephemeral"}));
    assert_eq!(
        sent["system"],
        json!([
            {"type": "text", "text": "Be brief.\n\n", "cache_control": mark},
            {"type": "text", "text": "Use tabs.", "cache_control": mark},
        ])
    );
    assert_eq!(
        sent["tools"][0].get("cache_control"),
        None,
        "the mark after the static part covers the tools"
    );
    assert_eq!(sent.to_string().matches("cache_control").count(), 4);
    request.cache_config.strategy =
        CacheStrategy::Manual { cache_system: false, cache_tools: true, cache_messages: true };
    assert_eq!(body(&request)["tools"][0]["cache_control"], mark);
}

#[test]
fn cache_marks_follow_the_configuration_with_a_stored_body() {
    let mut request = request(vec![says("one")]);
    request.tools = vec![tool("read")].into();
    assert!(body(&request).to_string().contains("cache_control"));
    request.cache_config.ttl = CacheTtl::OneHour;
    assert_eq!(body(&request)["tools"][0]["cache_control"], json!({"type": "ephemeral", "ttl": "1h"}));
    request.cache_config.strategy =
        CacheStrategy::Manual { cache_system: false, cache_tools: false, cache_messages: true };
    let sent = body(&request);
    assert_eq!(
        (sent["tools"][0].get("cache_control"), sent.to_string().matches("cache_control").count()),
        (None, 1)
    );
    request.cache_config = CacheConfig { enabled: false, ..CacheConfig::default() };
    assert!(!body(&request).to_string().contains("cache_control"));
}

#[test]
fn tools_have_an_object_schema_and_no_empty_description() {
    let mut request = plain(request(vec![says("hi")]));
    let bare = ToolDefinition { name: "now".into(), description: " ".into(), parameters: json!({}) };
    request.tools = vec![tool("read"), bare].into();
    assert_eq!(
        body(&request)["tools"],
        json!([
            {"name": "read", "description": "Does read.",
                "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}}},
            {"name": "now", "input_schema": {"type": "object"}},
        ])
    );
}

#[test]
fn maps_every_tool_choice() {
    let choice = |choice: ToolChoice, tools: Vec<ToolDefinition>| {
        let mut request = request(vec![says("hi")]);
        (request.tool_choice, request.tools) = (choice, tools.into());
        body(&request).get("tool_choice").cloned()
    };
    assert_eq!(choice(ToolChoice::Auto, vec![tool("a")]), None);
    assert_eq!(choice(ToolChoice::None, vec![tool("a")]), Some(json!({"type": "none"})));
    assert_eq!(choice(ToolChoice::Required, vec![tool("a")]), Some(json!({"type": "any"})));
    let named = Some(json!({"type": "tool", "name": "a"}));
    assert_eq!(choice(ToolChoice::Tool("a".into()), vec![tool("a")]), named);
    assert_eq!(choice(ToolChoice::Required, vec![]), None);
}

#[test]
fn schema_and_effort_share_output_config() {
    let mut request = request_to(model("claude-opus-4-7"), vec![says("hi")]);
    request.thinking_level = ThinkingLevel::High;
    let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
    request.output_schema = Some(Arc::new(OutputSchema { name: "x".into(), schema: schema.clone() }));
    let sent = body(&request);
    assert_eq!(
        sent["output_config"],
        json!({"effort": "high", "format": {"type": "json_schema", "schema": schema}})
    );
    assert_eq!(sent["thinking"]["type"], "adaptive");
}

#[test]
fn no_budget_while_tool_calls_made_without_thinking_are_open() {
    let thought = |blocks: Vec<Content>, then: Vec<lariat_core::message::SharedMessage>| {
        let mut given = vec![says("hi"), reply(blocks), result("a", vec!["x".into()])];
        given.extend(then);
        let mut request = request(given);
        (request.thinking_level, request.max_tokens) = (ThinkingLevel::High, Some(64_000));
        body(&request).get("thinking").is_some()
    };
    assert!(thought(vec![thinking("hm", Some("s")), call("a", "read")], vec![]));
    assert!(!thought(vec![call("a", "read")], vec![]));
    assert!(thought(vec![call("a", "read")], vec![reply(vec!["done".into()]), says("next")]));
}

#[test]
fn request_that_would_be_rejected_is_not_sent() {
    let mut request = request(vec![says("hi")]);
    request.tools = vec![tool("a b")].into();
    let error = build(&request).unwrap_err();
    assert!(error.to_string().contains("would reject this request"), "{error}");
}
