//! Converts a schema to one that every provider enforces.
//!
//! Uses the part of JSON Schema that the strict modes of the providers have in common: closed objects with
//! only required properties, `anyOf`, `enum`, `const`, and `$ref` within the schema. Some providers reject
//! bounds, patterns and defaults, so these go into the description. Requiring an optional property costs
//! nothing: the model sends `null` or the default.
//!
//! Invariant: a value that satisfies the converted schema and the descriptions in it satisfies the original
//! schema.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

/// Keywords to move into the description: a provider that enforces some of them rejects others.
const DESCRIBED_KEYWORDS: [&str; 13] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "default",
];

/// Formats that all providers support.
const FORMATS: [&str; 9] =
    ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

/// Converts a schema to its enforceable part.
pub(super) fn to_enforceable(mut schema: Value) -> Value {
    for_each_schema(&mut schema, &mut |fields| {
        close_object(fields);
        describe_rejected_keywords(fields);
        if let Some(options) = fields.remove("oneOf") {
            fields.insert("anyOf".to_owned(), options);
        }
    });
    schema
}

/// Wraps a schema in an object with one field.
pub(super) fn wrap_in_field(name: &str, mut schema: Value) -> Value {
    let definitions = schema.as_object_mut().and_then(|fields| fields.remove("$defs"));
    let root = format!("#/properties/{name}");
    let redirect = &mut |fields: &mut Map<String, Value>| {
        if let Some(Value::String(target)) = fields.get_mut("$ref")
            && target == "#"
        {
            target.clone_from(&root);
        }
    };
    for_each_schema(&mut schema, redirect);
    let mut whole = json!({"type": "object", "properties": {name: schema}, "required": [name]});
    if let (Some(mut definitions), Some(fields)) = (definitions, whole.as_object_mut()) {
        let schemas = definitions.as_object_mut().into_iter().flat_map(Map::values_mut);
        schemas.for_each(|schema| for_each_schema(schema, redirect));
        fields.insert("$defs".to_owned(), definitions);
    }
    whole
}

/// Visits every schema within a schema, itself last. Skips data (`enum`, `const`, `default`).
fn for_each_schema(schema: &mut Value, visit: &mut impl FnMut(&mut Map<String, Value>)) {
    let Some(fields) = schema.as_object_mut() else { return };
    for (key, value) in fields.iter_mut() {
        match (key.as_str(), value) {
            ("properties" | "patternProperties" | "$defs", Value::Object(schemas)) => {
                schemas.values_mut().for_each(|schema| for_each_schema(schema, visit));
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(schemas)) => {
                schemas.iter_mut().for_each(|schema| for_each_schema(schema, visit));
            }
            ("items" | "additionalProperties" | "propertyNames" | "contains" | "not", schema) => {
                for_each_schema(schema, visit);
            }
            _ => {}
        }
    }
    visit(fields);
}

/// Closes an object: it has exactly the named properties, and all of them.
fn close_object(fields: &mut Map<String, Value>) {
    let is_object = fields.get("type").is_some_and(|kind| kind == "object");
    let names: Vec<Value> = match fields.get("properties").and_then(Value::as_object) {
        Some(properties) => properties.keys().map(|name| Value::from(name.as_str())).collect(),
        None if is_object && !fields.contains_key("additionalProperties") => Vec::new(),
        None => return,
    };
    fields.insert("required".to_owned(), names.into());
    fields.entry("additionalProperties").or_insert(Value::Bool(false));
}

/// Moves keywords that providers reject into the description.
fn describe_rejected_keywords(fields: &mut Map<String, Value>) {
    let mut words = String::new();
    let unsigned =
        fields.get("format").and_then(Value::as_str).is_some_and(|format| format.starts_with("uint"));
    for key in DESCRIBED_KEYWORDS {
        let Some(value) = fields.remove(key) else { continue };
        let is_known = value.is_null() || (unsigned && key == "minimum" && value == 0);
        if !is_known {
            let _ = write!(words, "{}{key}: {value}", if words.is_empty() { "" } else { ", " });
        }
    }
    if unsigned {
        words.insert_str(0, if words.is_empty() { "not negative" } else { "not negative, " });
    }
    let known = |format: &Value| format.as_str().is_some_and(|format| FORMATS.contains(&format));
    if fields.get("format").is_some_and(|format| !known(format)) {
        fields.remove("format");
    }
    if words.is_empty() {
        return;
    }
    let described = match fields.get("description").and_then(Value::as_str) {
        Some(description) => format!("{description} ({words})"),
        None => format!("({words})"),
    };
    fields.insert("description".to_owned(), described.into());
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
