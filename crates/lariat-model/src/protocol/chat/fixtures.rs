//! Fixtures for the tests of OpenAI's protocols: small conversations, random ones, and decoding a whole
//! stream.

use std::sync::Arc;

use lariat_core::content::Content;
use lariat_core::message::{
    AgentMessage, AssistantMessage, Message, StopReason, ToolResultMessage, UserMessage,
};
use lariat_core::model::{ModelConfig, ProviderError, StreamConfig, StreamEvent};
use lariat_core::transcript::Transcript;
use lariat_core::usage::Usage;
use lariat_proofs::server::{Wire, validate};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::protocol::Protocol;

/// A model of a provider.
pub(crate) fn model(provider: &str, id: &str) -> ModelConfig {
    let mut model = ModelConfig::new("openai-chat", id);
    model.provider = provider.into();
    model
}

/// A request with a conversation, repaired if necessary.
pub(crate) fn request(model: ModelConfig, messages: impl IntoIterator<Item = Message>) -> StreamConfig {
    let shared = messages.into_iter().map(|message| Arc::new(AgentMessage::from(message)));
    let (transcript, _) = Transcript::repair(shared);
    StreamConfig::new(Arc::new(model), transcript.window())
}

/// The body of a request.
pub(crate) fn sent(protocol: &dyn Protocol, request: &StreamConfig) -> Value {
    let outgoing = protocol.request(request).expect("the request must be accepted");
    serde_json::from_slice(&outgoing.body).expect("the body must be JSON")
}

/// One field of the body of a request.
pub(crate) fn sent_field(protocol: &dyn Protocol, request: &StreamConfig, field: &str) -> Value {
    sent(protocol, request).get_mut(field).map_or(Value::Null, Value::take)
}

/// A user message.
pub(crate) fn user(content: Vec<Content>) -> Message {
    Message::User(UserMessage::new(content))
}

/// A reply of a model.
pub(crate) fn reply(model: &ModelConfig, content: Vec<Content>) -> Message {
    let calls = content.iter().any(|block| block.as_tool_call().is_some());
    Message::Assistant(AssistantMessage {
        content,
        stop_reason: if calls { StopReason::ToolUse } else { StopReason::Stop },
        model: format!("{}-snapshot", model.id),
        requested_model: Some(model.id.clone()),
        provider: model.provider.clone(),
        usage: Usage::default(),
        timestamp: Default::default(),
        error_message: None,
    })
}

/// A tool result.
pub(crate) fn result(id: &str, name: &str, content: Vec<Content>) -> Message {
    Message::ToolResult(ToolResultMessage {
        tool_call_id: id.into(),
        tool_name: name.into(),
        content,
        is_error: false,
        timestamp: Default::default(),
    })
}

/// An image of one byte.
pub(crate) fn image() -> Content {
    Content::Image { data: "AA==".into(), mime_type: "image/png".into() }
}

/// Reasoning with a signature.
pub(crate) fn thinking(text: &str, signature: Option<&str>) -> Content {
    Content::Thinking { thinking: text.into(), signature: signature.map(str::to_owned) }
}

/// A conversation with a tool call of this model and its result.
pub(crate) fn tool_loop(model: &ModelConfig) -> Vec<Message> {
    vec![
        Message::user("read it"),
        reply(
            model,
            vec![Content::text("I will."), Content::tool_call("call_1", "read", json!({"path": "a"}))],
        ),
        result("call_1", "read", vec![Content::text("hello")]),
    ]
}

/// Decodes a stream; returns its events and how it ended.
pub(crate) fn decode(
    protocol: &dyn Protocol,
    request: &StreamConfig,
    stream: &str,
) -> (Vec<StreamEvent>, Result<(), ProviderError>) {
    let mut decoder = protocol.decoder(request);
    let outcome = decoder.feed(stream.as_bytes()).and_then(|()| decoder.end());
    (std::iter::from_fn(|| decoder.next_event()).collect(), outcome)
}

/// A stream of data lines.
pub(crate) fn sse(lines: &[&str]) -> String {
    lines.iter().map(|line| format!("data: {line}\n\n")).collect()
}

