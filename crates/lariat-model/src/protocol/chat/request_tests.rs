use lariat_core::model::{CacheConfig, CacheTtl, OutputSchema, ThinkingLevel};
use lariat_proofs::server::Wire;
use proptest::prelude::*;

use super::*;
use crate::protocol::Protocol;
use crate::protocol::chat::Chat;
use crate::protocol::chat::backend::BACKENDS;
use crate::protocol::chat::fixtures::*;

fn messages(request: &StreamConfig) -> Value {
    sent_field(&Chat, request, "messages")
}

fn read_tool() -> Arc<[ToolDefinition]> {
    let parameters = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    Arc::from([ToolDefinition { name: "read".into(), description: "Reads.".into(), parameters }])
}

fn plain(provider: &str, id: &str) -> StreamConfig {
    request(model(provider, id), [Message::user("hi")])
}

#[test]
fn request_has_model_messages_and_options() {
    let mut request = plain("openai", "gpt-4.1");
    request.system_prompt = "Be brief.".into();
    request.max_tokens = Some(100);
    request.temperature = Some(0.7);
    request.tools = read_tool();
    let outgoing = Chat.request(&request).unwrap();
    assert_eq!(outgoing.url, "https://api.openai.com/v1/chat/completions");
    assert_eq!(outgoing.auth, crate::wire::Auth::Bearer);
    let body: Value = serde_json::from_slice(&outgoing.body).unwrap();
    assert_eq!(
        body,
        json!({
            "model": "gpt-4.1",
            "stream": true,
            "stream_options": {"include_usage": true},
            "max_completion_tokens": 100,
            "temperature": 0.7,
            "tools": [{"type": "function", "function": {
                "name": "read",
                "description": "Reads.",
                "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
            }}],
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": [{"type": "text", "text": "hi"}]},
            ],
        })
    );
}

#[test]
fn accepts_base_url_with_slashes_or_the_endpoint() {
    for base in ["http://h/v1", "http://h/v1/", "http://h/v1//", "http://h/v1/chat/completions"] {
        let mut request = plain("custom", "m");
        Arc::make_mut(&mut request.model_config).base_url = base.into();
        let outgoing = Chat.request(&request).unwrap();
        assert_eq!(outgoing.url, "http://h/v1/chat/completions");
        assert_eq!(outgoing.auth, crate::wire::Auth::None, "a local server needs no key");
        assert_eq!(Chat.list_request(&request.model_config).unwrap().url, "http://h/v1/models");
    }
    let unknown = Chat.request(&{
        let mut request = plain("custom", "m");
        Arc::make_mut(&mut request.model_config).base_url = String::new();
        request
    });
    assert_eq!(unknown.unwrap().url, "https://api.openai.com/v1/chat/completions");
}

#[test]
fn sends_key_to_local_server_if_configured() {
    let mut request = plain("ollama", "m");
    assert_eq!(Chat.request(&request).unwrap().auth, crate::wire::Auth::None);
    request.model_config = Arc::new(model("ollama", "m").with_api_key("k"));
    assert_eq!(Chat.request(&request).unwrap().auth, crate::wire::Auth::Bearer);
}

#[test]
fn tool_calls_and_results_are_paired_by_id() {
    let model = model("deepseek", "deepseek-chat");
    assert_eq!(
        messages(&request(model.clone(), tool_loop(&model))),
        json!([
            {"role": "user", "content": "read it"},
            {"role": "assistant", "content": "I will.", "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": "{\"path\":\"a\"}"}},
            ]},
            {"role": "tool", "tool_call_id": "call_1", "content": "hello"},
        ])
    );
}

#[test]
fn reply_with_only_tool_calls_has_null_or_empty_content_by_dialect() {
    for (provider, content) in [("openai", Value::Null), ("mistral", json!(""))] {
        let model = model(provider, "m");
        let call = Content::tool_call("abcdefghi", "t", json!({}));
        let history =
            [Message::user("x"), reply(&model, vec![call]), result("abcdefghi", "t", vec!["ok".into()])];
        assert_eq!(messages(&request(model, history))[1]["content"], content, "{provider}");
    }
}

