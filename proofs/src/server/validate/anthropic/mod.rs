//! Validates requests like Anthropic's Messages API. The messages, thinking, caching and tools have their own
//! modules.
//!
//! Invariant: paths are formatted like in the API, `messages.0.content.1.tool_use.id`.

mod cache;
mod messages;
mod thinking;
mod tools;

use serde_json::Value;

use super::problem::{Problem, Problems};
use super::schema::{Strictness, loose_end};
use crate::server::json;

const FIELDS: &[&str] = &[
    "cache_control",
    "container",
    "diagnostics",
    "inference_geo",
    "max_tokens",
    "messages",
    "metadata",
    "model",
    "output_config",
    "service_tier",
    "speed",
    "stop_sequences",
    "stream",
    "system",
    "temperature",
    "thinking",
    "tool_choice",
    "tools",
    "top_k",
    "top_p",
    "user_profile_id",
    "workspace_id",
];

const EXTRA: &str = "Extra inputs are not permitted";
const REQUIRED: &str = "Field required";

pub(super) fn problems(body: &Value) -> Vec<Problem> {
    let mut found = Problems::default();
    if !body.is_object() {
        found.whole("Input should be a valid dictionary or object to extract fields from");
        return found.0;
    }
    for name in json::unknown(body, FIELDS) {
        found.at(format_args!("{name}"), EXTRA);
    }
    let model = json::text(body, "model").unwrap_or_default();
    if model.is_empty() {
        found.at(format_args!("model"), REQUIRED);
    }
    if body.get("max_tokens").and_then(Value::as_u64).is_none() {
        found.at(format_args!("max_tokens"), REQUIRED);
    }
    system(&mut found, body);
    for (index, stop) in json::list(body, "stop_sequences").iter().enumerate() {
        if stop.as_str().is_none_or(|stop| stop.trim().is_empty()) {
            found
                .at(format_args!("stop_sequences.{index}"), "each stop sequence must contain non-whitespace");
        }
    }
    for name in body.get("metadata").into_iter().flat_map(|metadata| json::unknown(metadata, &["user_id"])) {
        found.at(format_args!("metadata.{name}"), EXTRA);
    }
    output(&mut found, body, model);
    tools::check(&mut found, body);
    thinking::check(&mut found, body, model);
    messages::check(&mut found, body, model);
    cache::check(&mut found, body);
    found.0
}

/// What only version 2026-10-21 of the API rejects; a header selects the version.
pub(super) fn problems_since_2026_10_21(body: &Value) -> Vec<Problem> {
    let mut found = Problems::default();
    for name in ["temperature", "top_p", "top_k"] {
        if body.get(name).is_some() {
            found.at(format_args!("{name}"), EXTRA);
        }
    }
    for (index, message) in json::list(body, "messages").iter().enumerate() {
        for (place, block) in json::list(message, "content").iter().enumerate() {
            match (json::text(message, "role"), json::text(block, "type")) {
                (Some("assistant"), Some("document")) => {
                    let message = "`document` blocks can only be in `user` messages";
                    found.at(format_args!("messages.{index}.content.{place}"), message);
                }
                (Some("user"), Some("text")) if !json::list(block, "citations").is_empty() => {
                    found.at(format_args!("messages.{index}.content.{place}.text.citations"), EXTRA);
                }
                _ => {}
            }
        }
    }
    found.0
}

fn system(found: &mut Problems, body: &Value) {
    match body.get("system") {
        None | Some(Value::String(_)) => {}
        Some(Value::Array(blocks)) => {
            for (index, block) in blocks.iter().enumerate() {
                if json::text(block, "type") != Some("text") {
                    found.at(format_args!("system.{index}.type"), "Input should be 'text'");
                } else if json::text(block, "text").is_none_or(str::is_empty) {
                    found.at(format_args!("system"), "text content blocks must be non-empty");
                }
                for name in json::unknown(block, &["type", "text", "cache_control", "citations"]) {
                    found.at(format_args!("system.{index}.{name}"), EXTRA);
                }
            }
        }
        Some(_) => found.at(format_args!("system"), "Input should be a valid string or list"),
    }
}

fn output(found: &mut Problems, body: &Value, model: &str) {
    let Some(config) = body.get("output_config") else { return };
    for name in json::unknown(config, &["effort", "format"]) {
        found.at(format_args!("output_config.{name}"), EXTRA);
    }
    if json::has(config, "effort") {
        let effort = json::text(config, "effort").unwrap_or_default();
        if !["low", "medium", "high", "xhigh", "max"].contains(&effort) {
            let message = "Input should be 'low', 'medium', 'high', 'xhigh' or 'max'";
            found.at(format_args!("output_config.effort"), message);
        }
        if !thinking::takes_effort(model) {
            found.whole("This model does not support the effort parameter.");
        }
    }
    let Some(format) = config.get("format").filter(|format| !format.is_null()) else { return };
    if json::text(format, "type") != Some("json_schema") {
        found.at(format_args!("output_config.format.type"), "Input should be 'json_schema'");
    }
    for name in json::unknown(format, &["type", "schema"]) {
        found.at(format_args!("output_config.format.{name}"), EXTRA);
    }
    match format.get("schema").filter(|schema| schema.is_object()) {
        None => found.at(format_args!("output_config.format.schema"), REQUIRED),
        Some(schema) => {
            if loose_end(schema, Strictness::Closed).is_some() {
                let message = "For 'object' type, 'additionalProperties' must be explicitly set to false";
                found.at(format_args!("output_config.format.schema"), message);
            }
        }
    }
}
