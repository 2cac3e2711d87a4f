//! Generates the JSON schema of the settings, for editors.

use serde_json::{Map, Value, json};

use super::keys::KEYS;
use super::kind::{Key, Kind};

/// The schema of `config.toml` and `lariat.toml`.
pub fn schema() -> Value {
    let mut root = table();
    for key in KEYS {
        let words: Vec<&str> = key.name.split('.').collect();
        insert(&mut root, &words, leaf(key));
    }
    if let Some(root) = root.as_object_mut() {
        root.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        root.insert("title".to_owned(), json!("Lariat settings"));
        if let Some(Value::Object(properties)) = root.get_mut("properties") {
            for (name, about) in OTHERS {
                properties.insert((*name).to_owned(), json!({ "type": "object", "description": about }));
            }
        }
    }
    root
}

/// Tables that other modules validate.
const OTHERS: &[(&str, &str)] = &[
    ("permissions", "Permission rules (`allow`, `ask`, `deny`), as in Claude Code's settings."),
    ("hooks", "Hooks by event, as in Claude Code's settings."),
    ("env", "Environment variables for commands."),
    ("mcp_servers", "MCP servers by name, as in `.mcp.json`."),
    ("openapi", "APIs by name, whose operations become tools."),
];

fn table() -> Value {
    json!({ "type": "object", "properties": {}, "additionalProperties": false })
}

fn insert(table_: &mut Value, words: &[&str], leaf: Value) {
    let Some((word, rest)) = words.split_first() else { return };
    let Some(table_) = table_.as_object_mut() else { return };
    let slot = if *word == "*" {
        let slot = table_.entry("additionalProperties").or_insert(Value::Bool(false));
        if slot.is_boolean() {
            *slot = table();
        }
        slot
    } else {
        let properties = table_.entry("properties").or_insert_with(|| Value::Object(Map::new()));
        let Some(properties) = properties.as_object_mut() else { return };
        properties
            .entry((*word).to_owned())
            .or_insert_with(|| if rest.is_empty() { leaf.clone() } else { table() })
    };
    insert(slot, rest, leaf);
}

fn leaf(key: &Key) -> Value {
    let mut leaf = match key.kind {
        Kind::Text => json!({ "type": "string" }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Count => json!({ "type": "integer", "minimum": 0 }),
        Kind::Positive => json!({ "type": "integer", "minimum": 1 }),
        Kind::Percent => json!({ "type": "integer", "minimum": 0, "maximum": 100 }),
        Kind::Money => json!({ "type": "number", "minimum": 0 }),
        Kind::Time => json!({ "type": ["string", "integer"], "pattern": "^[0-9]+[smhd]$" }),
        Kind::Word(words) => json!({ "type": "string", "enum": words }),
        Kind::Texts | Kind::Hosts => json!({ "type": "array", "items": { "type": "string" } }),
    };
    if let Some(leaf) = leaf.as_object_mut() {
        leaf.insert("description".to_owned(), Value::from(key.about));
        if let Some(default) = key.default_value() {
            leaf.insert("default".to_owned(), default);
        }
    }
    leaf
}
