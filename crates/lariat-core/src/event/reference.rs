//! References from events to content, so that the journal contains each message once.
//!
//! [`MessageRef`] and [`ArgsRef`] serialise as an id and carry the content in memory only; [`RecordedMessage`]
//! contains the content the first time and the id later.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::content::ToolCall;
use crate::id::MessageId;
use crate::message::{AgentMessage, SharedMessage};

/// A reference to a message. Serialises as the id alone; observers find the message attached.
#[derive(Clone, Debug)]
pub struct MessageRef {
    id: MessageId,
    message: Option<SharedMessage>,
}

impl MessageRef {
    /// Creates a reference with the message attached.
    pub fn resolved(message: SharedMessage) -> Self {
        Self { id: message.id(), message: Some(message) }
    }

    /// Creates a reference without the message.
    pub const fn unresolved(id: MessageId) -> Self {
        Self { id, message: None }
    }

    /// Returns the id of the message.
    pub const fn id(&self) -> MessageId {
        self.id
    }

    /// Returns the message, if attached.
    pub fn get(&self) -> Option<&AgentMessage> {
        self.message.as_deref()
    }

    /// Returns the shared message, if attached.
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

/// A message in the event that records it: in full, unless an earlier event contains its content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RecordedMessage {
    /// An earlier [`super::AgentEvent::MessageQueued`] contains the content.
    Earlier(MessageRef),
    /// This event contains the content.
    Full(SharedMessage),
}

impl RecordedMessage {
    /// Returns the id of the message.
    pub fn id(&self) -> MessageId {
        match self {
            Self::Earlier(reference) => reference.id(),
            Self::Full(message) => message.id(),
        }
    }

    /// Returns the message, unless it is an unresolved reference.
    pub const fn shared(&self) -> Option<&SharedMessage> {
        match self {
            Self::Earlier(reference) => reference.shared(),
            Self::Full(message) => Some(message),
        }
    }
}

/// The arguments that a tool was started with. Serialised only if they differ from those in the reply.
#[derive(Clone, Debug, Default)]
pub enum ArgsRef {
    /// As in the reply, which is not attached.
    #[default]
    Unresolved,
    /// As in the reply.
    Called(Arc<ToolCall>),
    /// Replaced by a hook; written to the journal.
    Rewritten(Arc<Value>),
}

impl ArgsRef {
    /// Returns the arguments, if known.
    pub fn get(&self) -> Option<&Value> {
        match self {
            Self::Unresolved => None,
            Self::Called(call) => Some(&call.arguments),
            Self::Rewritten(value) => Some(value),
        }
    }

    /// Returns the arguments that a hook set, if it replaced them.
    pub const fn replacement(&self) -> Option<&Arc<Value>> {
        match self {
            Self::Rewritten(value) => Some(value),
            Self::Unresolved | Self::Called(_) => None,
        }
    }

    pub(crate) const fn is_unchanged(&self) -> bool {
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
