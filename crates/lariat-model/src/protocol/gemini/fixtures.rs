//! Fixtures for the tests of Gemini and Vertex: conversations and requests.

use std::sync::Arc;

use lariat_core::content::{Content, ToolCall};
use lariat_core::message::{
    AgentMessage, AssistantMessage, Message, StopReason, ToolResultMessage, UserMessage,
};
use lariat_core::model::{ModelConfig, StreamConfig};
use lariat_core::tool::ToolDefinition;
use lariat_core::transcript::Transcript;
use lariat_core::usage::Usage;
use serde_json::{Value, json};

use crate::protocol::Protocol;

pub(crate) const MODERN: &str = "gemini-3-pro-preview";
pub(crate) const EARLY: &str = "gemini-2.5-flash";

pub(crate) fn model(id: &str) -> ModelConfig {
    let mut model = ModelConfig::new("google-gemini", id);
    model.provider = "google".to_owned();
    model
}

pub(crate) fn user(content: Vec<Content>) -> Message {
    Message::User(UserMessage::new(content))
}

/// A reply of a Google model.
pub(crate) fn reply(model: &str, content: Vec<Content>) -> Message {
    reply_of("google", model, StopReason::Stop, content)
}

pub(crate) fn reply_of(
    provider: &str,
    model: &str,
    stop_reason: StopReason,
    content: Vec<Content>,
) -> Message {
    Message::Assistant(AssistantMessage {
        content,
        stop_reason,
        model: model.to_owned(),
        requested_model: None,
        provider: provider.to_owned(),
        usage: Usage::default(),
        timestamp: Default::default(),
        error_message: None,
    })
}

pub(crate) fn call(id: &str, name: &str, arguments: Value, signature: Option<&str>) -> Content {
    let signature = signature.map(str::to_owned);
    Content::ToolCall(Arc::new(ToolCall { id: id.into(), name: name.to_owned(), arguments, signature }))
}

pub(crate) fn thinking(text: &str, signature: Option<&str>) -> Content {
    Content::Thinking { thinking: text.to_owned(), signature: signature.map(str::to_owned) }
}

pub(crate) fn result(id: &str, name: &str, content: Vec<Content>) -> Message {
    Message::ToolResult(ToolResultMessage {
        tool_call_id: id.into(),
        tool_name: name.to_owned(),
        content,
        is_error: false,
        timestamp: Default::default(),
    })
}

pub(crate) fn image(mime_type: &str) -> Content {
    Content::Image { data: "iVBORw0KGgo=".to_owned(), mime_type: mime_type.to_owned() }
}

pub(crate) fn transcript(messages: Vec<Message>) -> Transcript {
    Transcript::repair(messages.into_iter().map(|message| Arc::new(AgentMessage::from(message)))).0
}

pub(crate) fn request(model: ModelConfig, messages: Vec<Message>) -> StreamConfig {
    StreamConfig::new(Arc::new(model), transcript(messages).request().unwrap())
}

pub(crate) fn tool(name: &str, parameters: Value) -> ToolDefinition {
    ToolDefinition { name: name.to_owned(), description: format!("Does {name}."), parameters }
}

pub(crate) fn read_tool() -> ToolDefinition {
    tool("read", json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}))
}

/// The body of a request.
pub(crate) fn sent(request: &StreamConfig) -> Value {
    let outgoing = super::Gemini.request(request).unwrap();
    serde_json::from_slice(&outgoing.body).unwrap()
}

/// The contents that messages become for a model.
pub(crate) fn contents(id: &str, messages: Vec<Message>) -> Value {
    sent(&request(model(id), messages))["contents"].clone()
}
