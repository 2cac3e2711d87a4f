//! Validates requests like the Responses API, at OpenAI and at Azure. Function and schema rules are shared
//! with Chat Completions.
//!
//! Invariant: every function call has exactly one output after it, and every output its call before it.

use std::collections::HashSet;

use serde_json::Value;

use super::problem::{Problem, Problems};
use super::{images, names, open_ai_tools};
use crate::server::{json, signature_fits};

const FIELDS: &[&str] = &[
    "background",
    "context_management",
    "conversation",
    "include",
    "input",
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "model",
    "moderation",
    "parallel_tool_calls",
    "previous_response_id",
    "prompt",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "reasoning",
    "safety_identifier",
    "service_tier",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "truncation",
    "user",
];

const INCLUDABLE: &[&str] = &[
    "code_interpreter_call.outputs",
    "computer_call_output.output.image_url",
    "file_search_call.results",
    "message.input_image.image_url",
    "message.output_text.logprobs",
    "reasoning.encrypted_content",
    "web_search_call.action.sources",
    "web_search_call.results",
];

/// Maximum length of a call id and a cache key, in characters.
const LONGEST: usize = 64;

pub(super) fn problems(body: &Value) -> Vec<Problem> {
    let mut found = Problems::default();
    let Some(model) = json::text(body, "model").filter(|model| !model.is_empty()) else {
        found.at(format_args!("model"), "Missing required parameter: 'model'.");
        return found.0;
    };
    for name in json::unknown(body, FIELDS) {
        found.at(format_args!("{name}"), format!("Unknown parameter: '{name}'."));
    }
    parameters(&mut found, body, model);
    tools(&mut found, body);
    match body.get("input") {
        Some(Value::String(text)) if !text.is_empty() => {}
        Some(Value::Array(items)) if !items.is_empty() => {
            let stored = body.get("store") != Some(&Value::Bool(false));
            let mut walk = Walk { found: &mut found, stored, calls: Vec::new(), ids: HashSet::new() };
            for (index, item) in items.iter().enumerate() {
                walk.item(index, item, items.get(index + 1));
            }
            walk.report_unanswered();
        }
        _ => found.at(format_args!("input"), "Missing required parameter: 'input'."),
    }
    found.0
}

fn parameters(found: &mut Problems, body: &Value, model: &str) {
    let reasons = names::is_open_ai_reasoner(model);
    if let Some(reasoning) = body.get("reasoning").filter(|reasoning| !reasoning.is_null()) {
        for name in json::unknown(reasoning, &["effort", "summary", "generate_summary", "context", "mode"]) {
            found.at(format_args!("reasoning.{name}"), format!("Unknown parameter: 'reasoning.{name}'."));
        }
        if let Some(effort) = reasoning.get("effort") {
            open_ai_tools::effort(found, "reasoning.effort", effort);
        }
        let summary = reasoning.get("summary").filter(|summary| !summary.is_null());
        if summary.is_some_and(|word| {
            !word.as_str().is_some_and(|word| ["auto", "concise", "detailed"].contains(&word))
        }) {
            let message = "Invalid value. Supported values are: 'concise', 'detailed', and 'auto'.";
            found.at(format_args!("reasoning.summary"), message);
        }
        if !reasons && names::is_open_ai(model) && json::has(reasoning, "effort") {
            let message = "Unsupported parameter: 'reasoning.effort' is not supported with this model.";
            found.at(format_args!("reasoning.effort"), message);
        }
    }
    let thinks = body.get("reasoning").and_then(|reasoning| json::text(reasoning, "effort")) != Some("none");
    for name in ["temperature", "top_p"] {
        if reasons && thinks && json::has(body, name) {
            let message = format!("Unsupported parameter: '{name}' is not supported with this model.");
            found.at(format_args!("{name}"), message);
        }
    }
    if json::has(body, "max_output_tokens")
        && body.get("max_output_tokens").and_then(Value::as_u64).is_none_or(|tokens| tokens < 16)
    {
        let message = "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16.";
        found.at(format_args!("max_output_tokens"), message);
    }
    for (index, name) in json::list(body, "include").iter().enumerate() {
        if !name.as_str().is_some_and(|name| INCLUDABLE.contains(&name)) {
            let known = INCLUDABLE.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
            let message = format!("Invalid value: {name}. Supported values are: {known}.");
            found.at(format_args!("include[{index}]"), message);
        }
    }
    if json::text(body, "prompt_cache_key").is_some_and(|key| key.len() > LONGEST) {
        let message = format!(
            "Invalid 'prompt_cache_key': string too long. Expected a string with maximum length {LONGEST}."
        );
        found.at(format_args!("prompt_cache_key"), message);
    }
    if let Some(id) = json::text(body, "previous_response_id") {
        let message = format!("Previous response with id '{id}' not found.");
        found.at(format_args!("previous_response_id"), message);
    }
    if json::has(body, "stream_options") && body.get("stream") != Some(&Value::Bool(true)) {
        let message = "The 'stream_options' parameter is only allowed when 'stream' is enabled.";
        found.at(format_args!("stream_options"), message);
    }
    let format = body.get("text").and_then(|text| text.get("format"));
    match format.map(|format| (format, json::text(format, "type"))) {
        None | Some((_, Some("text" | "json_object"))) => {}
        Some((format, Some("json_schema"))) => {
            open_ai_tools::schema_format(found, format_args!("text.format"), format);
        }
        Some(_) => found.at(
            format_args!("text.format.type"),
            "Invalid value. Supported values are: 'json_object', 'json_schema', and 'text'.",
        ),
    }
}