#[test]
fn sends_images_as_data_and_result_images_after_the_last_result() {
    let model = model("openrouter", "qwen/qwen3");
    let calls = vec![Content::tool_call("a", "shot", json!({})), Content::tool_call("b", "shot", json!({}))];
    let history = [
        user(vec![Content::text("look"), image()]),
        reply(&model, calls),
        result("a", "shot", vec![image()]),
        result("b", "shot", vec![Content::text("two"), image()]),
    ];
    let picture = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}});
    let text = |text: &str| json!({"type": "text", "text": text});
    let sent = messages(&request(model, history));
    assert_eq!(sent[0], json!({"role": "user", "content": [text("look"), picture]}));
    assert_eq!(sent[2], json!({"role": "tool", "tool_call_id": "a", "content": "(an image, see below)"}));
    assert_eq!(sent[3], json!({"role": "tool", "tool_call_id": "b", "content": "two"}));
    assert_eq!(
        sent[4],
        json!({"role": "user", "content": [
            text("From the result of `shot` (call a):"), picture,
            text("From the result of `shot` (call b):"), picture,
        ]})
    );
}

#[test]
fn replaces_images_with_a_note_if_the_provider_accepts_none() {
    let history = [user(vec![Content::text("look"), image()])];
    let sent = messages(&request(model("deepseek", "m"), history));
    assert_eq!(sent[0]["content"], json!(format!("look\n\n{NO_IMAGE}")));
}

#[test]
fn converts_ids_of_tool_calls_and_results_to_the_accepted_form() {
    let long = "x".repeat(60);
    let mistral = model("mistral", "m");
    for (service, id, kept) in [
        (model("openai", "gpt-4.1"), long.as_str(), false),
        (model("openai", "gpt-4.1"), "call_1", true),
        (mistral.clone(), "call_1", false),
        (mistral, "abcdefghi", true),
        (model("moonshot", "kimi-k2.6"), "functions.read:0", true),
        (model("openai", "gpt-4.1"), "functions.read:0", false),
    ] {
        let call = Content::tool_call(id, "t", json!({}));
        let history = [Message::user("x"), reply(&service, vec![call]), result(id, "t", vec!["ok".into()])];
        let sent = messages(&request(service, history));
        let wire = &sent[1]["tool_calls"][0]["id"];
        assert_eq!(wire == id, kept, "{id} became {wire}");
        assert_eq!(*wire, sent[2]["tool_call_id"]);
    }
}

#[test]
fn inserts_reply_between_result_and_user_message_for_mistral() {
    let model = model("mistral", "m");
    let mut history = tool_loop(&model);
    history.push(Message::user("stop"));
    let sent = messages(&request(model, history));
    let roles: Vec<&str> =
        sent.as_array().unwrap().iter().map(|item| item["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant", "user"]);
}

#[test]
fn reasoning_goes_back_in_the_dialects_field_and_only_to_its_model() {
    for (provider, field, expected) in [
        ("deepseek", "reasoning_content", json!("hm")),
        ("moonshot", "reasoning_content", json!("hm")),
        ("ollama", "reasoning", json!("hm")),
        ("openai", "reasoning_content", Value::Null),
        ("qwen", "reasoning_content", Value::Null),
    ] {
        let own = model(provider, "m");
        let blocks = vec![thinking("hm", None), Content::text("ok")];
        let history =
            |by: &ModelConfig| vec![Message::user("x"), reply(by, blocks.clone()), Message::user("y")];
        assert_eq!(messages(&request(own.clone(), history(&own)))[1][field], expected, "{provider}");
        let foreign = model("anthropic", "claude");
        assert_eq!(messages(&request(own, history(&foreign)))[1][field], Value::Null, "{provider}");
    }
}

#[test]
fn adds_empty_reasoning_if_the_provider_rejects_missing_reasoning() {
    let mut own = model("deepseek", "deepseek-v4-pro");
    own.reasoning = true;
    let sent = messages(&request(own, tool_loop(&model("anthropic", "claude"))));
    assert_eq!(sent[1]["reasoning_content"], "");
    let sent =
        messages(&request(model("deepseek", "deepseek-chat"), tool_loop(&model("anthropic", "claude"))));
    assert_eq!(sent[1].get("reasoning_content"), None);
}

