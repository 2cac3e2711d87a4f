//! Rules common to Chat Completions and Responses: function definitions, efforts, output formats. The two
//! APIs nest these fields differently.
//!
//! Invariant: paths are formatted like OpenAI's, `tools[0].function.name`.

use std::fmt::Arguments;

use serde_json::Value;

use super::names::is_word;
use super::problem::Problems;
use super::schema::{Strictness, loose_end};
use crate::server::json;

const EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// Checks one function: `name`, `parameters`, `strict`.
pub(super) fn function(found: &mut Problems, at: Arguments<'_>, function: &Value) {
    match json::text(function, "name") {
        None => found.at(format_args!("{at}.name"), format!("Missing required parameter: '{at}.name'.")),
        Some(name) if !is_word(name, 64) => found.at(
            format_args!("{at}.name"),
            format!(
                "Invalid '{at}.name': string does not match pattern. Expected a string that matches the pattern \
                 '^[a-zA-Z0-9_-]+$'."
            ),
        ),
        Some(_) => {}
    }
    let name = json::text(function, "name").unwrap_or_default();
    let Some(parameters) = function.get("parameters").filter(|parameters| !parameters.is_null()) else {
        return;
    };
    if json::text(parameters, "type") != Some("object") {
        let kind = parameters.get("type").unwrap_or(&Value::Null);
        found.at(
            format_args!("{at}.parameters"),
            format!("Invalid schema for function '{name}': schema must be a JSON Schema of 'type: \"object\"', got 'type: {kind}'."),
        );
    } else if function.get("strict") == Some(&Value::Bool(true))
        && let Some((place, why)) = loose_end(parameters, Strictness::ClosedAndRequired)
    {
        let message = format!("Invalid schema for function '{name}': In context={place}, {why}");
        found.at(format_args!("{at}.parameters"), message);
    }
}

/// Checks a `json_schema` format: `name`, `schema`, `strict`.
pub(super) fn schema_format(found: &mut Problems, at: Arguments<'_>, format: &Value) {
    let name = json::text(format, "name").unwrap_or_default();
    if !is_word(name, 64) {
        found.at(format_args!("{at}.name"), format!("Missing required parameter: '{at}.name'."));
    }
    match format.get("schema").filter(|schema| schema.is_object()) {
        None => found.at(format_args!("{at}.schema"), format!("Missing required parameter: '{at}.schema'.")),
        Some(schema) => {
            if format.get("strict") == Some(&Value::Bool(true))
                && let Some((place, why)) = loose_end(schema, Strictness::ClosedAndRequired)
            {
                let message =
                    format!("Invalid schema for response_format '{name}': In context={place}, {why}");
                found.at(at, message);
            }
        }
    }
}

/// Checks a reasoning effort.
pub(super) fn effort(found: &mut Problems, at: &str, effort: &Value) {
    if !effort.is_null() && !effort.as_str().is_some_and(|effort| EFFORTS.contains(&effort)) {
        let known = EFFORTS.map(|effort| format!("'{effort}'")).join(", ");
        found.at(format_args!("{at}"), format!("Invalid value: {effort}. Supported values are: {known}."));
    }
}

/// Checks a tool choice: a word, or a function by name.
pub(super) fn choice<'a>(
    found: &mut Problems,
    choice: &'a Value,
    named: Option<&'a str>,
    mut tools: impl Iterator<Item = Option<&'a str>>,
) {
    match choice {
        Value::Null => {}
        Value::String(word) if ["none", "auto", "required"].contains(&word.as_str()) => {}
        Value::Object(_) if json::text(choice, "type") == Some("function") => {
            if named.is_none() || !tools.any(|tool| tool == named) {
                let name = named.unwrap_or_default();
                let message = format!("Tool choice 'function' not found in 'tools' parameter: '{name}'.");
                found.at(format_args!("tool_choice"), message);
            }
        }
        Value::Object(_) if json::text(choice, "type") == Some("allowed_tools") => {}
        other => found.at(
            format_args!("tool_choice"),
            format!("Invalid value: {other}. Supported values are: 'none', 'auto', and 'required'."),
        ),
    }
}