fn tools(found: &mut Problems, body: &Value) {
    let tools = json::list(body, "tools");
    for (index, tool) in tools.iter().enumerate() {
        if json::text(tool, "type").is_none() {
            let message = format!("Missing required parameter: 'tools[{index}].type'.");
            found.at(format_args!("tools[{index}].type"), message);
        } else if json::text(tool, "type") == Some("function") {
            open_ai_tools::function(found, format_args!("tools[{index}]"), tool);
            let known = [
                "type",
                "name",
                "description",
                "parameters",
                "strict",
                "async",
                "allowed_callers",
                "defer_loading",
                "output_schema",
            ];
            for name in json::unknown(tool, &known) {
                let path = format!("tools[{index}].{name}");
                found.at(format_args!("{path}"), format!("Unknown parameter: '{path}'."));
            }
            let name = json::text(tool, "name");
            if tools.iter().take(index).any(|other| json::text(other, "name") == name) {
                found.at(format_args!("tools"), "Tool names must be unique.");
            }
        }
    }
    if let Some(choice) = body.get("tool_choice") {
        let named = json::text(choice, "name");
        open_ai_tools::choice(found, choice, named, tools.iter().map(|tool| json::text(tool, "name")));
    }
}

struct Walk<'a, 'f> {
    found: &'f mut Problems,
    stored: bool,
    /// All calls so far: position, id, and whether it has an output.
    calls: Vec<(usize, &'a str, bool)>,
    /// The ids of items.
    ids: HashSet<&'a str>,
}

impl<'a> Walk<'a, '_> {
    fn item(&mut self, index: usize, item: &'a Value, next: Option<&Value>) {
        let kind = json::text(item, "type").or_else(|| json::text(item, "role").map(|_| "message"));
        if let Some(id) = json::text(item, "id") {
            let prefix = match kind {
                Some("message") => "msg",
                Some("function_call") => "fc",
                Some("reasoning") => "rs",
                _ => "",
            };
            if !id.starts_with(prefix) {
                let message = format!(
                    "Invalid 'input[{index}].id': '{id}'. Expected an ID that begins with '{prefix}'."
                );
                self.found.at(format_args!("input[{index}].id"), message);
            }
            if id.len() > LONGEST {
                let message = format!(
                    "Invalid 'input[{index}].id': string too long. Expected a string with maximum length {LONGEST}."
                );
                self.found.at(format_args!("input[{index}].id"), message);
            }
            if !self.ids.insert(id) {
                let message = format!(
                    "Duplicate item found with id {id}. Remove duplicate items from your input and try again."
                );
                self.found.at(format_args!("input"), message);
            }
        }
        match kind {
            Some("message") => self.message(index, item),
            Some("function_call") => self.call(index, item),
            Some("function_call_output") => self.output(index, item),
            Some("reasoning") => self.reasoning(index, item, next),
            Some("item_reference") if !self.stored => {
                let id = json::text(item, "id").unwrap_or_default();
                self.found.at(format_args!("input"), not_persisted(id));
            }
            Some(
                "item_reference"
                | "compaction"
                | "web_search_call"
                | "file_search_call"
                | "computer_call"
                | "computer_call_output"
                | "code_interpreter_call"
                | "image_generation_call"
                | "local_shell_call"
                | "local_shell_call_output"
                | "shell_call"
                | "shell_call_output"
                | "apply_patch_call"
                | "apply_patch_call_output"
                | "mcp_call"
                | "mcp_list_tools"
                | "mcp_approval_request"
                | "mcp_approval_response"
                | "custom_tool_call"
                | "custom_tool_call_output"
                | "tool_search_call"
                | "tool_search_output"
                | "additional_tools",
            ) => {}
            other => {
                let message = format!("Invalid value: '{}'.", other.unwrap_or_default());
                self.found.at(format_args!("input[{index}].type"), message);
            }
        }
    }

