//! Compares tools with the ones that the user accepted.
//!
//! A server or a document can change the description of a tool after the user accepted it, and so instruct the model.
//! Invariant: two tools are the same only if everything that the model sees of them is equal.

use serde_json::Value;
use similar::TextDiff;

/// Lines of context around a difference.
const CONTEXT: usize = 1;

/// A tool that the user accepts in the form that it has now.
pub trait PinnedTool {
    /// The name by which the accepted and the current tool are compared.
    fn name(&self) -> &str;

    /// Everything that the user accepts, as lines.
    fn text(&self) -> String;

    /// Whether two tools are the same to a model. The order of fields in a schema does not matter.
    fn is_same(&self, other: &Self) -> bool;
}

/// One difference between accepted tools and current ones.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolChange {
    /// The server's or the document's name of the tool.
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
    /// There is a tool that the user did not accept.
    Added,
    /// The tool no longer exists.
    Removed,
    /// What the model sees of it is different.
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
pub fn tool_changes<T: PinnedTool>(accepted: &[T], current: &[T]) -> Vec<ToolChange> {
    let change = |tool: &T, kind, old: &str, new: &str| ToolChange {
        name: tool.name().to_owned(),
        kind,
        difference: lines(old, new),
    };
    let mut changes = Vec::new();
    for old in accepted {
        match current.iter().find(|new| new.name() == old.name()) {
            None => changes.push(change(old, ToolChangeKind::Removed, &old.text(), "")),
            Some(new) if old.is_same(new) => {}
            Some(new) => changes.push(change(old, ToolChangeKind::Changed, &old.text(), &new.text())),
        }
    }
    for new in current.iter().filter(|new| accepted.iter().all(|old| old.name() != new.name())) {
        changes.push(change(new, ToolChangeKind::Added, "", &new.text()));
    }
    changes
}

/// Writes a schema as lines, with its fields in the order of their names.
pub(crate) fn schema_lines(schema: &Value) -> String {
    serde_json::to_string_pretty(&sorted(schema)).unwrap_or_default()
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