#[test]
fn reasoning_details_go_back_unchanged() {
    let own = model("openrouter", "google/gemini-3");
    let details = json!([
        {"type": "reasoning.text", "text": "hm", "signature": "s==", "index": 0, "format": "anthropic-claude-v1"},
        {"type": "reasoning.encrypted", "data": "e==", "id": "x", "index": 1},
    ]);
    let history = [
        Message::user("x"),
        reply(&own, vec![thinking("hm", Some(&details.to_string())), Content::text("ok")]),
        Message::user("y"),
    ];
    assert_eq!(messages(&request(own, history))[1]["reasoning_details"], details);
}

#[test]
fn drops_provider_specific_blocks_of_foreign_replies_and_omits_empty_ones() {
    let unknown = Content::Unknown(json!({"type": "server_tool_use"}).as_object().unwrap().clone());
    let foreign = model("anthropic", "claude");
    let history = [
        Message::user("a"),
        reply(&foreign, vec![thinking("hm", Some("s")), unknown.clone()]),
        user(vec![unknown]),
        reply(&foreign, vec![Content::RedactedThinking { data: "r".into() }, Content::text("b")]),
        Message::user("c"),
    ];
    assert_eq!(
        messages(&request(model("deepseek", "m"), history)),
        json!([
            {"role": "user", "content": "a"},
            {"role": "user", "content": NO_CONTENT},
            {"role": "assistant", "content": "b"},
            {"role": "user", "content": "c"},
        ])
    );
}

#[test]
fn paused_reply_of_another_provider_gets_a_continue_message() {
    let mut paused = reply(&model("anthropic", "claude"), vec![Content::text("so far")]);
    if let Message::Assistant(paused) = &mut paused {
        paused.stop_reason = StopReason::Pause;
    }
    let sent = messages(&request(model("deepseek", "m"), [Message::user("a"), paused]));
    assert_eq!(sent[2], json!({"role": "user", "content": CONTINUE}));
}

#[test]
fn invented_tool_name_is_made_valid_in_the_history() {
    let own = model("openai", "gpt-4.1");
    let call = Content::tool_call("a", "functions.läs", json!({}));
    let history =
        [Message::user("x"), reply(&own, vec![call]), result("a", "functions.läs", vec!["no".into()])];
    assert_eq!(messages(&request(own, history))[1]["tool_calls"][0]["function"]["name"], "functions_l_s");
}

fn with_level(provider: &str, id: &str, level: ThinkingLevel) -> Value {
    let mut request = plain(provider, id);
    Arc::make_mut(&mut request.model_config).reasoning = true;
    request.thinking_level = level;
    let body = sent(&Chat, &request);
    let names = ["reasoning_effort", "reasoning", "thinking", "enable_thinking", "chat_template_kwargs"];
    let said = names.iter().filter_map(|name| Some(((*name).to_owned(), body.get(*name)?.clone())));
    Value::Object(said.collect())
}

#[test]
fn requests_thinking_in_every_dialect() {
    use ThinkingLevel::{High, Low, Max, Minimal, Off};
    for (provider, id, level, expected) in [
        ("openai", "gpt-5", Minimal, json!({"reasoning_effort": "minimal"})),
        ("openai", "gpt-5.1", Off, json!({"reasoning_effort": "none"})),
        ("openai", "gpt-5.4", Max, json!({"reasoning_effort": "xhigh"})),
        ("openai", "gpt-6-sol", Max, json!({"reasoning_effort": "max"})),
        ("openai", "gpt-4.1", High, json!({})),
        ("xai", "grok-4", High, json!({})),
        ("xai", "grok-3-mini", High, json!({"reasoning_effort": "high"})),
        ("groq", "qwen/qwen3-32b", High, json!({"reasoning_effort": "default"})),
        ("groq", "openai/gpt-oss-120b", Off, json!({})),
        ("cerebras", "zai-glm-4.7", Off, json!({"reasoning_effort": "none"})),
        ("mistral", "mistral-medium-3-5", Low, json!({"reasoning_effort": "high"})),
        ("deepseek", "deepseek-v4-pro", Off, json!({"thinking": {"type": "disabled"}})),
        (
            "deepseek",
            "deepseek-v4-pro",
            Max,
            json!({"thinking": {"type": "enabled"}, "reasoning_effort": "max"}),
        ),
        ("moonshot", "kimi-k3", Low, json!({"reasoning_effort": "low"})),
        ("moonshot", "kimi-k2.6", Low, json!({"thinking": {"type": "enabled"}})),
        ("zai", "glm-5", Off, json!({"thinking": {"type": "disabled"}})),
        ("openrouter", "x/y", Minimal, json!({"reasoning": {"effort": "minimal"}})),
        ("together", "zai-org/GLM-5", High, json!({"reasoning": {"enabled": true}})),
        ("qwen", "qwen3-max", Off, json!({"enable_thinking": false})),
        ("vllm", "qwen3", High, json!({"chat_template_kwargs": {"enable_thinking": true}})),
        ("fireworks", "m", Off, json!({"reasoning_effort": "none"})),
    ] {
        assert_eq!(with_level(provider, id, level), expected, "{provider} {id} {level:?}");
    }
}

