//! How events name content without repeating it.
//!
//! Owns the two forms: by id with the content attached in memory only ([`MessageRef`], [`ArgsRef`]), and content in
//! full the first time with its id later ([`Recorded`]).

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::content::ToolCall;
use crate::id::MessageId;
use crate::message::{AgentMessage, SharedMessage};

/// A message named by id. Serialises as the id alone; observers find the message attached.
#[derive(Clone, Debug)]
pub struct MessageRef {
    id: MessageId,
    message: Option<SharedMessage>,
}

impl MessageRef {
    /// Names a message and attaches it.
    pub fn resolved(message: SharedMessage) -> Self {
        Self { id: message.id(), message: Some(message) }
    }

    /// Names a message without having it at hand.
    pub const fn unresolved(id: MessageId) -> Self {
        Self { id, message: None }
    }

    /// The message's id.
    pub const fn id(&self) -> MessageId {
        self.id
    }

    /// The message, when attached.
    pub fn get(&self) -> Option<&AgentMessage> {
        self.message.as_deref()
    }

    /// The shared message, when attached.
    pub const fn shared(&self) -> Option<&SharedMessage> {
        self.message.as_ref()
    }
}

impl PartialEq for MessageRef {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Serialize for MessageRef {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.id.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for MessageRef {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        MessageId::deserialize(deserializer).map(Self::unresolved)
    }
}

/// A message in the event that records it: in full, unless an earlier event already carried its content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Recorded {
    /// The content was written by an earlier [`super::AgentEvent::MessageQueued`].
    Earlier(MessageRef),
    /// This event carries the content.
    Full(SharedMessage),
}

impl Recorded {
    /// The message's id.
    pub fn id(&self) -> MessageId {
        match self {
            Self::Earlier(reference) => reference.id(),
            Self::Full(message) => message.id(),
        }
    }

    /// The message, unless it is an unresolved mention.
    pub const fn shared(&self) -> Option<&SharedMessage> {
        match self {
            Self::Earlier(reference) => reference.shared(),
            Self::Full(message) => Some(message),
        }
    }
}

/// The arguments a tool was started with. Written only when they differ from what the model's message says.
#[derive(Clone, Debug, Default)]
pub enum ArgsRef {
    /// As in the assistant message, which is not at hand.
    #[default]
    Unresolved,
    /// As in the assistant message.
    Called(Arc<ToolCall>),
    /// Replaced by a hook; written to the journal.
    Rewritten(Arc<Value>),
}

impl ArgsRef {
    /// The arguments, when at hand.
    pub fn get(&self) -> Option<&Value> {
        match self {
            Self::Unresolved => None,
            Self::Called(call) => Some(&call.arguments),
            Self::Rewritten(value) => Some(value),
        }
    }

    /// The replaced arguments, if a hook replaced them.
    pub const fn replacement(&self) -> Option<&Arc<Value>> {
        match self {
            Self::Rewritten(value) => Some(value),
            Self::Unresolved | Self::Called(_) => None,
        }
    }

    pub(crate) const fn is_as_called(&self) -> bool {
        self.replacement().is_none()
    }
}

impl PartialEq for ArgsRef {
    fn eq(&self, other: &Self) -> bool {
        self.replacement() == other.replacement()
    }
}

impl Serialize for ArgsRef {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.replacement().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ArgsRef {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::Rewritten(Arc::new(Value::deserialize(deserializer)?)))
    }
}
