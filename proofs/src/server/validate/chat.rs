//! Validates requests like Chat Completions. Function and schema rules are shared with Responses.
//!
//! Invariant: every tool call is followed directly by its tool messages, and by nothing else.

use std::collections::HashSet;

use serde_json::Value;

use super::problem::{Problem, Problems};
use super::{images, names, open_ai_tools};
use crate::server::json;

const FIELDS: &[&str] = &[
    "audio",
    "frequency_penalty",
    "function_call",
    "functions",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "max_tokens",
    "messages",
    "metadata",
    "modalities",
    "model",
    "moderation",
    "n",
    "parallel_tool_calls",
    "prediction",
    "presence_penalty",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "reasoning_effort",
    "response_format",
    "safety_identifier",
    "seed",
    "service_tier",
    "stop",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "user",
    "verbosity",
    "web_search_options",
];

/// Parameters that enable thinking on compatible servers; OpenAI itself rejects them.
const EXTENSIONS: &[&str] = &["chat_template_kwargs", "enable_thinking", "reasoning", "thinking"];

/// Maximum length of a call id at OpenAI, in characters.
const LONGEST_ID: usize = 40;

pub(super) fn problems(body: &Value) -> Vec<Problem> {
    let mut found = Problems::default();
    let Some(model) = json::text(body, "model").filter(|model| !model.is_empty()) else {
        found.whole("you must provide a model parameter");
        return found.0;
    };
    let extended = |name: &str| EXTENSIONS.contains(&name) && !names::is_open_ai(model);
    for name in json::unknown(body, FIELDS).filter(|name| !extended(name)) {
        found.whole(format!("Unrecognized request argument supplied: {name}"));
    }
    parameters(&mut found, body, model);
    tools(&mut found, body, model);
    messages(&mut found, body, model);
    found.0
}

fn parameters(found: &mut Problems, body: &Value, model: &str) {
    if json::has(body, "max_tokens") && json::has(body, "max_completion_tokens") {
        found.whole("Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.");
    }
    if names::is_open_ai_reasoner(model) {
        if json::has(body, "max_tokens") {
            let message = "Unsupported parameter: 'max_tokens' is not supported with this model. Use \
                           'max_completion_tokens' instead.";
            found.at(format_args!("max_tokens"), message);
        }
        let thinks = json::text(body, "reasoning_effort") != Some("none");
        if let Some(heat) = body.get("temperature").and_then(Value::as_f64)
            && thinks
            && (heat - 1.0).abs() > f64::EPSILON
        {
            let message = format!(
                "Unsupported value: 'temperature' does not support {heat} with this model. Only the default (1) value \
                 is supported."
            );
            found.at(format_args!("temperature"), message);
        }
        if json::has(body, "stop") {
            found.at(format_args!("stop"), "Unsupported parameter: 'stop' is not supported with this model.");
        }
    } else if names::is_open_ai(model) && json::has(body, "reasoning_effort") {
        found.whole("Unrecognized request argument supplied: reasoning_effort");
    }
    for name in ["max_tokens", "max_completion_tokens"] {
        if json::has(body, name) && body.get(name).and_then(Value::as_u64).is_none_or(|tokens| tokens == 0) {
            let message = format!("Invalid '{name}': integer below minimum value. Expected a value >= 1.");
            found.at(format_args!("{name}"), message);
        }
    }
    if let Some(effort) = body.get("reasoning_effort") {
        open_ai_tools::effort(found, "reasoning_effort", effort);
    }
    if json::has(body, "stream_options") && body.get("stream") != Some(&Value::Bool(true)) {
        let message = "The 'stream_options' parameter is only allowed when 'stream' is enabled.";
        found.at(format_args!("stream_options"), message);
    }
    if let Some(format) = body.get("response_format").filter(|format| !format.is_null()) {
        match json::text(format, "type") {
            Some("text" | "json_object") => {}
            Some("json_schema") => {
                let inner = format.get("json_schema").unwrap_or(&Value::Null);
                open_ai_tools::schema_format(found, format_args!("response_format.json_schema"), inner);
            }
            _ => found.at(
                format_args!("response_format.type"),
                "Invalid value. Supported values are: 'json_object', 'json_schema', and 'text'.",
            ),
        }
    }
}

