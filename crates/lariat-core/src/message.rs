//! Messages: what a conversation is made of.
//!
//! Owns the roles of seed 002 (user, assistant, tool result, extension) and their serialised names. A message is
//! immutable once recorded and shared by reference from then on.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::content::{Content, ToolCall, joined_text};
use crate::id::{MessageId, ToolCallId, TurnId};
use crate::time::Timestamp;
use crate::usage::Usage;

/// A message as it is shared between journal, transcript and observers.
pub type SharedMessage = Arc<AgentMessage>;

/// A message that can be sent to a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "camelCase")]
pub enum Message {
    /// Words of the user.
    User(UserMessage),
    /// A reply of the model.
    Assistant(AssistantMessage),
    /// The outcome of a tool call.
    ToolResult(ToolResultMessage),
}

/// Words of the user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UserMessage {
    /// Usually a single text block.
    pub content: Vec<Content>,
    /// Whose words they are.
    #[serde(default, skip_serializing_if = "Origin::is_person")]
    pub origin: Origin,
    /// Unix milliseconds.
    #[serde(default, with = "millis")]
    pub timestamp: Timestamp,
}

/// Whose words a user message holds. Models know one user; compaction must know who spoke.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
#[non_exhaustive]
pub enum Origin {
    /// A person's, or of the program that stands for one. They are never compacted.
    #[default]
    Person,
    /// The runtime tells the model something: a section of its context that is new or has changed.
    Note {
        /// The section.
        section: String,
    },
    /// It stands for a part of the conversation that was compacted.
    Summary,
}

impl Origin {
    /// True for a person's own words.
    pub const fn is_person(&self) -> bool {
        matches!(self, Self::Person)
    }
}

impl UserMessage {
    /// A person's words. The timestamp is set when they are recorded.
    pub fn new(content: Vec<Content>) -> Self {
        Self { content, origin: Origin::Person, timestamp: Timestamp::default() }
    }

    /// The same, said at this time.
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
    /// Model id as the provider returned it.
    pub model: String,
    /// Model id that was asked for, where the provider returned another. Decides whether a later request goes to the
    /// same model, so that signatures may travel with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_model: Option<String>,
    /// Provider name, for example `anthropic`.
    pub provider: String,
    /// Token counts of the call.
    pub usage: Usage,
    /// Unix milliseconds.
    #[serde(default, with = "millis")]
    pub timestamp: Timestamp,
    /// Set when `stop_reason` is `Error`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
}

/// The outcome of a tool call, as the model sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolResultMessage {
    /// The call this answers.
    pub tool_call_id: ToolCallId,
    /// The tool's name.
    pub tool_name: String,
    /// Usually a single text block.
    pub content: Vec<Content>,
    /// True when the tool failed, was denied, skipped or interrupted.
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
    /// It was done.
    Stop,
    /// The output limit was hit.
    Length,
    /// It asked for tools.
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

/// A message sent to the model, with its identity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LlmMessage {
    /// Identity; nil until the message is recorded.
    #[serde(default)]
    pub id: MessageId,
    /// The turn that produced it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    /// The message itself.
    #[serde(flatten)]
    pub message: Message,
}

/// A message of the application that is never sent to the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExtensionMessage {
    /// Identity; nil until the message is recorded.
    #[serde(default)]
    pub id: MessageId,
    role: ExtensionRole,
    /// Application-defined kind, for example `ui_update`.
    pub kind: String,
    /// Application-defined payload.
    pub data: Value,
}

/// The one role an extension message has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum ExtensionRole {
    Extension,
}

/// Anything a conversation can hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AgentMessage {
    /// Sent to the model.
    Llm(LlmMessage),
    /// Kept for the application only.
    Extension(ExtensionMessage),
}

impl Message {
    /// A user message of one text block. The timestamp is set when it is recorded.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User(UserMessage::new(vec![Content::text(text)]))
    }

    /// The blocks.
    pub fn content(&self) -> &[Content] {
        match self {
            Self::User(user) => &user.content,
            Self::Assistant(assistant) => &assistant.content,
            Self::ToolResult(result) => &result.content,
        }
    }

    /// The blocks, to be changed before the message is recorded.
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

    /// All text blocks, joined by newlines.
    pub fn text(&self) -> String {
        joined_text(self.content())
    }
}

impl AssistantMessage {
    /// Model id that was asked for.
    pub fn asked_model(&self) -> &str {
        self.requested_model.as_deref().unwrap_or(&self.model)
    }

    /// The tool calls, in the order the model made them.
    pub fn tool_calls(&self) -> impl Iterator<Item = &Arc<ToolCall>> {
        self.content.iter().filter_map(Content::as_tool_call)
    }
}

impl ExtensionMessage {
    /// An extension message of the given kind.
    pub fn new(kind: impl Into<String>, data: Value) -> Self {
        Self { id: MessageId::default(), role: ExtensionRole::Extension, kind: kind.into(), data }
    }
}

impl AgentMessage {
    /// A user message of one text block.
    pub fn user(text: impl Into<String>) -> Self {
        Message::user(text).into()
    }

    /// A message of the runtime to the model: a section of its context.
    pub fn note(section: impl Into<String>, text: impl Into<String>) -> Self {
        let origin = Origin::Note { section: section.into() };
        Message::User(UserMessage { origin, ..UserMessage::new(vec![Content::text(text)]) }).into()
    }

    /// A message that stands for a part of the conversation that was compacted.
    pub fn summary(text: impl Into<String>) -> Self {
        let origin = Origin::Summary;
        Message::User(UserMessage { origin, ..UserMessage::new(vec![Content::text(text)]) }).into()
    }

    /// The message's id; nil until it is recorded.
    pub const fn id(&self) -> MessageId {
        match self {
            Self::Llm(llm) => llm.id,
            Self::Extension(extension) => extension.id,
        }
    }

    /// Gives the message an id if it has none.
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

    /// The message a model can see, if it is one.
    pub const fn as_llm(&self) -> Option<&Message> {
        match self {
            Self::Llm(llm) => Some(&llm.message),
            Self::Extension(_) => None,
        }
    }

    /// The user's words, if this is a user message.
    pub const fn as_user(&self) -> Option<&UserMessage> {
        match self.as_llm() {
            Some(Message::User(user)) => Some(user),
            _ => None,
        }
    }

    /// The section, if the runtime tells the model something.
    pub fn note_section(&self) -> Option<&str> {
        match &self.as_user()?.origin {
            Origin::Note { section } => Some(section),
            _ => None,
        }
    }

    /// The model's reply, if this is one.
    pub const fn as_assistant(&self) -> Option<&AssistantMessage> {
        match self.as_llm() {
            Some(Message::Assistant(assistant)) => Some(assistant),
            _ => None,
        }
    }

    /// The tool result, if this is one.
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

/// Messages keep the seed's numeric timestamps; events write theirs as RFC 3339.
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
