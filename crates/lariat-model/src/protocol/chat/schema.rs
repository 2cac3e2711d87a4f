//! Adapts JSON schemas, tool names and numbers to what OpenAI's protocols accept.
//!
//! It also decides whether a schema may be enforced. Values are not validated here.

use serde_json::{Map, Value, json};

/// Returns the parameters of a tool: always an object schema with `properties` (without them: "object schema
/// missing properties").
pub(crate) fn parameters(schema: &Value) -> Value {
    let mut fields = match schema {
        Value::Object(fields) => fields.clone(),
        _ => Map::new(),
    };
    fields.entry("type").or_insert_with(|| json!("object"));
    fields.entry("properties").or_insert_with(|| json!({}));
    Value::Object(fields)
}

/// Whether `strict` may be set: every object must set `additionalProperties: false` and require all of its
/// properties. With `strict`, any other schema is rejected ("'additionalProperties' is required to be
/// supplied and to be false").
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

/// The instruction for models whose provider does not support schemas.
pub(crate) fn instruction(schema: &Value) -> String {
    format!("Answer with one JSON object and nothing else. It must satisfy this JSON schema:\n{schema}")
}

/// Makes the name of a tool or schema acceptable: letters, digits, `_` and `-`, at most 64. A model can
/// invent any tool name, and the tool call stays in the history.
pub(crate) fn valid_name(name: &str) -> String {
    let fit = |letter: char| if is_name_letter(letter) { letter } else { '_' };
    let fitted: String = name.chars().take(NAME_LIMIT).map(fit).collect();
    if fitted.is_empty() { "_".to_owned() } else { fitted }
}

/// Whether a name is acceptable as it is.
pub(crate) fn is_name(name: &str) -> bool {
    (1..=NAME_LIMIT).contains(&name.len()) && name.chars().all(is_name_letter)
}

const fn is_name_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-')
}

/// Maximum length of a name.
const NAME_LIMIT: usize = 64;

/// A temperature with the digits as written: a 32-bit float would print as 0.699999988079071.
pub(crate) fn temperature(temperature: f32) -> Value {
    temperature.to_string().parse::<f64>().map_or(Value::Null, Value::from)
}
