//! Validates the parameters of a Converse request: system, inference, tools, caching, thinking.
//!
//! Thinking is in `additionalModelRequestFields` and specific to Claude.
//! Invariant: an unknown field anywhere in them is rejected, like by the service's JSON schema check.

use std::fmt::Arguments;

use serde_json::Value;

use super::super::names::is_word;
use super::super::problem::Problems;
use super::known;
use crate::server::json;

const FIELDS: &[&str] = &[
    "additionalModelRequestFields",
    "additionalModelResponseFieldPaths",
    "guardrailConfig",
    "inferenceConfig",
    "messages",
    "outputConfig",
    "performanceConfig",
    "promptVariables",
    "requestMetadata",
    "serviceTier",
    "system",
    "toolConfig",
];

/// Maximum number of cache points in a request.
const MOST_CACHE_POINTS: usize = 4;

pub(super) fn check(found: &mut Problems, model: &str, body: &Value) {
    if model.is_empty() {
        found.at(format_args!("modelId"), "must not be empty");
    }
    known(found, format_args!("#"), body, FIELDS);
    inference(found, body);
    for (index, block) in json::list(body, "system").iter().enumerate() {
        let at = format_args!("system.{index}");
        let mut members = json::fields(block);
        match (members.next(), members.next()) {
            (Some(("text", text)), None) => {
                if text.as_str().is_none_or(str::is_empty) {
                    found.at(format_args!("{at}.text"), "Member must have length greater than or equal to 1");
                }
            }
            (Some(("cachePoint", point)), None) => cache_point(found, at, point),
            (Some(("guardContent", _)), None) => {}
            _ => found.at(at, "a system content block must set exactly one of its members"),
        }
    }
    tools(found, body);
    thinking(found, body);
    let points = points(body);
    if points > MOST_CACHE_POINTS {
        found.whole(format!(
            "A maximum of {MOST_CACHE_POINTS} cachePoint blocks may be provided. Found {points}."
        ));
    }
}

pub(super) fn cache_point(found: &mut Problems, at: Arguments<'_>, point: &Value) {
    known(found, at, point, &["type", "ttl"]);
    if json::text(point, "type") != Some("default") {
        found.at(format_args!("{at}.cachePoint.type"), "Member must satisfy enum value set: [default]");
    }
    if !matches!(json::text(point, "ttl"), None | Some("5m" | "1h")) {
        found.at(format_args!("{at}.cachePoint.ttl"), "Member must satisfy enum value set: [5m, 1h]");
    }
}

fn points(body: &Value) -> usize {
    let messages = json::list(body, "messages").iter().flat_map(|message| json::list(message, "content"));
    let tools = body.get("toolConfig").map_or(&[][..], |config| json::list(config, "tools"));
    json::list(body, "system")
        .iter()
        .chain(messages)
        .chain(tools)
        .filter(|block| json::has(block, "cachePoint"))
        .count()
}

fn inference(found: &mut Problems, body: &Value) {
    let Some(config) = body.get("inferenceConfig") else { return };
    known(
        found,
        format_args!("inferenceConfig"),
        config,
        &["maxTokens", "temperature", "topP", "stopSequences"],
    );
    if json::has(config, "maxTokens")
        && config.get("maxTokens").and_then(Value::as_u64).is_none_or(|most| most == 0)
    {
        found.at(
            format_args!("inferenceConfig.maxTokens"),
            "Member must have value greater than or equal to 1",
        );
    }
    for name in ["temperature", "topP"] {
        if config.get(name).and_then(Value::as_f64).is_some_and(|value| !(0.0..=1.0).contains(&value)) {
            found
                .at(format_args!("inferenceConfig.{name}"), "Member must have value less than or equal to 1");
        }
    }
    if json::list(config, "stopSequences").iter().any(|stop| stop.as_str().is_none_or(str::is_empty)) {
        found.at(
            format_args!("inferenceConfig.stopSequences"),
            "Member must have length greater than or equal to 1",
        );
    }
}

fn tools(found: &mut Problems, body: &Value) {
    let Some(config) = body.get("toolConfig") else { return };
    known(found, format_args!("toolConfig"), config, &["tools", "toolChoice"]);
    let tools = json::list(config, "tools");
    if tools.is_empty() {
        found.at(format_args!("toolConfig.tools"), "Member must have length greater than or equal to 1");
    }
    let mut names: Vec<&str> = Vec::new();
    for (index, tool) in tools.iter().enumerate() {
        let at = format_args!("toolConfig.tools.{index}");
        if let Some(point) = tool.get("cachePoint") {
            cache_point(found, at, point);
            continue;
        }
        let Some(spec) = tool.get("toolSpec") else {
            if !json::has(tool, "systemTool") {
                found.at(at, "a tool must set exactly one of its members");
            }
            continue;
        };
        known(found, at, spec, &["name", "description", "inputSchema", "strict"]);
        let name = json::text(spec, "name").unwrap_or_default();
        if !is_word(name, 64) {
            found.at(
                format_args!("{at}.toolSpec.name"),
                "Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+",
            );
        }
        if names.contains(&name) {
            found.at(
                format_args!("{at}.toolSpec.name"),
                format!("The tool name {name} is used more than once."),
            );
        }
        names.push(name);
        if json::text(spec, "description").is_some_and(str::is_empty) {
            found.at(
                format_args!("{at}.toolSpec.description"),
                "Member must have length greater than or equal to 1",
            );
        }
        let schema = spec.get("inputSchema").and_then(|schema| schema.get("json"));
        if schema.and_then(|schema| json::text(schema, "type")) != Some("object") {
            let message = format!(
                "The value at {at}.toolSpec.inputSchema.json.type must be one of the following: object."
            );
            found.whole(message);
        }
    }
    let Some(choice) = config.get("toolChoice") else { return };
    let mut members = json::fields(choice);
    match (members.next(), members.next()) {
        (Some(("auto" | "any", _)), None) => {}
        (Some(("tool", tool)), None) => {
            let name = json::text(tool, "name").unwrap_or_default();
            if !names.contains(&name) {
                found.at(format_args!("toolConfig.toolChoice.tool.name"), format!("no tool is named {name}"));
            }
        }
        _ => found.at(format_args!("toolConfig.toolChoice"), "must set exactly one of its members"),
    }
}

fn thinking(found: &mut Problems, body: &Value) {
    let fields = body.get("additionalModelRequestFields");
    let Some(thinking) = fields.and_then(|fields| fields.get("thinking")) else { return };
    if json::text(thinking, "type") != Some("enabled") {
        return;
    }
    let config = body.get("inferenceConfig").unwrap_or(&Value::Null);
    let budget = thinking.get("budget_tokens").and_then(Value::as_u64).unwrap_or_default();
    if budget < 1024 {
        found.at(
            format_args!("thinking.enabled.budget_tokens"),
            "Input should be greater than or equal to 1024",
        );
    }
    if config.get("maxTokens").and_then(Value::as_u64).is_some_and(|most| budget >= most) {
        found.whole("`max_tokens` must be greater than `thinking.budget_tokens`.");
    }
    if config.get("temperature").and_then(Value::as_f64).is_some_and(|heat| (heat - 1.0).abs() > f64::EPSILON)
    {
        found.whole("`temperature` may only be set to 1 when thinking is enabled.");
    }
    let choice = body.get("toolConfig").and_then(|config| config.get("toolChoice"));
    if choice.is_some_and(|choice| json::has(choice, "any") || json::has(choice, "tool")) {
        found.whole("Thinking may not be enabled when tool_choice forces tool use.");
    }
}