#[test]
fn sends_no_thinking_fields_to_models_that_do_not_reason() {
    let mut request = plain("deepseek", "deepseek-chat");
    request.thinking_level = ThinkingLevel::High;
    let body = sent(&Chat, &request);
    assert!(body.get("thinking").is_none() && body.get("reasoning_effort").is_none());
}

#[test]
fn omits_temperature_for_models_that_reject_it() {
    for (id, expected) in [("gpt-5", Value::Null), ("gpt-4.1", json!(0.2))] {
        let mut request = plain("openai", id);
        request.temperature = Some(0.2);
        assert_eq!(sent_field(&Chat, &request, "temperature"), expected, "{id}");
    }
}

#[test]
fn openai_reasoning_models_get_the_developer_role() {
    for (provider, id, role) in
        [("openai", "gpt-5", "developer"), ("openai", "gpt-4.1", "system"), ("groq", "m", "system")]
    {
        let mut request = plain(provider, id);
        request.system_prompt = "s".into();
        assert_eq!(messages(&request)[0], json!({"role": role, "content": "s"}), "{provider} {id}");
    }
}

#[test]
fn maps_tool_choice_by_dialect() {
    for (provider, choice, expected) in [
        ("openai", ToolChoice::Auto, Value::Null),
        ("openai", ToolChoice::None, json!("none")),
        ("openai", ToolChoice::Required, json!("required")),
        ("mistral", ToolChoice::Required, json!("any")),
        ("zai", ToolChoice::Required, Value::Null),
        (
            "openai",
            ToolChoice::Tool("read".into()),
            json!({"type": "function", "function": {"name": "read"}}),
        ),
    ] {
        let mut request = plain(provider, "m");
        (request.tools, request.tool_choice) = (read_tool(), choice.clone());
        assert_eq!(sent_field(&Chat, &request, "tool_choice"), expected, "{provider} {choice:?}");
    }
    let mut request = plain("zai", "glm-5");
    (request.tools, request.tool_choice) = (read_tool(), ToolChoice::None);
    assert_eq!(
        sent_field(&Chat, &request, "tools"),
        Value::Null,
        "no tools if the provider does not support `none`"
    );
}

