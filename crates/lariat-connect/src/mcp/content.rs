//! What servers send: descriptions of tools, and results of tool calls.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::tool_change::{PinnedTool, schema_lines};

/// A tool, as its server describes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct McpToolInfo {
    /// The name that a tool call uses.
    pub name: String,
    /// What the tool does.
    #[serde(default)]
    pub description: Option<String>,
    /// JSON Schema of the arguments.
    pub input_schema: Value,
    /// Whether the server says that the tool changes nothing. A hint: permissions do not depend on it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read_only_hint: bool,
}

impl McpToolInfo {
    /// Describes a tool.
    pub fn new(name: impl Into<String>, description: Option<String>, input_schema: Value) -> Self {
        Self { name: name.into(), description, input_schema, read_only_hint: false }
    }
}

impl PinnedTool for McpToolInfo {
    fn name(&self) -> &str {
        &self.name
    }

    fn text(&self) -> String {
        let description = self.description.as_deref().unwrap_or_default();
        format!("{description}\n{}\n", schema_lines(&self.input_schema))
    }

    fn is_same(&self, other: &Self) -> bool {
        (&self.name, &self.description, &self.input_schema)
            == (&other.name, &other.description, &other.input_schema)
    }
}

/// One part of the result of a tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
#[non_exhaustive]
pub enum McpContent {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// An image.
    Image {
        /// The bytes, in base64.
        data: String,
        /// For example `image/png`.
        #[serde(rename = "mimeType")]
        mime_type: String,
    },
    /// A resource, or anything else that is neither text nor an image.
    Other {
        /// A line that describes it, with its address.
        description: String,
        /// Its text, if it has any.
        text: Option<String>,
    },
}

/// The result of a tool call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct McpToolCallResult {
    /// The output of the tool.
    pub content: Vec<McpContent>,
    /// The output as JSON, if the tool has a schema for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Value>,
    /// Whether the tool reported an error.
    #[serde(default)]
    pub is_error: bool,
}

impl McpToolCallResult {
    /// Creates a result of one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![McpContent::Text { text: text.into() }], ..Self::default() }
    }

    /// Creates the result of a tool that failed.
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }
}
