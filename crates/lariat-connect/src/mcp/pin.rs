//! Compares the tools of a server with the ones that the user accepted.
//!
//! A server can change the description of a tool after the user accepted it, and so instruct the model. Invariant: two
//! tools are the same only if name, description and schema are equal.

use serde_json::Value;
use similar::TextDiff;

use super::content::McpToolInfo;

/// Lines of context around a difference.
const CONTEXT: usize = 1;

/// One difference between the accepted tools of a server and its current ones.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolChange {
    /// The server's name of the tool.
    pub name: String,
    /// How it differs.
    pub kind: ToolChangeKind,
    /// The differing lines of its description and schema, with `-` and `+`.
    pub difference: String,
}

/// How a tool differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolChangeKind {
    /// The server has a tool that the user did not accept.
    Added,
    /// The server no longer has the tool.
    Removed,
    /// Its description or schema is different.
    Changed,
}

impl ToolChangeKind {
    /// The name for users.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
        }
    }
}

/// Returns how `current` differs from `accepted`: first the accepted tools, then the new ones.
pub fn tool_changes(accepted: &[McpToolInfo], current: &[McpToolInfo]) -> Vec<ToolChange> {
    let find = |list: &[McpToolInfo], name: &str| list.iter().find(|tool| tool.name == name).cloned();
    let mut changes = Vec::new();
    for old in accepted {
        let new = find(current, &old.name);
        let kind = match &new {
            None => ToolChangeKind::Removed,
            Some(new) if is_same(old, new) => continue,
            Some(_) => ToolChangeKind::Changed,
        };
        let shown = new.as_ref().map(shown).unwrap_or_default();
        changes.push(ToolChange {
            name: old.name.clone(),
            kind,
            difference: lines(&self::shown(old), &shown),
        });
    }
    for new in current.iter().filter(|new| find(accepted, &new.name).is_none()) {
        let difference = lines("", &shown(new));
        changes.push(ToolChange { name: new.name.clone(), kind: ToolChangeKind::Added, difference });
    }
    changes
}

/// Whether two descriptions of a tool are the same to a model. The order of fields in the schema does not matter.
pub(super) fn is_same(old: &McpToolInfo, new: &McpToolInfo) -> bool {
    (&old.name, &old.description, &old.input_schema) == (&new.name, &new.description, &new.input_schema)
}

fn shown(tool: &McpToolInfo) -> String {
    let description = tool.description.as_deref().unwrap_or_default();
    let schema = serde_json::to_string_pretty(&sorted(&tool.input_schema)).unwrap_or_default();
    format!("{description}\n{schema}\n")
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut names: Vec<&String> = fields.keys().collect();
            names.sort();
            let field = |name: &String| Some((name.clone(), sorted(fields.get(name)?)));
            Value::Object(names.into_iter().filter_map(field).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

fn lines(old: &str, new: &str) -> String {
    TextDiff::from_lines(old, new).unified_diff().context_radius(CONTEXT).to_string()
}
