//! Validates function declarations and the calling mode.
//!
//! `parameters` accepts only Google's subset of JSON Schema, where schemas written for other APIs fail;
//! `parametersJsonSchema` accepts all of it.
//! Invariant: every key of a schema is checked, at any depth.

use serde_json::Value;

use super::super::names::is_google_function;
use super::super::problem::Problems;
use super::unknown_name;
use crate::server::json;

/// The keys of Google's `Schema`.
const SCHEMA: &[&str] = &[
    "additionalProperties",
    "anyOf",
    "default",
    "description",
    "enum",
    "example",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "nullable",
    "pattern",
    "properties",
    "propertyOrdering",
    "required",
    "title",
    "type",
];

/// Every function declared in the request.
pub(super) fn declarations(body: &Value) -> Vec<&Value> {
    json::list(body, "tools").iter().flat_map(|tool| json::list(tool, "functionDeclarations")).collect()
}

pub(super) fn check(found: &mut Problems, body: &Value) {
    let declared = declarations(body);
    for (index, function) in declared.iter().enumerate() {
        let at = format!("tools[0].function_declarations[{index}]");
        let name = json::text(function, "name").unwrap_or_default();
        if !is_google_function(name) {
            let message = "Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, \
                           A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.";
            found.at(format_args!("{at}.name"), message);
        }
        if declared.iter().take(index).any(|other| json::text(other, "name") == Some(name)) {
            found.whole(format!("Duplicate function declaration found: {name}"));
        }
        let known = [
            "name",
            "description",
            "parameters",
            "parametersJsonSchema",
            "response",
            "responseJsonSchema",
            "behavior",
        ];
        for name in json::unknown(function, &known) {
            found.whole(unknown_name(name, &at));
        }
        if json::has(function, "parameters") && json::has(function, "parametersJsonSchema") {
            found.at(format_args!("{at}"), "Only one of parameters and parameters_json_schema may be set.");
        }
        if let Some(schema) = function.get("parameters") {
            self::schema(found, &format!("{at}.parameters"), schema);
            if !json::text(schema, "type").is_some_and(|kind| kind.eq_ignore_ascii_case("object")) {
                found.at(format_args!("{at}.parameters"), "parameters schema should be of type OBJECT.");
            }
        }
        if let Some(schema) = function.get("parametersJsonSchema")
            && json::text(schema, "type") != Some("object")
        {
            found.at(
                format_args!("{at}.parameters_json_schema"),
                "parameters schema should be of type object.",
            );
        }
    }
    calling(found, body, &declared);
}

fn schema(found: &mut Problems, at: &str, schema: &Value) {
    for name in json::unknown(schema, SCHEMA) {
        found.whole(unknown_name(name, at));
    }
    if schema.get("type").is_some_and(Value::is_array) {
        found.at(format_args!("{at}.type"), "Proto field is not repeating, cannot start list.");
    }
    for (name, inner) in schema.get("properties").into_iter().flat_map(json::fields) {
        self::schema(found, &format!("{at}.properties[{name}]"), inner);
    }
    for (index, inner) in json::list(schema, "anyOf").iter().enumerate() {
        self::schema(found, &format!("{at}.any_of[{index}]"), inner);
    }
    if let Some(items) = schema.get("items") {
        self::schema(found, &format!("{at}.items"), items);
    }
    for required in json::list(schema, "required") {
        let known = required
            .as_str()
            .is_some_and(|name| schema.get("properties").is_some_and(|all| all.get(name).is_some()));
        if !known {
            found.at(format_args!("{at}.required"), "property is not defined");
        }
    }
}

fn calling(found: &mut Problems, body: &Value, declared: &[&Value]) {
    let Some(config) = body.get("toolConfig") else { return };
    for name in json::unknown(
        config,
        &["functionCallingConfig", "retrievalConfig", "includeServerSideToolInvocations"],
    ) {
        found.whole(unknown_name(name, "tool_config"));
    }
    let Some(calling) = config.get("functionCallingConfig") else { return };
    let mode = json::text(calling, "mode").unwrap_or("AUTO");
    if !["AUTO", "ANY", "NONE", "VALIDATED"].contains(&mode) {
        found.at(format_args!("toolConfig.functionCallingConfig.mode"), format!("Invalid value ({mode})"));
    }
    let allowed = json::list(calling, "allowedFunctionNames");
    if !allowed.is_empty() && !["ANY", "VALIDATED"].contains(&mode) {
        let message = "Please set allowed_function_names only when function calling mode is ANY.";
        found.at(format_args!("toolConfig.functionCallingConfig.allowedFunctionNames"), message);
    }
    for name in allowed {
        if !declared.iter().any(|function| function.get("name") == Some(name)) {
            let message = format!("allowed_function_names contains {name}, which is not declared.");
            found.at(format_args!("toolConfig.functionCallingConfig.allowedFunctionNames"), message);
        }
    }
    if declared.is_empty() && mode == "ANY" {
        found.whole("Function calling config is set without function_declarations.");
    }
}
