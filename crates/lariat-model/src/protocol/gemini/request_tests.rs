//! Tests exactly what the model sees.

use lariat_core::model::{OutputSchema, RequestMemo, ThinkingLevel, ToolChoice};
use lariat_core::transcript::Transcript;
use lariat_proofs::server::{Wire, validate};
use proptest::prelude::*;

use super::super::Gemini;
use super::super::fixtures::*;
use super::*;
use crate::protocol::Protocol;
use crate::protocol::vertex::Vertex;
use crate::wire::{Auth, OutgoingRequest};

#[test]
fn request_address_names_the_model_and_contains_no_key() {
    let mut asked = request(model(MODERN).with_api_key("sekret"), vec![Message::user("Hello")]);
    let outgoing = Gemini.request(&asked).unwrap();
    assert_eq!(
        outgoing.url,
        "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro-preview:streamGenerateContent?alt=sse"
    );
    assert_eq!(outgoing.auth, Auth::Header("x-goog-api-key"));
    assert!(!format!("{outgoing:?}").contains("sekret"));
    for (base, id, url) in [
        ("http://proxy/", "models/gemini-x", "http://proxy/v1beta/models/gemini-x"),
        ("http://proxy/v1beta/", "gemini-x", "http://proxy/v1beta/models/gemini-x"),
        ("http://proxy/v1", "tunedModels/mine", "http://proxy/v1/tunedModels/mine"),
        ("http://proxy", "..", "http://proxy/v1beta/models/%2E%2E"),
        ("http://proxy", "a?b#c/../d", "http://proxy/v1beta/a%3Fb%23c/%2E%2E%2Fd"),
    ] {
        asked.model_config = Arc::new(model(id).with_base_url(base));
        let outgoing = Gemini.request(&asked).unwrap();
        assert_eq!(outgoing.url, format!("{url}:streamGenerateContent?alt=sse"));
    }
}

#[test]
fn extra_headers_are_sent() {
    let mut model = model(MODERN);
    model.headers.insert("x-team".to_owned(), "blue".to_owned());
    let outgoing = Gemini.request(&request(model, vec![Message::user("Hello")])).unwrap();
    assert_eq!(outgoing.headers["x-team"], "blue");
    assert_eq!(outgoing.headers["content-type"], "application/json");
}

#[test]
fn builds_a_complete_request() {
    let mut asked = request(
        model(MODERN),
        vec![
            user(vec!["What is in a.txt?".into(), image("image/png")]),
            reply(
                MODERN,
                vec![
                    thinking("I should look.", None),
                    call("c1", "read", json!({"path": "a.txt"}), Some("sig-1")),
                ],
            ),
            result("c1", "read", vec!["horses".into()]),
        ],
    );
    asked.system_prompt = "Be brief.".into();
    asked.tools = vec![read_tool(), tool("now", json!({"type": "object", "properties": {}}))].into();
    asked.thinking_level = ThinkingLevel::High;
    asked.max_tokens = Some(4096);
    asked.temperature = Some(0.7);
    assert_eq!(
        sent(&asked),
        json!({
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "generationConfig": {
                "maxOutputTokens": 4096,
                "temperature": 0.7,
                "thinkingConfig": {"thinkingLevel": "HIGH", "includeThoughts": true},
            },
            "tools": [{"functionDeclarations": [
                {
                    "name": "read",
                    "description": "Does read.",
                    "parametersJsonSchema": {
                        "type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"],
                    },
                },
                {"name": "now", "description": "Does now."},
            ]}],
            "contents": [
                {"role": "user", "parts": [
                    {"text": "What is in a.txt?"},
                    {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}},
                ]},
                {"role": "model", "parts": [
                    {"text": "I should look.", "thought": true},
                    {
                        "functionCall": {"id": "c1", "name": "read", "args": {"path": "a.txt"}},
                        "thoughtSignature": "sig-1",
                    },
                ]},
                {"role": "user", "parts": [
                    {"functionResponse": {"id": "c1", "name": "read", "response": {"output": "horses"}}},
                ]},
            ],
        })
    );
}

