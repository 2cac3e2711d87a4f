//! Defines what servers send: descriptions of tools and prompts, and results of tool calls.

use lariat_core::display;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

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

/// A prompt, as its server describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct McpPromptInfo {
    /// The server's name for it.
    pub name: String,
    /// The server's description of the prompt.
    #[serde(default)]
    pub description: Option<String>,
    /// Its arguments, in their order.
    #[serde(default)]
    pub arguments: Vec<McpPromptArgument>,
}

/// A resource, as its server describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct McpResourceInfo {
    /// Its address.
    pub uri: String,
    /// What it is, for users.
    #[serde(default)]
    pub title: String,
}

/// An argument of a prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct McpPromptArgument {
    /// Its name.
    pub name: String,
    /// Whether the prompt needs it.
    #[serde(default)]
    pub required: bool,
}

impl McpPromptInfo {
    /// The name of the `/` command for this prompt of a server, as Claude Code spells it: `mcp__server__prompt`. A character
    /// that a command cannot have becomes `_`.
    pub fn command_name(&self, server: &str) -> String {
        let fits = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | ':' | '.');
        let name: String = self.name.chars().map(|letter| if fits(letter) { letter } else { '_' }).collect();
        format!("mcp__{server}__{name}")
    }

    /// The arguments to show to the user, such as `[issue] [priority]`.
    pub fn argument_hint(&self) -> String {
        let shown = |argument: &McpPromptArgument| match argument.required {
            true => format!("<{}>", display::line(&argument.name)),
            false => format!("[{}]", display::line(&argument.name)),
        };
        self.arguments.iter().map(shown).collect::<Vec<_>>().join(" ")
    }

    /// Assigns the words that the user typed to the arguments in their order; the last argument gets the rest.
    ///
    /// # Errors
    /// Names the required arguments that have no word.
    pub fn fill(&self, words: &[String]) -> Result<Map<String, Value>, String> {
        let last = self.arguments.len().saturating_sub(1);
        let mut filled = Map::new();
        for (at, argument) in self.arguments.iter().enumerate() {
            let value = match words.get(at..) {
                Some(rest) if at == last && !rest.is_empty() => Some(rest.join(" ")),
                Some([word, ..]) => Some(word.clone()),
                _ => None,
            };
            match value {
                Some(value) => drop(filled.insert(argument.name.clone(), value.into())),
                None if argument.required => {
                    return Err(format!("the argument `{}` is missing", display::line(&argument.name)));
                }
                None => {}
            }
        }
        Ok(filled)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(arguments: &[(&str, bool)]) -> McpPromptInfo {
        let argument = |(name, required): &(&str, bool)| McpPromptArgument {
            name: (*name).to_owned(),
            required: *required,
        };
        let arguments = arguments.iter().map(argument).collect();
        McpPromptInfo { name: "code review/now".to_owned(), description: None, arguments }
    }

    #[test]
    fn words_fill_arguments_in_their_order() {
        let prompt = prompt(&[("file", true), ("why", false)]);
        let fill = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            prompt.fill(&words).map(|filled| Value::Object(filled).to_string())
        };
        assert_eq!(fill(&["a"]).unwrap(), r#"{"file":"a"}"#);
        assert_eq!(fill(&["a", "b", "c"]).unwrap(), r#"{"file":"a","why":"b c"}"#);
        assert!(fill(&[]).unwrap_err().contains("`file`"));
        assert_eq!(prompt.command_name("git"), "mcp__git__code_review_now");
        assert_eq!(prompt.argument_hint(), "<file> [why]");
    }
}
