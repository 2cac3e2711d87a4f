//! Content blocks, the parts of a message.
//!
//! A block of a kind that this version does not know is kept as read and written back unchanged.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::id::ToolCallId;

/// One block of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
#[non_exhaustive]
pub enum Content {
    /// Plain text.
    Text {
        /// The text.
        text: String,
    },
    /// An image.
    Image {
        /// Base64-encoded bytes.
        data: String,
        /// For example `image/png`.
        mime_type: String,
    },
    /// The model's reasoning. Sent back to its provider unmodified, with its signature.
    Thinking {
        /// The reasoning text.
        thinking: String,
        /// The provider's signature over it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// Reasoning that the provider encrypted. Sent back unmodified.
    RedactedThinking {
        /// The provider's encrypted payload.
        data: String,
    },
    /// A tool call of the model.
    ToolCall(Arc<ToolCall>),
    /// A block of an unknown kind, kept as read.
    #[serde(untagged)]
    Unknown(Map<String, Value>),
}

/// A tool call of the model. Shared, so that passing it on never copies its arguments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Unique within the conversation.
    pub id: ToolCallId,
    /// Name of the tool, as in [`crate::tool::AgentTool::name`].
    pub name: String,
    /// Arguments as the model wrote them.
    pub arguments: Value,
    /// Provider signature that must be sent back with the tool call (Gemini 3 `thoughtSignature`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

impl Content {
    /// Creates a text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// Creates a tool call block.
    pub fn tool_call(id: impl Into<ToolCallId>, name: impl Into<String>, arguments: Value) -> Self {
        Self::ToolCall(Arc::new(ToolCall { id: id.into(), name: name.into(), arguments, signature: None }))
    }

    /// Returns the text of a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text } => Some(text),
            _ => None,
        }
    }

    /// Returns the tool call of a tool call block.
    pub fn as_tool_call(&self) -> Option<&Arc<ToolCall>> {
        match self {
            Self::ToolCall(call) => Some(call),
            _ => None,
        }
    }

    /// Returns true for a block that only a model creates: reasoning or a tool call. APIs reject it outside a
    /// reply.
    pub const fn is_reply_only(&self) -> bool {
        matches!(self, Self::Thinking { .. } | Self::RedactedThinking { .. } | Self::ToolCall(_))
    }

    /// Converts the arguments of a tool call to an object, which every API requires. Models send null for a
    /// tool without parameters; any other value is kept under a name that no schema uses, so that the tool
    /// reports the missing arguments.
    pub(crate) fn make_arguments_an_object(&mut self) {
        let Self::ToolCall(call) = self else { return };
        let arguments = match &call.arguments {
            Value::Object(_) => return,
            Value::Null => Value::Object(Map::new()),
            other => Value::Object(Map::from_iter([("arguments".to_owned(), other.clone())])),
        };
        *call = Arc::new(ToolCall { arguments, ..ToolCall::clone(call) });
    }

    /// Returns true for a block that providers reject: text without a visible character (Anthropic: "text
    /// content blocks must contain non-whitespace text"), an image without bytes or type, reasoning with
    /// neither text nor signature.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Text { text } => text.trim().is_empty(),
            Self::Image { data, mime_type } => data.is_empty() || mime_type.is_empty(),
            Self::RedactedThinking { data } => data.is_empty(),
            Self::Thinking { thinking, signature } => thinking.is_empty() && signature.is_none(),
            Self::ToolCall(call) => call.name.is_empty(),
            Self::Unknown(fields) => fields.is_empty(),
        }
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

/// Joins all text blocks with newlines.
pub fn joined_text(content: &[Content]) -> String {
    let texts: Vec<&str> = content.iter().filter_map(Content::as_text).collect();
    texts.join("\n")
}