#[test]
fn signatures_go_back_on_their_parts() {
    let parts = |content| {
        contents(MODERN, vec![Message::user("Hi"), reply(MODERN, content), Message::user("Go on")])[1].clone()
    };
    assert_eq!(
        parts(vec![thinking("Hm.", Some("s1")), thinking("", Some("s2")), "Hello".into()])["parts"],
        json!([
            {"text": "Hm.", "thought": true, "thoughtSignature": "s1"},
            {"text": "Hello", "thoughtSignature": "s2"},
        ])
    );
    // A signature that no text or image follows came on an empty text.
    assert_eq!(
        parts(vec![
            "A".into(),
            thinking("", Some("s1")),
            thinking("", Some("s2")),
            image("image/png"),
            "B".into()
        ])["parts"],
        json!([
            {"text": "A"},
            {"text": "", "thoughtSignature": "s1"},
            {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}, "thoughtSignature": "s2"},
            {"text": "B"},
        ])
    );
}

#[test]
fn parallel_tool_calls_keep_signatures_and_share_one_response_content() {
    let wire = contents(
        MODERN,
        vec![
            Message::user("Both"),
            reply(
                MODERN,
                vec![
                    call("a", "read", json!({"path": "1"}), Some("s")),
                    call("b", "read", json!({"path": "2"}), None),
                ],
            ),
            result("a", "read", vec!["one".into()]),
            result("b", "read", vec!["two".into()]),
            Message::user("And now?"),
        ],
    );
    assert_eq!(
        wire[1]["parts"],
        json!([
            {"functionCall": {"id": "a", "name": "read", "args": {"path": "1"}}, "thoughtSignature": "s"},
            {"functionCall": {"id": "b", "name": "read", "args": {"path": "2"}}},
        ])
    );
    assert_eq!(
        wire[2],
        json!({"role": "user", "parts": [
            {"functionResponse": {"id": "a", "name": "read", "response": {"output": "one"}}},
            {"functionResponse": {"id": "b", "name": "read", "response": {"output": "two"}}},
            {"text": "And now?"},
        ]})
    );
}

#[test]
fn history_of_another_model_gets_placeholder_signatures() {
    let unknown = Content::Unknown(json!({"executableCode": {"code": "1"}}).as_object().unwrap().clone());
    let wire = contents(
        MODERN,
        vec![
            Message::user("Hi"),
            reply_of(
                "anthropic",
                "claude",
                StopReason::ToolUse,
                vec![
                    thinking("secret", Some("theirs")),
                    Content::RedactedThinking { data: "x".into() },
                    unknown,
                    "Looking.".into(),
                    call("toolu_1", "read", json!({}), Some("theirs")),
                    call("toolu_2", "mcp/odd name", json!({}), Some("theirs")),
                ],
            ),
            result("toolu_1", "read", vec!["one".into()]),
            result("toolu_2", "mcp/odd name", vec!["two".into()]),
        ],
    );
    assert_eq!(
        wire[1]["parts"],
        json!([
            {"text": "Looking."},
            {
                "functionCall": {"id": "toolu_1", "name": "read", "args": {}},
                "thoughtSignature": "skip_thought_signature_validator",
            },
            {"functionCall": {"id": "toolu_2", "name": "mcp_odd_name", "args": {}}},
        ])
    );
    assert_eq!(wire[2]["parts"][1]["functionResponse"]["name"], "mcp_odd_name");
}

#[test]
fn reply_without_sendable_blocks_is_omitted() {
    let picture = reply_of("other", "m", StopReason::Stop, vec![thinking("only", None), image("image/png")]);
    let wire = contents(MODERN, vec![Message::user("One"), picture, Message::user("Two")]);
    assert_eq!(wire, json!([{"role": "user", "parts": [{"text": "One"}, {"text": "Two"}]}]));
}