fn block() -> impl Strategy<Value = Content> {
    let signature = prop::option::of(prop_oneof![
        Just("sig".to_owned()),
        Just(r#"[{"type":"reasoning.text","text":"x"}]"#.to_owned()),
        Just(r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"SIG"}"#.to_owned()),
        Just("{}".to_owned()),
    ]);
    let unknown = prop_oneof![Just("server_tool_use"), Just("web_search_call"), Just("message_phase")];
    prop_oneof![
        3 => "[a-z \\n]{0,6}".prop_map(Content::text),
        1 => Just(image()),
        1 => Just(Content::Image { data: String::new(), mime_type: String::new() }),
        2 => ("[a-z]{0,3}", signature).prop_map(|(thinking, signature)| Content::Thinking { thinking, signature }),
        1 => Just(Content::RedactedThinking { data: "x".into() }),
        3 => ("[a-z:|]{0,2}", "[a-zé.]{0,2}").prop_map(|(id, name)| Content::tool_call(id, name, json!({"a": 1}))),
        1 => unknown.prop_map(|kind| {
            Content::Unknown(json!({"type": kind, "phase": "commentary"}).as_object().unwrap().clone())
        }),
    ]
}

/// Random messages of two models, for [`Transcript::repair`] to turn into a conversation.
pub(crate) fn histories(own: ModelConfig) -> impl Strategy<Value = Vec<Message>> {
    let stop = prop_oneof![
        3 => Just(StopReason::Stop),
        3 => Just(StopReason::ToolUse),
        1 => Just(StopReason::Pause),
        1 => Just(StopReason::Length),
        1 => Just(StopReason::Aborted),
        1 => Just(StopReason::Error),
    ];
    let foreign = model("anthropic", "claude");
    let message = prop_oneof![
        prop::collection::vec(block(), 0..3).prop_map(user),
        (any::<bool>(), stop, prop::collection::vec(block(), 0..5)).prop_map(
            move |(is_own, stop, content)| {
                let mut message = reply(if is_own { &own } else { &foreign }, content);
                if let Message::Assistant(assistant) = &mut message {
                    assistant.stop_reason = stop;
                }
                message
            }
        ),
        ("[a-z:|]{0,2}", prop::collection::vec(block(), 0..3))
            .prop_map(|(id, content)| result(&id, "t", content)),
    ];
    // Ends in a user message, so that the model has something to answer.
    prop::collection::vec(message, 0..14).prop_map(|mut messages| {
        messages.push(Message::user("go on"));
        messages
    })
}

/// Checks that a history's body does not depend on how it was built, and that it is never rejected: neither
/// by our own validation nor by `judge`, the strict server that shares no code with us.
pub(crate) fn grows_like_it_is_built(
    protocol: &dyn Protocol,
    model: ModelConfig,
    messages: &[Message],
    cut: usize,
    judge: Option<Wire>,
) -> Result<(), TestCaseError> {
    let mut transcript = Transcript::default();
    let mut last = None;
    // Pushes step by step into one transcript, so that the windows share their messages, and builds requests
    // at several points.
    let (whole, _) =
        Transcript::repair(messages.iter().cloned().map(|message| Arc::new(AgentMessage::from(message))));
    let all: Vec<_> = whole.window().iter().cloned().collect();
    let mut at = 0;
    let memo = StreamConfig::new(Arc::new(model.clone()), whole.window()).memo;
    while let Some(message) = all.get(at) {
        if let Some(reply) = message.as_assistant() {
            let results =
                all.iter().skip(at + 1).take(reply.tool_calls().count()).cloned().collect::<Vec<_>>();
            at += results.len();
            transcript.push_exchange(Arc::clone(message), results).expect("repaired");
        } else {
            transcript.push_user(Arc::clone(message)).expect("repaired");
        }
        at += 1;
        if let Ok(window) = transcript.request()
            && (at % (cut + 1) == 0 || at == all.len())
        {
            let mut request = StreamConfig::new(Arc::new(model.clone()), window);
            request.memo = memo.clone();
            let grown = protocol.request(&request);
            let grown = grown.map_err(|error| TestCaseError::fail(format!("rejected: {error}")))?;
            request.memo = Default::default();
            let built = protocol.request(&request).expect("accepted before");
            prop_assert_eq!(&grown.body, &built.body);
            let body: Value = serde_json::from_slice(&grown.body).expect("the body must be JSON");
            let problems = judge.map(|wire| validate::body(wire, &model.id, &body)).unwrap_or_default();
            prop_assert!(problems.is_empty(), "{problems:?} in {body:#}");
            last = Some(grown.body);
        }
    }
    prop_assert!(last.is_some());
    Ok(())
}