fn tools(found: &mut Problems, body: &Value, model: &str) {
    let tools = json::list(body, "tools");
    if json::has(body, "tools") && tools.is_empty() {
        found.at(
            format_args!("tools"),
            "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead.",
        );
    }
    for (index, tool) in tools.iter().enumerate() {
        match (json::text(tool, "type"), tool.get("function")) {
            (Some("function"), Some(function)) => {
                open_ai_tools::function(found, format_args!("tools[{index}].function"), function);
            }
            (Some("custom"), _) => {}
            _ => {
                let path = format!("tools[{index}].function");
                found.at(format_args!("{path}"), format!("Missing required parameter: '{path}'."));
            }
        }
    }
    let name = |tool: &'_ Value| {
        tool.get("function").and_then(|function| json::text(function, "name")).map(str::to_owned)
    };
    let offered: Vec<Option<String>> = tools.iter().map(name).collect();
    for (index, name) in offered.iter().enumerate() {
        if name.is_some() && offered.iter().take(index).any(|other| other == name) {
            found.at(format_args!("tools"), "Tool names must be unique.");
        }
    }
    for name in ["tool_choice", "parallel_tool_calls"] {
        if json::has(body, name) && tools.is_empty() {
            found.at(format_args!("{name}"), format!("'{name}' is only allowed when 'tools' are specified."));
        }
    }
    // Mistral's word for `required`.
    let any = |choice: &&Value| choice.as_str() == Some("any") && model.starts_with("mistral");
    if let Some(choice) = body.get("tool_choice").filter(|choice| !any(choice)) {
        let named = choice.get("function").and_then(|function| json::text(function, "name"));
        open_ai_tools::choice(found, choice, named, offered.iter().map(Option::as_deref));
    }
}

fn messages(found: &mut Problems, body: &Value, model: &str) {
    let messages = json::list(body, "messages");
    if messages.is_empty() {
        let message = "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.";
        return found.at(format_args!("messages"), message);
    }
    let mut ids: HashSet<&str> = HashSet::new();
    // The tool calls without a result, and the message that made them.
    let mut open: (usize, Vec<(&str, bool)>) = (0, Vec::new());
    for (index, message) in messages.iter().enumerate() {
        let role = json::text(message, "role").unwrap_or_default();
        if role != "tool" {
            report_unanswered(found, &mut open);
        }
        let known: &[&str] = match role {
            "system" | "developer" | "user" => &["role", "content", "name"],
            "assistant" if names::is_open_ai(model) => {
                &["role", "content", "name", "tool_calls", "refusal", "audio", "function_call", "annotations"]
            }
            "assistant" => &[
                "role",
                "content",
                "name",
                "tool_calls",
                "refusal",
                "reasoning_content",
                "reasoning",
                "reasoning_details",
            ],
            "tool" => &["role", "content", "tool_call_id"],
            _ => {
                let message = format!(
                    "Invalid value: '{role}'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', \
                     and 'developer'."
                );
                found.at(format_args!("messages[{index}].role"), message);
                continue;
            }
        };
        // Some compatible servers also require the function's name beside the result.
        for name in json::unknown(message, known)
            .filter(|name| role != "tool" || *name != "name" || names::is_open_ai(model))
        {
            let path = format!("messages[{index}].{name}");
            found.at(format_args!("{path}"), format!("Unknown parameter: '{path}'."));
        }
        content(found, index, message, role);
        match role {
            "assistant" => {
                // OpenAI's own limit; compatible servers have none or others.
                let longest = if names::is_open_ai(model) { LONGEST_ID } else { usize::MAX };
                open = (index, calls(found, index, message, &mut ids, longest));
            }
            "tool" => {
                let id = json::text(message, "tool_call_id").unwrap_or_default();
                match open.1.iter_mut().find(|(call, _)| *call == id) {
                    Some((_, answered)) if !*answered => *answered = true,
                    Some(_) => found.at(
                        format_args!("messages[{index}].tool_call_id"),
                        format!("Duplicate value for 'tool_call_id' of '{id}'"),
                    ),
                    None => found.at(
                        format_args!("messages[{index}].role"),
                        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with \
                         'tool_calls'.",
                    ),
                }
            }
            _ => {}
        }
    }
    report_unanswered(found, &mut open);
}

fn report_unanswered(found: &mut Problems, open: &mut (usize, Vec<(&str, bool)>)) {
    let (index, calls) = open;
    let missing: Vec<&str> = calls.iter().filter(|(_, answered)| !answered).map(|(id, _)| *id).collect();
    if !missing.is_empty() {
        let message = format!(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each \
             'tool_call_id'. The following tool_call_ids did not have response messages: {}",
            missing.join(", ")
        );
        found.at(format_args!("messages[{index}].tool_calls"), message);
    }
    calls.clear();
}