#[test]
fn paused_reply_of_another_provider_gets_a_continue_message() {
    let paused = reply_of("anthropic", "claude", StopReason::Pause, vec!["So far".into()]);
    let silent = reply_of("anthropic", "claude", StopReason::Pause, vec![image("image/png")]);
    let wire = contents(MODERN, vec![Message::user("Go"), reply(MODERN, vec!["Yes".into()]), silent]);
    assert_eq!(wire[2], json!({"role": "user", "parts": [{"text": "Continue."}]}));
    let wire = contents(MODERN, vec![Message::user("Go"), paused]);
    assert_eq!(wire[2], json!({"role": "user", "parts": [{"text": "Continue."}]}));
}

#[test]
fn provider_specific_blocks_go_back_unchanged() {
    let block = json!({"executableCode": {"language": "PYTHON", "code": "1+1"}, "thoughtSignature": "s"});
    let unknown = Content::Unknown(block.as_object().unwrap().clone());
    let strange = Content::Unknown(json!({"type": "server_tool_use"}).as_object().unwrap().clone());
    let wire = contents(
        MODERN,
        vec![Message::user("Hi"), reply(MODERN, vec![unknown, strange, "2".into()]), Message::user("?")],
    );
    assert_eq!(wire[1]["parts"], json!([block, {"text": "2"}]));
}

#[test]
fn before_gemini_3_no_ids_or_placeholder_signatures_and_images_follow_results() {
    let wire = contents(
        EARLY,
        vec![
            Message::user("Hi"),
            reply(EARLY, vec![call("a", "shot", json!({}), None), call("b", "read", json!({}), None)]),
            result("a", "shot", vec![image("image/png")]),
            result("b", "read", vec!["two".into()]),
        ],
    );
    assert_eq!(
        wire[1]["parts"],
        json!([{"functionCall": {"name": "shot", "args": {}}}, {"functionCall": {"name": "read", "args": {}}}])
    );
    assert_eq!(
        wire[2]["parts"],
        json!([
            {"functionResponse": {"name": "shot", "response": {"output": "(see the image)"}}},
            {"functionResponse": {"name": "read", "response": {"output": "two"}}},
            {"text": "Output of the tool `shot`:"},
            {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}},
        ])
    );
}