#[test]
fn schema_is_enforced_if_supported_and_otherwise_put_in_the_prompt() {
    let closed = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"],
        "additionalProperties": false});
    let open = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let asked = |provider: &str, schema: &Value| {
        let mut request = plain(provider, "m");
        request.output_schema =
            Some(Arc::new(OutputSchema { name: "answer".into(), schema: schema.clone() }));
        sent(&Chat, &request)
    };
    assert_eq!(
        asked("openai", &closed)["response_format"],
        json!({"type": "json_schema", "json_schema": {"name": "answer", "schema": closed, "strict": true}})
    );
    assert_eq!(asked("openai", &open)["response_format"]["json_schema"].get("strict"), None);
    let told = asked("deepseek", &open);
    assert_eq!(told["response_format"], json!({"type": "json_object"}));
    let prompt = told["messages"][0]["content"].as_str().unwrap();
    assert!(prompt.contains("JSON") && prompt.contains(r#""properties""#), "{prompt}");
    assert_eq!(asked("minimax", &open).get("response_format"), None);
}

#[test]
fn sends_the_additional_fields_of_a_row() {
    let mut request = plain("qwen", "qwen3-max");
    request.tools = read_tool();
    assert_eq!(sent_field(&Chat, &request, "parallel_tool_calls"), true);
    assert_eq!(sent_field(&Chat, &plain("minimax", "MiniMax-M3"), "reasoning_split"), true);
    assert_eq!(sent_field(&Chat, &plain("mistral", "m"), "stream_options"), Value::Null);
    let mut request = plain("deepseek", "m");
    request.max_tokens = Some(5);
    assert_eq!(sent_field(&Chat, &request, "max_tokens"), 5);
}

#[test]
fn compat_overrides_columns_and_adds_fields() {
    let mut request = plain("openai", "gpt-4.1");
    request.max_tokens = Some(5);
    Arc::make_mut(&mut request.model_config).compat = json!({"max_tokens_field": "max_tokens", "stream_usage": false, "content": "text", "extra_body": {"top_k": 3}});
    let body = sent(&Chat, &request);
    assert_eq!((&body["max_tokens"], &body["top_k"]), (&json!(5), &json!(3)));
    assert_eq!((body.get("stream_options"), &body["messages"][0]["content"]), (None, &json!("hi")));
    Arc::make_mut(&mut request.model_config).compat = json!({"thinking": "telepathy"});
    let error = Chat.request(&request).unwrap_err().to_string();
    assert!(error.contains("compat") && error.contains("telepathy"), "{error}");
}

#[test]
fn cache_marks_are_on_the_prompt_and_the_last_two_turns() {
    let own = model("openrouter", "anthropic/claude-sonnet-4.5");
    let mut history = tool_loop(&own);
    history.extend([reply(&own, vec!["done".into()]), Message::user("more")]);
    let mut request = request(own, history);
    request.system_prompt = "s".into();
    request.cache_config.ttl = CacheTtl::OneHour;
    let mark = json!({"type": "ephemeral", "ttl": "1h"});
    let sent = messages(&request);
    assert_eq!(sent[0]["content"][0]["cache_control"], mark);
    assert_eq!(sent[1]["content"][0].get("cache_control"), None);
    assert_eq!(
        sent[3],
        json!({"role": "tool", "tool_call_id": "call_1",
        "content": [{"type": "text", "text": "hello", "cache_control": mark}]})
    );
    assert_eq!(sent[5]["content"], json!([{"type": "text", "text": "more", "cache_control": mark}]));
    request.cache_config = CacheConfig { enabled: false, ..CacheConfig::default() };
    assert!(!messages(&request).to_string().contains("cache_control"));
    let automatic =
        messages(&super::super::fixtures::request(model("openai", "gpt-5"), [Message::user("x")]));
    assert!(!automatic.to_string().contains("cache_control"));
}

#[test]
fn request_that_would_be_rejected_fails_with_the_reason() {
    let refusal = |change: fn(&mut StreamConfig)| {
        let mut request = plain("openai", "gpt-4.1");
        request.tools = read_tool();
        change(&mut request);
        Chat.request(&request).unwrap_err().to_string()
    };
    assert!(refusal(|r| r.max_tokens = Some(0)).contains("output limit"));
    assert!(refusal(|r| r.tool_choice = ToolChoice::Tool("write".into())).contains("`write`"));
    assert!(refusal(|r| Arc::make_mut(&mut r.model_config).id.clear()).contains("no id"));
    assert!(
        refusal(|r| {
            let mut tools = r.tools.to_vec();
            tools.push(tools[0].clone());
            r.tools = tools.into();
        })
        .contains("two tools")
    );
    assert!(
        refusal(|r| {
            let mut tools = r.tools.to_vec();
            tools[0].name = "a b".into();
            r.tools = tools.into();
        })
        .contains("`a b`")
    );
    assert!(
        refusal(|r| (r.tools, r.tool_choice) = (Arc::from([]), ToolChoice::Required))
            .contains("without any tools")
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_history_is_accepted_and_appending_equals_rebuilding(
        (own, messages) in (0..BACKENDS.len() * 2).prop_flat_map(|row| {
            // Half of them use OpenAI's own row, which the strict server validates.
            let name = BACKENDS.get(row).unwrap_or(&BACKENDS[0]).names[0];
            let mut own = model(name, "anthropic/claude");
            own.reasoning = row % 2 == 0;
            (Just(own.clone()), histories(own))
        }),
        cut in 0..3usize,
    ) {
        let judge = (own.provider == "openai").then_some(Wire::OpenAiChat);
        grows_like_it_is_built(&Chat, own, &messages, cut, judge)?;
    }
}
