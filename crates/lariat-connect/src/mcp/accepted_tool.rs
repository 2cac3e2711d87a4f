//! A tool that the user accepted. Its schema stays text until something needs it.
//!
//! A session may know thousands of tools and call few of them. Parsing and copying all their schemas would be most of the
//! time that such a session needs to start.

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::content::McpToolInfo;

/// A tool that the user accepted. Clones share it.
#[derive(Clone, Debug)]
pub struct AcceptedTool(Arc<ToolParts>);

#[derive(Debug)]
struct ToolParts {
    saved: SavedTool,
    info: OnceLock<McpToolInfo>,
}

/// A [`McpToolInfo`] whose schema is not parsed. It has the same form in JSON.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SavedTool {
    name: String,
    #[serde(default)]
    description: Option<String>,
    input_schema: Box<RawValue>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    read_only_hint: bool,
}

impl AcceptedTool {
    /// The name that a tool call uses.
    pub fn name(&self) -> &str {
        &self.0.saved.name
    }

    /// What the tool does.
    pub fn description(&self) -> &str {
        self.0.saved.description.as_deref().unwrap_or_default()
    }

    /// The size of the schema, in bytes of JSON.
    pub fn schema_bytes(&self) -> usize {
        self.0.saved.input_schema.get().len()
    }

    /// The tool as its server described it. Parses the schema when it is called first; one that is not valid becomes `null`,
    /// which no model is offered.
    pub fn info(&self) -> &McpToolInfo {
        let SavedTool { name, description, input_schema, read_only_hint } = &self.0.saved;
        self.0.info.get_or_init(|| McpToolInfo {
            name: name.clone(),
            description: description.clone(),
            input_schema: serde_json::from_str(input_schema.get()).unwrap_or(Value::Null),
            read_only_hint: *read_only_hint,
        })
    }
}

impl From<McpToolInfo> for AcceptedTool {
    fn from(info: McpToolInfo) -> Self {
        let saved = SavedTool {
            name: info.name.clone(),
            description: info.description.clone(),
            input_schema: serde_json::value::to_raw_value(&info.input_schema).unwrap_or_default(),
            read_only_hint: info.read_only_hint,
        };
        Self(Arc::new(ToolParts { saved, info: OnceLock::from(info) }))
    }
}

impl Serialize for AcceptedTool {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.saved.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for AcceptedTool {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let saved = SavedTool::deserialize(deserializer)?;
        Ok(Self(Arc::new(ToolParts { saved, info: OnceLock::new() })))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn info() -> McpToolInfo {
        let schema = json!({ "type": "object", "properties": { "text": { "type": "string" } } });
        McpToolInfo::new("echo", Some("Repeats a text.".to_owned()), schema)
    }

    #[test]
    fn a_tool_has_the_same_form_in_json_as_its_description() {
        let text = serde_json::to_string(&info()).unwrap();
        let read: AcceptedTool = serde_json::from_str(&text).unwrap();
        assert!(read.0.info.get().is_none(), "the schema is not parsed yet");
        assert_eq!((read.name(), read.description()), ("echo", "Repeats a text."));
        assert_eq!(read.schema_bytes(), info().input_schema.to_string().len());
        assert_eq!(read.info(), &info());
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
        assert_eq!(serde_json::to_string(&AcceptedTool::from(info())).unwrap(), text);
    }

    #[test]
    fn a_schema_that_is_not_valid_becomes_null() {
        let deep = "[".repeat(200) + &"]".repeat(200);
        let text = format!(r#"{{"name":"deep","inputSchema":{deep}}}"#);
        let read: AcceptedTool = serde_json::from_str(&text).unwrap();
        assert_eq!(read.info().input_schema, Value::Null);
    }
}
