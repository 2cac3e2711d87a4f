//! Validates strict JSON schemas: every object must set `additionalProperties: false`, and OpenAI also
//! requires every property to be listed in `required`.

use serde_json::Value;

use crate::server::json;

/// Level of strictness.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Strictness {
    /// Objects set `additionalProperties: false`.
    Closed,
    /// In addition, all their properties are required.
    ClosedAndRequired,
}

/// Returns the path inside the schema of the first violation, and the reason.
pub(super) fn loose_end(schema: &Value, strictness: Strictness) -> Option<(String, String)> {
    walk(schema, strictness, &mut Vec::new())
}

fn walk<'a>(schema: &'a Value, strictness: Strictness, path: &mut Vec<&'a str>) -> Option<(String, String)> {
    let at = |path: &[&str]| {
        format!("({})", path.iter().map(|step| format!("'{step}'")).collect::<Vec<_>>().join(", "))
    };
    let properties = schema.get("properties");
    let is_object = properties.is_some() || json::text(schema, "type") == Some("object");
    if is_object && schema.get("additionalProperties") != Some(&Value::Bool(false)) {
        return Some((
            at(path),
            "'additionalProperties' is required to be supplied and to be false.".to_owned(),
        ));
    }
    if strictness == Strictness::ClosedAndRequired {
        let required = json::list(schema, "required");
        for (name, _) in properties.into_iter().flat_map(json::fields) {
            if !required.iter().any(|known| known.as_str() == Some(name)) {
                let why = "'required' is required to be supplied and to be an array including every key in properties.";
                return Some((at(path), format!("{why} Missing '{name}'.")));
            }
        }
    }
    for key in ["properties", "$defs", "definitions"] {
        for (name, inner) in schema.get(key).into_iter().flat_map(json::fields) {
            path.extend([key, name]);
            if let Some(found) = walk(inner, strictness, path) {
                return Some(found);
            }
            path.truncate(path.len().saturating_sub(2));
        }
    }
    for key in ["anyOf", "allOf", "oneOf"] {
        for inner in json::list(schema, key) {
            path.push(key);
            if let Some(found) = walk(inner, strictness, path) {
                return Some(found);
            }
            path.pop();
        }
    }
    let items = schema.get("items")?;
    path.push("items");
    let found = walk(items, strictness, path);
    path.pop();
    found
}