    fn message(&mut self, index: usize, item: &Value) {
        let role = json::text(item, "role").unwrap_or_default();
        if !["user", "assistant", "system", "developer"].contains(&role) {
            let message = format!(
                "Invalid value: '{role}'. Supported values are: 'assistant', 'system', 'developer', and 'user'."
            );
            self.found.at(format_args!("input[{index}].role"), message);
        }
        self.unknown(index, item, &["type", "role", "content", "id", "status", "phase"]);
        match item.get("content") {
            Some(Value::String(text)) if !text.is_empty() => {}
            Some(Value::Array(parts)) if !parts.is_empty() => {
                let allowed: &[&str] = match role {
                    "assistant" => &["output_text", "refusal"],
                    _ => &["input_text", "input_image", "input_file", "input_audio"],
                };
                self.parts(index, "content", parts, allowed);
            }
            _ => {
                let message = format!("Missing required parameter: 'input[{index}].content'.");
                self.found.at(format_args!("input[{index}].content"), message);
            }
        }
    }

    fn parts(&mut self, index: usize, field: &str, parts: &[Value], allowed: &[&str]) {
        for (place, part) in parts.iter().enumerate() {
            let kind = json::text(part, "type").unwrap_or_default();
            let at = format_args!("input[{index}].{field}[{place}]");
            if !allowed.contains(&kind) {
                let known = allowed.iter().map(|kind| format!("'{kind}'")).collect::<Vec<_>>().join(", ");
                let message = format!("Invalid value: '{kind}'. Supported values are: {known}.");
                self.found.at(at, message);
                continue;
            }
            match kind {
                "input_text" | "output_text" if json::text(part, "text").is_none_or(str::is_empty) => {
                    self.found.at(at, format!("Missing required parameter: '{at}.text'."));
                }
                "refusal" if json::text(part, "refusal").is_none() => {
                    self.found.at(at, format!("Missing required parameter: '{at}.refusal'."));
                }
                "input_image" => {
                    let url = json::text(part, "image_url");
                    if !url.is_some_and(images::is_url) && !json::has(part, "file_id") {
                        let message = "Invalid value: the URL is neither an address nor an image in base64.";
                        self.found.at(at, message);
                    }
                }
                _ => {}
            }
        }
    }