fn calls<'a>(
    found: &mut Problems,
    index: usize,
    message: &'a Value,
    ids: &mut HashSet<&'a str>,
    longest: usize,
) -> Vec<(&'a str, bool)> {
    let calls = json::list(message, "tool_calls");
    if json::has(message, "tool_calls") && calls.is_empty() {
        let path = format!("messages[{index}].tool_calls");
        let message = format!("Invalid '{path}': empty array. Expected an array with minimum length 1.");
        found.at(format_args!("{path}"), message);
    }
    let mut made = Vec::new();
    for (place, call) in calls.iter().enumerate() {
        let at = format!("messages[{index}].tool_calls[{place}]");
        let id = json::text(call, "id").unwrap_or_default();
        if id.is_empty() {
            found.at(format_args!("{at}.id"), format!("Missing required parameter: '{at}.id'."));
        } else if id.len() > longest {
            let length = id.len();
            let message = format!(
                "Invalid '{at}.id': string too long. Expected a string with maximum length {LONGEST_ID}, but got a \
                 string with length {length} instead."
            );
            found.at(format_args!("{at}.id"), message);
        }
        if !ids.insert(id) {
            found.at(format_args!("{at}.id"), format!("Duplicate tool call id '{id}'."));
        }
        if json::text(call, "type") != Some("function") {
            found.at(format_args!("{at}.type"), format!("Missing required parameter: '{at}.type'."));
        }
        let function = call.get("function").unwrap_or(&Value::Null);
        if !json::text(function, "name").is_some_and(|name| names::is_word(name, 64)) {
            let message = format!("Invalid '{at}.function.name': string does not match pattern.");
            found.at(format_args!("{at}.function.name"), message);
        }
        let is_json = |text: &str| serde_json::from_str::<Value>(text).is_ok();
        if !json::text(function, "arguments").is_some_and(is_json) {
            let message = format!("Invalid type for '{at}.function.arguments': expected a string of JSON.");
            found.at(format_args!("{at}.function.arguments"), message);
        }
        made.push((id, false));
    }
    made
}

fn content(found: &mut Problems, index: usize, message: &Value, role: &str) {
    let at = format_args!("messages[{index}].content");
    match message.get("content") {
        None | Some(Value::Null) => {
            let speaks =
                ["tool_calls", "refusal", "audio", "function_call"].iter().any(|key| json::has(message, key));
            if role != "assistant" || !speaks {
                found.at(at, "Invalid value for 'content': expected a string, got null.");
            }
        }
        Some(Value::String(text)) => {
            if text.is_empty() && role != "tool" && !json::has(message, "tool_calls") {
                found.at(at, "Invalid value for 'content': expected a string that is not empty.");
            }
        }
        Some(Value::Array(parts)) => {
            if parts.is_empty() {
                found
                    .at(at, format!("Invalid '{at}': empty array. Expected an array with minimum length 1."));
            }
            for (place, part) in parts.iter().enumerate() {
                self::part(found, index, place, part, role);
            }
        }
        Some(_) => {
            found.at(at, format!("Invalid type for '{at}': expected one of a string or array of objects."))
        }
    }
}

fn part(found: &mut Problems, index: usize, place: usize, part: &Value, role: &str) {
    let at = format_args!("messages[{index}].content[{place}]");
    let kind = json::text(part, "type").unwrap_or_default();
    let allowed: &[&str] = match role {
        "user" => &["text", "image_url", "input_audio", "file"],
        "assistant" => &["text", "refusal"],
        _ => &["text"],
    };
    if !allowed.contains(&kind) {
        let known = allowed.iter().map(|kind| format!("'{kind}'")).collect::<Vec<_>>().join(", ");
        return found.at(
            format_args!("messages[{index}].content[{place}].type"),
            format!("Invalid value: '{kind}'. Supported values are: {known}."),
        );
    }
    match kind {
        "text" if json::text(part, "text").is_none_or(str::is_empty) => {
            found.at(at, format!("Missing required parameter: '{at}.text'."));
        }
        "image_url" => {
            let url = part.get("image_url").and_then(|image| json::text(image, "url")).unwrap_or_default();
            if !images::is_url(url) {
                found.at(at, "Invalid value: the URL is neither an address nor an image in base64.");
            }
        }
        _ => {}
    }
}
