//! Content blocks: what prompts, messages and tool results consist of.

use serde::{Deserialize, Serialize};

/// A part of a prompt, of a message or of a tool result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum ContentBlock {
    /// Text, as Markdown.
    Text { text: String },
    /// An image.
    Image {
        /// Base64-encoded bytes.
        data: String,
        mime_type: String,
    },
    /// Sound, which Lariat does not support.
    Audio {},
    /// A mention of something that the agent can read by itself.
    ResourceLink { uri: String, name: String },
    /// Something with its content.
    Resource { resource: ResourceContents },
}

/// The content of a resource: text, or bytes in base64.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResourceContents {
    pub(crate) uri: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) mime_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) blob: Option<String>,
}

impl ContentBlock {
    /// Creates a text block.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}
