//! Messages, the parts of a conversation.
//!
//! Defines the roles (user, assistant, tool result, extension) and their serialised names. A recorded message
//! is immutable and shared by reference.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::content::{Content, ToolCall, joined_text};
use crate::id::{MessageId, ToolCallId, TurnId};
use crate::time::Timestamp;
use crate::usage::Usage;

/// A message that journal, transcript and observers share.
pub type SharedMessage = Arc<AgentMessage>;

/// A message that can be sent to a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "camelCase")]
pub enum Message {
    /// Input of the user.
    User(UserMessage),
    /// A reply of the model.
    Assistant(AssistantMessage),
    /// The outcome of a tool call.
    ToolResult(ToolResultMessage),
}

/// Input of the user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UserMessage {
    /// Usually a single text block.
    pub content: Vec<Content>,
    /// Who wrote the message.
    #[serde(default, skip_serializing_if = "Origin::is_from_user")]
    pub origin: Origin,
    /// Unix milliseconds.
    #[serde(default, with = "millis")]
    pub timestamp: Timestamp,
}

/// Who wrote a user message. Models know only one user, but compaction must tell these apart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
#[non_exhaustive]
pub enum Origin {
    /// The user, or the program that acts for the user. Compaction never removes these messages.
    #[default]
    Person,
    /// The runtime, which gives the model a section of its context that is new or has changed.
    Note {
        /// Name of the section.
        section: String,
    },
    /// The summary of a compacted part of the conversation.
    Summary,
}

impl Origin {
    /// Returns true if the user wrote the message.
    pub const fn is_from_user(&self) -> bool {
        matches!(self, Self::Person)
    }
}

impl UserMessage {
    /// Creates a message of the user. The run sets the timestamp when it records the message.
    pub fn new(content: Vec<Content>) -> Self {
        Self { content, origin: Origin::Person, timestamp: Timestamp::default() }
    }

    /// Sets the timestamp.
    pub const fn at(mut self, timestamp: Timestamp) -> Self {
        self.timestamp = timestamp;
        self
    }
}

/// A reply of the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AssistantMessage {
    /// Text, thinking and tool call blocks.
    pub content: Vec<Content>,
    /// Why the model stopped.
    pub stop_reason: StopReason,
    /// Model id that the provider returned.
    pub model: String,
    /// Model id that was requested, if the provider returned another. Decides whether a later request goes to
    /// the same model, so that signatures may be sent with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_model: Option<String>,
    /// Provider name, for example `anthropic`.
    pub provider: String,
    /// Tokens and cost of the model call.
    pub usage: Usage,
    /// Unix milliseconds.
    #[serde(default, with = "millis")]
    pub timestamp: Timestamp,
    /// Set when `stop_reason` is `Error`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
}

/// The result of a tool call, as the model receives it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolResultMessage {
    /// Id of the tool call.
    pub tool_call_id: ToolCallId,
    /// Name of the tool.
    pub tool_name: String,
    /// Usually a single text block.
    pub content: Vec<Content>,
    /// True if the tool call failed, or was denied, skipped or interrupted.
    pub is_error: bool,
    /// Unix milliseconds.
    #[serde(default, with = "millis")]
    pub timestamp: Timestamp,
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum StopReason {
    /// The model finished its reply.
    Stop,
    /// The reply reached the output limit.
    Length,
    /// The model requested tool calls.
    ToolUse,
    /// The provider or the stream failed.
    Error,
    /// The run was cancelled.
    Aborted,
    /// The provider paused a long turn and expects to be called again (Anthropic `pause_turn`).
    Pause,
    /// The model or the provider refused.
    Refusal,
    /// The context window was exceeded while generating.
    ContextExceeded,
}

/// A message for the model, with its id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LlmMessage {
    /// Id; nil until the message is recorded.
    #[serde(default)]
    pub id: MessageId,
    /// The turn that produced it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    /// Role and content.
    #[serde(flatten)]
    pub message: Message,
}

/// A message of the application that is never sent to the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExtensionMessage {
    /// Id; nil until the message is recorded.
    #[serde(default)]
    pub id: MessageId,
    role: ExtensionRole,
    /// Application-defined kind, for example `ui_update`.
    pub kind: String,
    /// Application-defined payload.
    pub data: Value,
}

/// The only role of an extension message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum ExtensionRole {
    Extension,
}

/// Any message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AgentMessage {
    /// Sent to the model.
    Llm(LlmMessage),
    /// Only for the application.
    Extension(ExtensionMessage),
}

