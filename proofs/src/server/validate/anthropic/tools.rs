//! Validates the tool definitions and the tool choice.
//!
//! Invariant: for tools that run at Anthropic (their `type` is not `custom`), only the name is checked.

use serde_json::Value;

use super::super::names::is_word;
use super::super::problem::Problems;
use crate::server::json;

const FIELDS: &[&str] = &[
    "allowed_callers",
    "cache_control",
    "defer_loading",
    "description",
    "eager_input_streaming",
    "input_examples",
    "input_schema",
    "name",
    "strict",
    "type",
];

pub(super) fn check(found: &mut Problems, body: &Value) {
    let tools = json::list(body, "tools");
    if json::has(body, "tools") && !body.get("tools").is_some_and(Value::is_array) {
        found.at(format_args!("tools"), "Input should be a valid list");
    }
    for (index, tool) in tools.iter().enumerate() {
        let name = json::text(tool, "name").unwrap_or_default();
        if tools.iter().take(index).any(|other| json::text(other, "name") == Some(name)) {
            found.at(format_args!("tools"), "Tool names must be unique.");
        }
        if json::text(tool, "type").is_some_and(|kind| kind != "custom") {
            continue;
        }
        if !is_word(name, 128) {
            let message = "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'";
            found.at(format_args!("tools.{index}.custom.name"), message);
        }
        for name in json::unknown(tool, FIELDS) {
            found.at(format_args!("tools.{index}.custom.{name}"), super::EXTRA);
        }
        schema(found, index, tool);
    }
    choice(found, body, tools);
}

fn schema(found: &mut Problems, index: usize, tool: &Value) {
    let Some(schema) = tool.get("input_schema").filter(|schema| schema.is_object()) else {
        return found.at(format_args!("tools.{index}.custom.input_schema"), super::REQUIRED);
    };
    if json::text(schema, "type") != Some("object") {
        found.at(format_args!("tools.{index}.custom.input_schema.type"), "Input should be 'object'");
    }
    if ["oneOf", "allOf", "anyOf"].iter().any(|key| json::has(schema, key)) {
        let message = "input_schema does not support oneOf, allOf, or anyOf at the top level";
        found.at(format_args!("tools.{index}.custom.input_schema"), message);
    }
}

fn choice(found: &mut Problems, body: &Value, tools: &[Value]) {
    let Some(choice) = body.get("tool_choice").filter(|choice| !choice.is_null()) else { return };
    if tools.is_empty() {
        found.whole("tool_choice may only be specified while providing tools.");
    }
    match json::text(choice, "type") {
        Some("auto" | "any" | "none") => {}
        Some("tool") => {
            let name = json::text(choice, "name").unwrap_or_default();
            if !tools.iter().any(|tool| json::text(tool, "name") == Some(name)) {
                found.whole(format!("Tool '{name}' not found in provided tools"));
            }
        }
        _ => {
            found.at(format_args!("tool_choice"), "Input tag should be one of: 'auto', 'any', 'tool', 'none'")
        }
    }
}
