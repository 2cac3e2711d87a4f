//! Translates the arguments of a tool call to Claude Code's names and forms, and back.
//!
//! The table is in `tool_name.rs`. A value without a counterpart there keeps Lariat's name, so nothing of a tool call is
//! hidden. What comes back and cannot be translated is an error.

use serde_json::{Map, Value, json};

use crate::tool_name::{WireField, WireForm, wire_fields};

/// Returns the arguments of a tool call with the names and forms that programs made for Claude Code know.
pub fn claude_input(tool: &str, arguments: &Value) -> Value {
    match arguments {
        Value::Object(fields) => Value::Object(wire_arguments(tool, fields)),
        other => other.clone(),
    }
}

/// Translates arguments that a program returned for a tool call to Lariat's arguments; `None` if it changed nothing.
///
/// # Errors
/// The tool has no such arguments.
pub fn own_input(tool: &str, arguments: &Value, returned: &Value) -> Result<Option<Value>, String> {
    let given = claude_input(tool, arguments);
    if *returned == given {
        return Ok(None);
    }
    own_arguments(tool, arguments, &given, returned).map(Some)
}

pub(super) fn wire_arguments(tool: &str, arguments: &Map<String, Value>) -> Map<String, Value> {
    let (mut own, mut renamed) = (Map::new(), Map::new());
    for (name, value) in arguments {
        let field = wire_fields(tool).iter().find(|field| field.ours == name);
        match field.and_then(|field| Some((field.theirs, field.to_theirs(value)?))) {
            Some((theirs, value)) => renamed.insert(theirs.to_owned(), value),
            None => own.insert(name.clone(), value.clone()),
        };
    }
    // What the tool uses wins over an argument that the model sent under the other name, which the tool does not have.
    own.append(&mut renamed);
    own
}

/// Translates `wanted` back: the arguments were `arguments` and were shown as `given`.
pub(super) fn own_arguments(
    tool: &str,
    arguments: &Value,
    given: &Value,
    wanted: &Value,
) -> Result<Value, String> {
    let Value::Object(wanted) = wanted else { return Err("the new arguments are not an object".to_owned()) };
    let mut own = Map::new();
    for (name, value) in wanted {
        let field = wire_fields(tool).iter().find(|field| field.theirs == name);
        let ours = field.map_or(name.as_str(), |field| field.ours);
        let before = arguments.get(ours);
        let value = match (given.get(name), before) {
            // An unchanged argument keeps the model's own value, for example a relative path.
            (Some(shown), Some(before)) if shown == value => before.clone(),
            // Shown for the reader only, and not an argument of the tool.
            (Some(shown), None) if shown == value => continue,
            (Some(_), None) => return Err(format!("`{tool}` has no argument `{name}`")),
            _ => match field {
                None => value.clone(),
                Some(field) => {
                    field.to_ours(value).ok_or_else(|| format!("`{name}` cannot be {value} for `{tool}`"))?
                }
            },
        };
        if own.insert(ours.to_owned(), value).is_some() {
            return Err(format!("`{name}` and `{ours}` are the same argument of `{tool}`"));
        }
    }
    Ok(Value::Object(own))
}

/// Milliseconds in a second.
const MILLIS: u64 = 1_000;

impl WireField {
    /// Returns the value there; `None` if it has no counterpart.
    fn to_theirs(&self, value: &Value) -> Option<Value> {
        match self.form {
            WireForm::Same => Some(value.clone()),
            WireForm::Millis => Some(json!(value.as_u64()?.checked_mul(MILLIS)?)),
            WireForm::Words(words) => {
                words.iter().find(|(ours, _)| Some(*ours) == value.as_str()).map(|(_, theirs)| json!(theirs))
            }
            WireForm::Switch(on, off) => {
                let word = value.as_str()?;
                (word == on || word == off).then(|| json!(word == on))
            }
        }
    }

    /// Returns the value here; `None` if it has no counterpart. A part of a second becomes a whole one.
    fn to_ours(&self, value: &Value) -> Option<Value> {
        match self.form {
            WireForm::Same => Some(value.clone()),
            WireForm::Millis => Some(json!(value.as_u64()?.div_ceil(MILLIS))),
            WireForm::Words(words) => {
                words.iter().find(|(_, theirs)| Some(*theirs) == value.as_str()).map(|(ours, _)| json!(ours))
            }
            WireForm::Switch(on, off) => Some(json!(if value.as_bool()? { on } else { off })),
        }
    }
}

#[cfg(test)]
#[path = "wire_arguments_tests.rs"]
mod tests;
