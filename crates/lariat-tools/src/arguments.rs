//! Describes the arguments of a tool in one table, which yields the schema for the model and checks what it sent.
//!
//! The error messages name the argument, what was expected, what was sent, and for an unknown name the nearest known
//! one. Arguments that pass the check can be deserialised.

use lariat_core::nearest::nearest;
use lariat_core::tool::ToolError;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// One argument of a tool.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    name: &'static str,
    kind: ArgumentKind,
    need: ArgumentNeed,
    description: &'static str,
}

/// Whether an argument may be omitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ArgumentNeed {
    Required,
    Optional,
}

/// The type of an argument.
#[derive(Clone, Copy, Debug)]
pub enum ArgumentKind {
    /// Any text.
    Text,
    /// One of these strings.
    Word(&'static [&'static str]),
    /// An integer within these bounds, inclusive.
    Number(i64, i64),
    /// True or false.
    Switch,
    /// A list; the numbers are the minimum and maximum length.
    List(&'static ArgumentKind, usize, usize),
    /// An object with these fields.
    Object(&'static [Field]),
}

impl Field {
    /// An argument that must be present.
    pub const fn required(name: &'static str, kind: ArgumentKind, description: &'static str) -> Self {
        Self { name, kind, need: ArgumentNeed::Required, description }
    }

    /// An argument that may be omitted or null.
    pub const fn optional(name: &'static str, kind: ArgumentKind, description: &'static str) -> Self {
        Self { name, kind, need: ArgumentNeed::Optional, description }
    }
}

/// Returns the JSON Schema of an object with exactly these fields.
pub fn schema(fields: &[Field]) -> Value {
    let properties: Map<String, Value> = fields
        .iter()
        .map(|field| {
            let mut property = kind_schema(&field.kind);
            if let Some(property) = property.as_object_mut() {
                property.insert("description".to_owned(), json!(field.description));
            }
            (field.name.to_owned(), property)
        })
        .collect();
    let required: Vec<_> =
        fields.iter().filter(|field| field.need == ArgumentNeed::Required).map(|field| field.name).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

fn kind_schema(kind: &ArgumentKind) -> Value {
    match kind {
        ArgumentKind::Text => json!({ "type": "string" }),
        ArgumentKind::Word(words) => json!({ "type": "string", "enum": words }),
        ArgumentKind::Number(least, most) => json!({ "type": "integer", "minimum": least, "maximum": most }),
        ArgumentKind::Switch => json!({ "type": "boolean" }),
        ArgumentKind::List(of, least, most) => {
            json!({ "type": "array", "items": kind_schema(of), "minItems": least, "maxItems": most })
        }
        ArgumentKind::Object(fields) => schema(fields),
    }
}

/// Checks the arguments that a model sent, and deserialises them.
///
/// # Errors
/// [`ToolError::InvalidArgs`] with all errors, one per line.
pub fn read<T: DeserializeOwned>(fields: &[Field], sent: Value) -> Result<T, ToolError> {
    let sent = if sent.is_null() { json!({}) } else { sent };
    let mut mistakes = Vec::new();
    check_object(fields, "", &sent, &mut mistakes);
    if !mistakes.is_empty() {
        return Err(ToolError::InvalidArgs(format!("Invalid arguments:\n- {}", mistakes.join("\n- "))));
    }
    serde_json::from_value(sent)
        .map_err(|error| ToolError::InvalidArgs(format!("Invalid arguments:\n- {error}")))
}

fn check_object(fields: &[Field], place: &str, sent: &Value, mistakes: &mut Vec<String>) {
    let Some(object) = sent.as_object() else {
        let name = if place.is_empty() { "the arguments" } else { place };
        mistakes.push(format!("{name} must be an object, not {}", kind_of(sent)));
        return;
    };
    for field in fields {
        let inner = join(place, field.name);
        match object.get(field.name) {
            None | Some(Value::Null) if field.need == ArgumentNeed::Optional => {}
            None | Some(Value::Null) => {
                mistakes.push(format!("`{inner}` is missing ({})", expected(&field.kind)));
            }
            Some(value) => check(&field.kind, &inner, value, mistakes),
        }
    }
    for name in object.keys().filter(|name| fields.iter().all(|field| field.name != name.as_str())) {
        let known: Vec<_> = fields.iter().map(|field| field.name).collect();
        let nearest = nearest(name, known.iter().copied());
        let hint = nearest.map_or_else(
            || format!("known arguments: `{}`", known.join("`, `")),
            |name| format!("did you mean `{name}`?"),
        );
        mistakes.push(format!("unknown argument `{}`; {hint}", join(place, name)));
    }
}

fn check(kind: &ArgumentKind, place: &str, value: &Value, mistakes: &mut Vec<String>) {
    let fits = match (kind, value) {
        (ArgumentKind::Text, Value::String(_)) | (ArgumentKind::Switch, Value::Bool(_)) => true,
        (ArgumentKind::Word(words), Value::String(word)) => words.contains(&word.as_str()),
        (ArgumentKind::Number(least, most), Value::Number(number)) => {
            number.as_i64().is_some_and(|number| (*least..=*most).contains(&number))
        }
        (ArgumentKind::List(of, least, most), Value::Array(values)) => {
            for (index, value) in values.iter().enumerate() {
                check(of, &format!("{place}[{index}]"), value, mistakes);
            }
            (*least..=*most).contains(&values.len())
        }
        (ArgumentKind::Object(fields), Value::Object(_)) => {
            check_object(fields, place, value, mistakes);
            true
        }
        _ => false,
    };
    if !fits {
        mistakes.push(format!("`{place}` must be {}, not {}", expected(kind), shown(value)));
    }
}

fn expected(kind: &ArgumentKind) -> String {
    match kind {
        ArgumentKind::Text => "a string".to_owned(),
        ArgumentKind::Word(words) => format!("one of `{}`", words.join("`, `")),
        ArgumentKind::Number(least, i64::MAX) => format!("an integer of at least {least}"),
        ArgumentKind::Number(least, most) => format!("an integer from {least} to {most}"),
        ArgumentKind::Switch => "true or false".to_owned(),
        ArgumentKind::List(_, least, usize::MAX) => format!("a list of at least {least} items"),
        ArgumentKind::List(_, least, most) => format!("a list of {least} to {most} items"),
        ArgumentKind::Object(_) => "an object".to_owned(),
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// The value itself if it is short, otherwise its type.
fn shown(value: &Value) -> String {
    match value {
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) if text.chars().count() <= 40 => format!("{text:?}"),
        Value::Array(values) => format!("a list of {} items", values.len()),
        _ => kind_of(value).to_owned(),
    }
}

fn join(place: &str, name: &str) -> String {
    if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") }
}

#[cfg(test)]
#[path = "arguments_tests.rs"]
mod tests;
