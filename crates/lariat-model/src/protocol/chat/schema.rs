//! JSON schemas as OpenAI's services accept them.
//!
//! Owns the form of tool parameters and the question whether a schema may be enforced. Does not check values.

use serde_json::{Map, Value, json};

/// The parameters of a tool: always an object schema with `properties` ("object schema missing properties" otherwise).
pub(crate) fn parameters(schema: &Value) -> Value {
    let mut fields = match schema {
        Value::Object(fields) => fields.clone(),
        _ => Map::new(),
    };
    fields.entry("type").or_insert_with(|| json!("object"));
    fields.entry("properties").or_insert_with(|| json!({}));
    Value::Object(fields)
}

/// Whether `strict` may be set: every object closes itself and requires all of its properties. Any other schema is
/// rejected with it ("'additionalProperties' is required to be supplied and to be false").
pub(crate) fn is_strict(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => {
            let closed = fields.get("additionalProperties") == Some(&Value::Bool(false));
            let properties = fields.get("properties").and_then(Value::as_object);
            let is_object = properties.is_some()
                || fields.get("type").is_some_and(|kind| {
                    kind == "object" || kind.as_array().is_some_and(|kinds| kinds.contains(&json!("object")))
                });
            let required = fields.get("required").and_then(Value::as_array);
            let requires =
                |name: &String| required.is_some_and(|names| names.iter().any(|known| known == name));
            let complete = properties.is_none_or(|properties| properties.keys().all(requires));
            (!is_object || (closed && complete)) && fields.values().all(is_strict)
        }
        Value::Array(items) => items.iter().all(is_strict),
        _ => true,
    }
}

/// What tells a model of a schema that its service does not know.
pub(crate) fn instruction(schema: &Value) -> String {
    format!("Answer with one JSON object and nothing else. It must satisfy this JSON schema:\n{schema}")
}

/// The name of a tool or schema as services accept it: letters, digits, `_` and `-`, up to 64. A model can make up any
/// name for a tool, and the call stays in the history.
pub(crate) fn fitted_name(name: &str) -> String {
    let fit = |letter: char| if is_name_letter(letter) { letter } else { '_' };
    let fitted: String = name.chars().take(NAME_LIMIT).map(fit).collect();
    if fitted.is_empty() { "_".to_owned() } else { fitted }
}

/// Whether a name needs no fitting.
pub(crate) fn is_name(name: &str) -> bool {
    (1..=NAME_LIMIT).contains(&name.len()) && name.chars().all(is_name_letter)
}

const fn is_name_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-')
}

/// Letters in a name.
const NAME_LIMIT: usize = 64;

/// A temperature as it was written: a float of 32 bits would show as 0.699999988079071.
pub(crate) fn temperature(temperature: f32) -> Value {
    temperature.to_string().parse::<f64>().map_or(Value::Null, Value::from)
}
