//! Fixtures for the tests of this protocol.

use std::sync::Arc;

use lariat_core::content::Content;
use lariat_core::message::{
    AgentMessage, AssistantMessage, Message, SharedMessage, StopReason, ToolResultMessage, UserMessage,
};
use lariat_core::model::{ModelConfig, StreamConfig};
use lariat_core::tool::ToolDefinition;
use lariat_core::transcript::Transcript;
use serde_json::{Value, json};

pub(crate) const MODEL: &str = "claude-sonnet-4-5";

pub(crate) fn model(id: &str) -> ModelConfig {
    let mut model = ModelConfig::new("anthropic-messages", id);
    model.provider = "anthropic".into();
    model
}

pub(crate) fn user(content: Vec<Content>) -> SharedMessage {
    shared(Message::User(UserMessage::new(content)))
}

pub(crate) fn says(text: &str) -> SharedMessage {
    user(vec![text.into()])
}

/// A reply of the model that the test requests go to.
pub(crate) fn reply(content: Vec<Content>) -> SharedMessage {
    reply_of(("anthropic", MODEL), StopReason::Stop, content)
}

pub(crate) fn reply_of(
    (provider, model): (&str, &str),
    stop_reason: StopReason,
    content: Vec<Content>,
) -> SharedMessage {
    shared(Message::Assistant(AssistantMessage {
        content,
        stop_reason,
        model: format!("{model}-20250929"),
        requested_model: Some(model.into()),
        provider: provider.into(),
        usage: Default::default(),
        timestamp: Default::default(),
        error_message: None,
    }))
}

pub(crate) fn call(id: &str, name: &str) -> Content {
    Content::tool_call(id, name, json!({"path": "a.txt"}))
}

pub(crate) fn result(id: &str, content: Vec<Content>) -> SharedMessage {
    shared(Message::ToolResult(ToolResultMessage {
        tool_call_id: id.into(),
        tool_name: "read".into(),
        content,
        is_error: false,
        timestamp: Default::default(),
    }))
}

pub(crate) fn failed(id: &str, text: &str) -> SharedMessage {
    shared(Message::ToolResult(ToolResultMessage {
        tool_call_id: id.into(),
        tool_name: "read".into(),
        content: vec![text.into()],
        is_error: true,
        timestamp: Default::default(),
    }))
}

pub(crate) fn thinking(text: &str, signature: Option<&str>) -> Content {
    Content::Thinking { thinking: text.into(), signature: signature.map(str::to_owned) }
}

pub(crate) fn image(mime_type: &str) -> Content {
    Content::Image { data: "aGVsbG8=".into(), mime_type: mime_type.into() }
}

pub(crate) fn unknown(block: Value) -> Content {
    Content::Unknown(block.as_object().unwrap().clone())
}

pub(crate) fn tool(name: &str) -> ToolDefinition {
    let parameters = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    ToolDefinition { name: name.into(), description: format!("Does {name}."), parameters }
}

/// A request to the tests' model.
pub(crate) fn request(messages: Vec<SharedMessage>) -> StreamConfig {
    request_to(model(MODEL), messages)
}

pub(crate) fn request_to(model: ModelConfig, messages: Vec<SharedMessage>) -> StreamConfig {
    let (transcript, repairs) = Transcript::repair(messages);
    assert_eq!(repairs, [], "test conversations must be valid");
    StreamConfig::new(Arc::new(model), transcript.window())
}

fn shared(message: Message) -> SharedMessage {
    Arc::new(AgentMessage::from(message))
}