    fn call(&mut self, index: usize, item: &'a Value) {
        self.unknown(
            index,
            item,
            &["type", "id", "call_id", "name", "arguments", "status", "async", "caller", "namespace"],
        );
        let at = format!("input[{index}]");
        let id = json::text(item, "call_id").unwrap_or_default();
        if id.is_empty() {
            self.found
                .at(format_args!("{at}.call_id"), format!("Missing required parameter: '{at}.call_id'."));
        } else if id.len() > LONGEST {
            let message = format!(
                "Invalid '{at}.call_id': string too long. Expected a string with maximum length {LONGEST}."
            );
            self.found.at(format_args!("{at}.call_id"), message);
        }
        if self.calls.iter().any(|(_, known, _)| *known == id) {
            self.found.at(format_args!("{at}.call_id"), format!("Duplicate call_id '{id}'."));
        }
        if !json::text(item, "name").is_some_and(|name| names::is_word(name, 64)) {
            let message = format!("Invalid '{at}.name': string does not match pattern.");
            self.found.at(format_args!("{at}.name"), message);
        }
        let is_json = |text: &str| serde_json::from_str::<Value>(text).is_ok();
        if !json::text(item, "arguments").is_some_and(is_json) {
            let message = format!("Invalid type for '{at}.arguments': expected a string of JSON.");
            self.found.at(format_args!("{at}.arguments"), message);
        }
        self.calls.push((index, id, false));
    }

    fn output(&mut self, index: usize, item: &Value) {
        self.unknown(
            index,
            item,
            &["type", "id", "call_id", "output", "status", "caller", "name", "namespace"],
        );
        let id = json::text(item, "call_id").unwrap_or_default();
        match self.calls.iter_mut().find(|(_, call, _)| *call == id) {
            Some((_, _, answered)) if !*answered => *answered = true,
            Some(_) => {
                let message = format!("Duplicate output for function call with call_id {id}.");
                self.found.at(format_args!("input"), message);
            }
            None => {
                let message = format!("No tool call found for function call output with call_id {id}.");
                self.found.at(format_args!("input"), message);
            }
        }
        match item.get("output") {
            Some(Value::String(_)) => {}
            Some(Value::Array(parts)) if !parts.is_empty() => {
                self.parts(index, "output", parts, &["input_text", "input_image", "input_file"]);
            }
            _ => {
                let message = format!("Missing required parameter: 'input[{index}].output'.");
                self.found.at(format_args!("input[{index}].output"), message);
            }
        }
    }

    fn reasoning(&mut self, index: usize, item: &Value, next: Option<&Value>) {
        self.unknown(index, item, &["type", "id", "summary", "content", "encrypted_content", "status"]);
        let id = json::text(item, "id").unwrap_or_default();
        if id.is_empty() && self.stored {
            self.found.at(
                format_args!("input[{index}].id"),
                format!("Missing required parameter: 'input[{index}].id'."),
            );
        }
        let Some(summary) = item.get("summary").and_then(Value::as_array) else {
            let message = format!("Missing required parameter: 'input[{index}].summary'.");
            return self.found.at(format_args!("input[{index}].summary"), message);
        };
        let next_kind = next.and_then(|next| json::text(next, "type").or_else(|| json::text(next, "role")));
        let own = |next: &Value| json::text(next, "role").is_none_or(|role| role == "assistant");
        let follows = matches!(next_kind, Some(kind) if kind == "message" || kind == "assistant" || kind.ends_with("_call") || kind == "reasoning");
        if !follows || !next.is_some_and(own) {
            let message =
                format!("Item '{id}' of type 'reasoning' was provided without its required following item.");
            self.found.at(format_args!("input"), message);
        }
        match json::text(item, "encrypted_content") {
            None | Some("") => {
                if !self.stored {
                    self.found.at(format_args!("input"), not_persisted(id));
                }
            }
            Some(sealed) => {
                let text: String = summary.iter().filter_map(|part| json::text(part, "text")).collect();
                if !signature_fits(sealed, &text) {
                    self.found.at(
                        format_args!("input"),
                        format!("The encrypted content for item {id} could not be verified."),
                    );
                }
            }
        }
    }

    fn unknown(&mut self, index: usize, item: &Value, known: &[&str]) {
        for name in json::unknown(item, known) {
            let path = format!("input[{index}].{name}");
            self.found.at(format_args!("{path}"), format!("Unknown parameter: '{path}'."));
        }
    }

    fn report_unanswered(self) {
        for (_, id, answered) in self.calls {
            if !answered {
                self.found.at(format_args!("input"), format!("No tool output found for function call {id}."));
            }
        }
    }
}

fn not_persisted(id: &str) -> String {
    format!(
        "Item with id '{id}' not found. Items are not persisted when `store` is set to false. Try again with `store` set \
         to true, or remove this item from your input."
    )
}