#[test]
fn since_gemini_3_images_are_part_of_the_result() {
    let wire = contents(
        MODERN,
        vec![
            Message::user("Hi"),
            reply(MODERN, vec![call("a", "shot", json!({}), Some("s"))]),
            result("a", "shot", vec!["done".into(), image("image/png"), image("image/heic")]),
        ],
    );
    assert_eq!(
        wire[2]["parts"],
        json!([
            {"functionResponse": {
                "id": "a",
                "name": "shot",
                "response": {"output": "done"},
                "parts": [{"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}],
            }},
            {"text": "Output of the tool `shot`:"},
            {"inlineData": {"mimeType": "image/heic", "data": "iVBORw0KGgo="}},
        ])
    );
}

#[test]
fn unsupported_images_are_replaced_by_a_note() {
    let wire = contents(MODERN, vec![user(vec![image("image/gif")])]);
    assert_eq!(
        wire[0]["parts"],
        json!([{"text": "(image of type image/gif omitted: this model cannot read it)"}])
    );
}

#[test]
fn sends_failures_and_replaces_missing_output() {
    let unknown = Content::Unknown(json!({"x": 1}).as_object().unwrap().clone());
    let mut failed = result("a", "read", vec!["no such file".into()]);
    if let Message::ToolResult(result) = &mut failed {
        result.is_error = true;
    }
    let wire = contents(
        MODERN,
        vec![
            user(vec![unknown.clone()]),
            reply(MODERN, vec![call("a", "read", json!({}), Some("s")), call("b", "read", json!({}), None)]),
            failed,
            result("b", "read", vec![unknown]),
        ],
    );
    assert_eq!(wire[0]["parts"], json!([{"text": "(no content)"}]));
    assert_eq!(wire[2]["parts"][0]["functionResponse"]["response"], json!({"error": "no such file"}));
    assert_eq!(wire[2]["parts"][1]["functionResponse"]["response"], json!({"output": "(no output)"}));
}

#[test]
fn configuration_can_turn_ids_on_and_off() {
    let history = || {
        vec![
            Message::user("Hi"),
            reply(MODERN, vec![call("a", "read", json!({}), Some("s"))]),
            result("a", "read", vec!["x".into()]),
        ]
    };
    let mut without = model(MODERN);
    without.compat = json!({"callIds": false});
    let wire = sent(&request(without, history()));
    assert_eq!(wire["contents"][1]["parts"][0]["functionCall"], json!({"name": "read", "args": {}}));
    assert_eq!(wire["contents"][2]["parts"][0]["functionResponse"].get("id"), None);
}

#[test]
fn maps_tool_choice_to_a_mode() {
    let mut asked = request(model(MODERN), vec![Message::user("Hi")]);
    asked.tools = vec![read_tool()].into();
    let rows = [
        (ToolChoice::Auto, json!(null)),
        (ToolChoice::None, json!({"functionCallingConfig": {"mode": "NONE"}})),
        (ToolChoice::Required, json!({"functionCallingConfig": {"mode": "ANY"}})),
        (
            ToolChoice::Tool("read".into()),
            json!({"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["read"]}}),
        ),
    ];
    for (choice, config) in rows {
        asked.tool_choice = choice;
        assert_eq!(sent(&asked)["toolConfig"], config);
    }
    asked.tool_choice = ToolChoice::Tool("write".into());
    let error = Gemini.request(&asked).unwrap_err().to_string();
    assert!(error.contains("tool choice `write`"), "{error}");
    asked.tools = Arc::from([]);
    assert_eq!(sent(&asked).get("toolConfig"), None);
}

#[test]
fn structured_output_is_a_schema_or_an_instruction_with_tools() {
    let schema = json!({"type": "object", "properties": {"answer": {"type": "string"}}});
    let output = Some(Arc::new(OutputSchema { name: "answer".into(), schema: schema.clone() }));
    let mut asked = request(model(EARLY), vec![Message::user("Hi")]);
    asked.output_schema = output.clone();
    assert_eq!(sent(&asked)["generationConfig"]["responseMimeType"], "application/json");
    assert_eq!(sent(&asked)["generationConfig"]["responseJsonSchema"], schema);
    asked.tools = vec![read_tool()].into();
    assert_eq!(sent(&asked)["generationConfig"].get("responseJsonSchema"), None);
    let instruction = sent(&asked)["systemInstruction"]["parts"][0]["text"].as_str().unwrap().to_owned();
    assert!(
        instruction.starts_with("When you give") && instruction.contains(&schema.to_string()),
        "{instruction}"
    );
    asked.model_config = Arc::new(model(MODERN));
    assert_eq!(sent(&asked)["generationConfig"]["responseJsonSchema"], schema);
    assert_eq!(sent(&asked).get("systemInstruction"), None);
}

#[test]
fn omits_temperature_if_the_model_accepts_none() {
    let mut asked = request(model("gemini-3.8-flash"), vec![Message::user("Hi")]);
    asked.temperature = Some(0.5);
    assert_eq!(sent(&asked)["generationConfig"].get("temperature"), None);
    asked.model_config = Arc::new(model(EARLY));
    assert_eq!(sent(&asked)["generationConfig"]["temperature"], 0.5);
    asked.temperature = Some(3.0);
    assert!(Gemini.request(&asked).is_err());
}

#[test]
fn rejects_invalid_tools() {
    for tools in [vec![tool("a b", json!({}))], vec![tool("", json!({}))], vec![read_tool(), read_tool()]] {
        let mut asked = request(model(MODERN), vec![Message::user("Hi")]);
        asked.tools = tools.into();
        let error = Gemini.request(&asked).unwrap_err();
        assert!(error.to_string().contains("would reject this request"), "{error}");
    }
}

#[test]
fn sends_no_cache_hints() {
    let mut asked = request(model(MODERN), vec![Message::user("Hi")]);
    let with = sent(&asked);
    asked.cache_config.enabled = false;
    assert_eq!(with, sent(&asked));
}

/// Any blocks of any provider.
fn blocks() -> impl Strategy<Value = Vec<Content>> {
    let block = prop_oneof![
        3 => "[a-z ]{0,8}".prop_map(Content::from),
        1 => prop_oneof![Just("image/png"), Just("image/gif"), Just("image/heic")].prop_map(image),
        1 => ("[a-z]{0,3}", proptest::option::of("[a-z]{4}")).prop_map(|(text, signature)| thinking(&text, signature.as_deref())),
        1 => Just(Content::RedactedThinking { data: "x".into() }),
        1 => prop_oneof![Just("executableCode"), Just("type"), Just("text")]
            .prop_map(|key| Content::Unknown(Map::from_iter([(key.to_owned(), json!({"a": 1}))]))),
        4 => ("[ab|é ]{0,3}", prop_oneof![Just("read"), Just("an/odd"), Just("9")], proptest::option::of("[a-z]{4}"))
            .prop_map(|(id, name, signature)| call(&id, name, json!({"p": 1}), signature.as_deref())),
    ];
    proptest::collection::vec(block, 0..5)
}

/// Any messages in any order.
fn messages() -> impl Strategy<Value = Vec<Message>> {
    let service =
        prop_oneof![Just(("google", MODERN)), Just(("google", EARLY)), Just(("anthropic", "claude"))];
    let stop = prop_oneof![Just(StopReason::Stop), Just(StopReason::Pause), Just(StopReason::Aborted)];
    let message = prop_oneof![
        blocks().prop_map(user),
        (service, stop, blocks())
            .prop_map(|((provider, model), stop, content)| reply_of(provider, model, stop, content)),
        ("[ab|é ]{0,3}", blocks()).prop_map(|(id, content)| result(&id, "read", content)),
    ];
    proptest::collection::vec(message, 1..12)
}

/// The same request to Vertex.
fn vertex(request: &StreamConfig) -> Result<OutgoingRequest, ProviderError> {
    let mut request = request.clone();
    let mut model = ModelConfig::clone(&request.model_config);
    model.compat = json!({"project": "p"});
    request.model_config = Arc::new(model);
    Vertex.request(&request)
}

fn history() -> impl Strategy<Value = (&'static str, Vec<Message>)> {
    (prop_oneof![Just(MODERN), Just(EARLY)], messages())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_valid_transcript_passes_validation_and_the_strict_server((id, messages) in history()) {
        let Ok(window) = transcript(messages).request() else { return Ok(()) };
        let asked = StreamConfig::new(Arc::new(model(id)), window);
        for (wire, outgoing) in [(Wire::Gemini, Gemini.request(&asked)), (Wire::Vertex, vertex(&asked))] {
            let body = serde_json::from_slice(&outgoing.unwrap().body).unwrap();
            let problems = validate::body(wire, id, &body);
            prop_assert!(problems.is_empty(), "{problems:?} in {body:#}");
        }
    }

    #[test]
    fn appended_body_equals_one_built_from_scratch((id, messages) in history()) {
        let model = Arc::new(model(id));
        let whole: Vec<_> = transcript(messages).window().iter().cloned().collect();
        let memo = RequestMemo::default();
        for end in 1..=whole.len() {
            let Ok(window) = Transcript::repair(whole[..end].iter().cloned()).0.request() else { continue };
            let mut grown = StreamConfig::new(Arc::clone(&model), window.clone());
            grown.memo = memo.clone();
            let at_once = StreamConfig::new(Arc::clone(&model), window);
            prop_assert_eq!(Gemini.request(&grown).unwrap().body, Gemini.request(&at_once).unwrap().body);
        }
    }
}