impl Message {
    /// Creates a user message of one text block. The run sets the timestamp when it records the message.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User(UserMessage::new(vec![Content::text(text)]))
    }

    /// Returns the content blocks.
    pub fn content(&self) -> &[Content] {
        match self {
            Self::User(user) => &user.content,
            Self::Assistant(assistant) => &assistant.content,
            Self::ToolResult(result) => &result.content,
        }
    }

    /// Returns the content blocks for changes before the message is recorded.
    pub fn content_mut(&mut self) -> &mut Vec<Content> {
        match self {
            Self::User(user) => &mut user.content,
            Self::Assistant(assistant) => &mut assistant.content,
            Self::ToolResult(result) => &mut result.content,
        }
    }

    pub(crate) fn timestamp_mut(&mut self) -> &mut Timestamp {
        match self {
            Self::User(user) => &mut user.timestamp,
            Self::Assistant(assistant) => &mut assistant.timestamp,
            Self::ToolResult(result) => &mut result.timestamp,
        }
    }

    /// Joins all text blocks with newlines.
    pub fn text(&self) -> String {
        joined_text(self.content())
    }
}

impl AssistantMessage {
    /// Returns the model id that was requested.
    pub fn asked_model(&self) -> &str {
        self.requested_model.as_deref().unwrap_or(&self.model)
    }

    /// Returns the tool calls in the order in which the model wrote them.
    pub fn tool_calls(&self) -> impl Iterator<Item = &Arc<ToolCall>> {
        self.content.iter().filter_map(Content::as_tool_call)
    }
}

impl ExtensionMessage {
    /// Creates an extension message.
    pub fn new(kind: impl Into<String>, data: Value) -> Self {
        Self { id: MessageId::default(), role: ExtensionRole::Extension, kind: kind.into(), data }
    }
}

impl AgentMessage {
    /// Creates a user message of one text block.
    pub fn user(text: impl Into<String>) -> Self {
        Message::user(text).into()
    }

    /// Creates a reply of a model with one text block, for a conversation that your program recorded itself.
    pub fn assistant(text: impl Into<String>) -> Self {
        Message::Assistant(AssistantMessage {
            content: vec![Content::text(text)],
            stop_reason: StopReason::Stop,
            model: String::new(),
            requested_model: None,
            provider: String::new(),
            usage: Usage::default(),
            timestamp: Timestamp::default(),
            error_message: None,
        })
        .into()
    }

    /// Creates a message of the runtime to the model that contains a section of its context.
    pub fn note(section: impl Into<String>, text: impl Into<String>) -> Self {
        let origin = Origin::Note { section: section.into() };
        Message::User(UserMessage { origin, ..UserMessage::new(vec![Content::text(text)]) }).into()
    }

    /// Creates the summary that replaces a compacted part of the conversation.
    pub fn summary(text: impl Into<String>) -> Self {
        let origin = Origin::Summary;
        Message::User(UserMessage { origin, ..UserMessage::new(vec![Content::text(text)]) }).into()
    }

    /// Returns the id; nil until the message is recorded.
    pub const fn id(&self) -> MessageId {
        match self {
            Self::Llm(llm) => llm.id,
            Self::Extension(extension) => extension.id,
        }
    }

    /// Assigns an id if the message has none.
    pub fn assign_id(&mut self, mint: impl FnOnce() -> MessageId) {
        if self.id().is_nil() {
            self.set_id(mint());
        }
    }

    fn set_id(&mut self, id: MessageId) {
        match self {
            Self::Llm(llm) => llm.id = id,
            Self::Extension(extension) => extension.id = id,
        }
    }

    /// Returns the message if it is for the model.
    pub const fn as_llm(&self) -> Option<&Message> {
        match self {
            Self::Llm(llm) => Some(&llm.message),
            Self::Extension(_) => None,
        }
    }

    /// Returns the message if it is a user message.
    pub const fn as_user(&self) -> Option<&UserMessage> {
        match self.as_llm() {
            Some(Message::User(user)) => Some(user),
            _ => None,
        }
    }

    /// Returns the section if the runtime wrote this message as a note.
    pub fn note_section(&self) -> Option<&str> {
        match &self.as_user()?.origin {
            Origin::Note { section } => Some(section),
            _ => None,
        }
    }

    /// Returns the message if it is a reply of the model.
    pub const fn as_assistant(&self) -> Option<&AssistantMessage> {
        match self.as_llm() {
            Some(Message::Assistant(assistant)) => Some(assistant),
            _ => None,
        }
    }

    /// Returns the message if it is a tool result.
    pub const fn as_tool_result(&self) -> Option<&ToolResultMessage> {
        match self.as_llm() {
            Some(Message::ToolResult(result)) => Some(result),
            _ => None,
        }
    }
}

impl From<Message> for AgentMessage {
    fn from(message: Message) -> Self {
        Self::Llm(LlmMessage { id: MessageId::default(), turn_id: None, message })
    }
}

impl From<ExtensionMessage> for AgentMessage {
    fn from(message: ExtensionMessage) -> Self {
        Self::Extension(message)
    }
}

impl From<&str> for AgentMessage {
    fn from(text: &str) -> Self {
        Self::user(text)
    }
}

impl From<String> for AgentMessage {
    fn from(text: String) -> Self {
        Self::user(text)
    }
}

/// Messages store timestamps as milliseconds; events write theirs as RFC 3339.
mod millis {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::time::Timestamp;

    pub(super) fn serialize<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(at.as_millis())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        u64::deserialize(deserializer).map(Timestamp::from_millis)
    }
}
