//! Rewrites field names of Google's JSON to camel case. The API accepts camel case and snake case, and its
//! SDK mixes both.
//!
//! Leaves alone what belongs to the user: arguments, responses, full JSON schemas, names of properties,
//! labels.
//! Invariant: a body without snake case is borrowed, not copied.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::server::json;

/// Fields whose content does not belong to the protocol.
const FOREIGN: &[&str] = &[
    "args",
    "default",
    "enum",
    "example",
    "labels",
    "parametersJsonSchema",
    "parameters_json_schema",
    "response",
    "responseJsonSchema",
    "response_json_schema",
];

/// The body with its names in camel case.
pub(crate) fn camel(body: &Value) -> Cow<'_, Value> {
    if is_snake(body) { Cow::Owned(rewritten(body)) } else { Cow::Borrowed(body) }
}

fn is_snake(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(is_snake),
        Value::Object(_) => json::fields(value).any(|(key, inner)| {
            key.contains('_')
                || match key {
                    "properties" => json::fields(inner).any(|(_, property)| is_snake(property)),
                    _ => !FOREIGN.contains(&key) && is_snake(inner),
                }
        }),
        _ => false,
    }
}

fn rewritten(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(rewritten).collect(),
        Value::Object(fields) => {
            let field = |(key, inner): (&String, &Value)| {
                let inner = match (key.as_str(), inner) {
                    ("properties", Value::Object(properties)) => {
                        let property = |(name, schema): (&String, &Value)| (name.clone(), rewritten(schema));
                        Value::Object(properties.iter().map(property).collect())
                    }
                    (key, inner) if FOREIGN.contains(&key) => inner.clone(),
                    (_, inner) => rewritten(inner),
                };
                (camel_name(key), inner)
            };
            Value::Object(fields.iter().map(field).collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

fn camel_name(name: &str) -> String {
    let mut words = name.split('_');
    let mut camel = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        camel.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        camel.push_str(letters.as_str());
    }
    camel
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use serde_json::json;

    use super::camel;

    #[test]
    fn protocol_names_are_rewritten_and_user_names_are_not() {
        let body = json!({"generation_config": {"thinking_config": {"include_thoughts": true}},
            "contents": [{"parts": [{"function_call": {"args": {"file_name": 1}}}]}],
            "tools": [{"function_declarations": [{"parameters": {"properties": {"file_name": {"max_length": 3}}}}]}]});
        let expected = json!({"generationConfig": {"thinkingConfig": {"includeThoughts": true}},
            "contents": [{"parts": [{"functionCall": {"args": {"file_name": 1}}}]}],
            "tools": [{"functionDeclarations": [{"parameters": {"properties": {"file_name": {"maxLength": 3}}}}]}]});
        assert_eq!(*camel(&body), expected);
        assert!(matches!(camel(&expected), Cow::Borrowed(_)));
    }
}
