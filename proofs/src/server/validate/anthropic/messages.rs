//! Validates the conversation: roles, blocks, and the pairing of tool calls with results.
//!
//! Adjacent messages of one role are treated as one turn, as the API joins them.
//! Invariant: every call has exactly one result, in the next turn, before anything else in it.

use std::collections::HashSet;

use serde_json::Value;

use super::super::problem::Problems;
use super::super::{images, names};
use super::{EXTRA, REQUIRED, thinking};
use crate::server::{json, signature_fits};

pub(super) fn check(found: &mut Problems, body: &Value, model: &str) {
    let messages = json::list(body, "messages");
    if messages.is_empty() {
        return found.at(format_args!("messages"), "at least one message is required");
    }
    if messages.first().and_then(|first| json::text(first, "role")) != Some("user") {
        found.at(format_args!("messages"), "first message must use the \"user\" role");
    }
    let mut walk = Walk { found, ids: HashSet::new(), open: Vec::new(), answering: false };
    let mut role = "";
    for (index, message) in messages.iter().enumerate() {
        let next = json::text(message, "role").unwrap_or_default();
        if next != role {
            walk.turn(index, next);
        }
        role = next;
        walk.message(index, message, next, index + 1 == messages.len());
    }
    walk.report_unanswered(messages.len());
    ending(found, body, messages, model);
}

struct Walk<'a, 'f> {
    found: &'f mut Problems,
    /// All tool calls so far.
    ids: HashSet<&'a str>,
    /// Tool calls of the previous turn (or of this one, in an assistant turn), each with whether it has a
    /// result.
    open: Vec<(&'a str, bool)>,
    /// Whether this user turn has had only results so far.
    answering: bool,
}

impl<'a> Walk<'a, '_> {
    fn turn(&mut self, index: usize, role: &str) {
        if role == "user" {
            self.answering = true;
        } else {
            self.report_unanswered(index);
        }
    }

    /// Reports tool calls without results, and clears them.
    fn report_unanswered(&mut self, index: usize) {
        let missing: Vec<&str> = self.open.iter().filter(|(_, seen)| !seen).map(|(id, _)| *id).collect();
        if !missing.is_empty() {
            let message = format!(
                "`tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` block \
                 must have a corresponding `tool_result` block in the next message.",
                missing.join(", ")
            );
            self.found.at(format_args!("messages.{}", index.saturating_sub(1)), message);
        }
        self.open.clear();
    }

    fn message(&mut self, index: usize, message: &'a Value, role: &str, is_last: bool) {
        for name in json::unknown(message, &["role", "content"]) {
            self.found.at(format_args!("messages.{index}.{name}"), EXTRA);
        }
        if !matches!(role, "user" | "assistant" | "system") {
            let message = "Input should be 'user', 'assistant' or 'system'";
            self.found.at(format_args!("messages.{index}.role"), message);
        }
        match message.get("content") {
            Some(Value::String(text)) => {
                self.answering = false;
                if text.trim().is_empty() {
                    self.found.at(format_args!("messages.{index}"), EMPTY_MESSAGE);
                }
            }
            Some(Value::Array(blocks)) => {
                if blocks.is_empty() && !(is_last && role == "assistant") {
                    self.found.at(format_args!("messages.{index}"), EMPTY_MESSAGE);
                }
                for (place, block) in blocks.iter().enumerate() {
                    self.block(index, place, block, role);
                }
                let last = blocks.last().and_then(|block| json::text(block, "type"));
                if let (Some(kind @ ("thinking" | "redacted_thinking")), "assistant") = (last, role) {
                    let message = format!("The final block in an assistant message cannot be `{kind}`.");
                    self.found.at(format_args!("messages.{index}"), message);
                }
            }
            _ => self
                .found
                .at(format_args!("messages.{index}.content"), "Input should be a valid string or list"),
        }
    }

    fn block(&mut self, index: usize, place: usize, block: &'a Value, role: &str) {
        let kind = json::text(block, "type").unwrap_or_default();
        let at = format_args!("messages.{index}.content.{place}");
        let allowed: &[&str] = match kind {
            "text" => &["type", "text", "cache_control", "citations"],
            "image" => &["type", "source", "cache_control", "transformations"],
            "tool_use" => &["type", "id", "name", "input", "cache_control", "caller", "toolset_name"],
            "tool_result" => &["type", "tool_use_id", "content", "is_error", "cache_control", "toolset_name"],
            "thinking" => &["type", "thinking", "signature"],
            "redacted_thinking" => &["type", "data"],
            // Server tools, documents and the like are checked only by name.
            "document" | "search_result" | "container_upload" | "server_tool_use" => return self.other(role),
            kind if kind.ends_with("_tool_result") => return self.other(role),
            _ => {
                return self.found.at(
                    at,
                    format!("Input tag '{kind}' found using 'type' does not match any of the expected tags"),
                );
            }
        };
        for name in json::unknown(block, allowed) {
            self.found.at(format_args!("messages.{index}.content.{place}.{kind}.{name}"), EXTRA);
        }
        let home = match kind {
            "tool_use" | "thinking" | "redacted_thinking" => "assistant",
            "tool_result" | "image" => "user",
            _ => role,
        };
        if home != role {
            self.found.at(at, format!("`{kind}` blocks can only be in `{home}` messages"));
        }
        match kind {
            "text" => text(self.found, at, block),
            "image" => image(self.found, at, block),
            "thinking" => thought(self.found, at, block),
            "redacted_thinking" if json::text(block, "data").is_none_or(str::is_empty) => {
                self.found
                    .at(format_args!("messages.{index}.content.{place}.redacted_thinking.data"), REQUIRED);
            }
            "tool_use" => self.call(index, place, block),
            "tool_result" => self.result(index, place, block),
            _ => {}
        }
        if kind != "tool_result" {
            self.answering = false;
        }
    }

    fn other(&mut self, role: &str) {
        if role == "user" {
            self.answering = false;
        }
    }

    fn call(&mut self, index: usize, place: usize, block: &'a Value) {
        let id = json::text(block, "id").unwrap_or_default();
        let at = format_args!("messages.{index}.content.{place}.tool_use.id");
        if !names::is_word(id, 64) {
            self.found.at(at, "String should match pattern '^[a-zA-Z0-9_-]+$'");
        }
        if !self.ids.insert(id) {
            self.found.at(format_args!("messages.{index}.content.{place}"), "`tool_use` ids must be unique");
        }
        if !json::text(block, "name").is_some_and(|name| names::is_word(name, 200)) {
            let at = format_args!("messages.{index}.content.{place}.tool_use.name");
            self.found.at(at, "String should match pattern '^[a-zA-Z0-9_-]{1,200}$'");
        }
        if !block.get("input").is_some_and(Value::is_object) {
            let at = format_args!("messages.{index}.content.{place}.tool_use.input");
            self.found.at(at, "Input should be a valid dictionary");
        }
        self.open.push((id, false));
    }

    fn result(&mut self, index: usize, place: usize, block: &'a Value) {
        let at = format_args!("messages.{index}.content.{place}");
        let id = json::text(block, "tool_use_id").unwrap_or_default();
        let answering = self.answering;
        match self.open.iter_mut().find(|(open, _)| *open == id) {
            None => {
                let message = format!(
                    "unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must have a \
                     corresponding `tool_use` block in the previous message."
                );
                self.found.at(at, message);
            }
            Some((_, true)) => {
                let message = format!(
                    "each tool_use must have a single result. Found multiple `tool_result` blocks with id: {id}"
                );
                self.found.at(at, message);
            }
            Some((_, seen)) => {
                *seen = true;
                if !answering {
                    let message = "`tool_result` blocks must come before other content of the turn that follows `tool_use`";
                    self.found.at(at, message);
                }
            }
        }
        let is_error = block.get("is_error") == Some(&Value::Bool(true));
        match block.get("content") {
            None | Some(Value::String(_)) => {}
            Some(Value::Array(parts)) => {
                for (inner, part) in parts.iter().enumerate() {
                    let at = format_args!("messages.{index}.content.{place}.tool_result.content.{inner}");
                    match json::text(part, "type") {
                        Some("text") => text(self.found, at, part),
                        Some("image") => image(self.found, at, part),
                        Some("document" | "search_result" | "tool_reference") => {}
                        _ => self.found.at(at, "Input should be a valid content block of a tool result"),
                    }
                    if is_error && json::text(part, "type") != Some("text") {
                        self.found.at(at, "all content must be type \"text\" if `is_error` is true");
                    }
                }
            }
            Some(_) => {
                let at = format_args!("messages.{index}.content.{place}.tool_result.content");
                self.found.at(at, "Input should be a valid string or list");
            }
        }
    }
}

const EMPTY_MESSAGE: &str =
    "all messages must have non-empty content except for the optional final assistant message";

fn text(found: &mut Problems, at: std::fmt::Arguments<'_>, block: &Value) {
    match json::text(block, "text") {
        None => found.at(format_args!("{at}.text.text"), REQUIRED),
        Some("") if json::has(block, "cache_control") => {
            found.at(at, "cache_control cannot be set for empty text blocks");
        }
        Some("") => found.at(at, "text content blocks must be non-empty"),
        Some(text) if text.trim().is_empty() => {
            found.at(at, "text content blocks must contain non-whitespace text");
        }
        Some(_) => {}
    }
}

fn image(found: &mut Problems, at: std::fmt::Arguments<'_>, block: &Value) {
    let Some(source) = block.get("source") else {
        return found.at(format_args!("{at}.image.source"), REQUIRED);
    };
    match json::text(source, "type") {
        Some("base64") => {
            if !json::text(source, "media_type").is_some_and(|kind| images::TYPES.contains(&kind)) {
                let message = "Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'";
                found.at(format_args!("{at}.image.source.base64.media_type"), message);
            }
            if !json::text(source, "data").is_some_and(images::is_data) {
                found.at(format_args!("{at}.image.source.base64.data"), "Invalid base64 data");
            }
        }
        Some("url" | "file") => {}
        _ => {
            found.at(format_args!("{at}.image.source"), "Input tag should be one of: 'base64', 'url', 'file'")
        }
    }
}

fn thought(found: &mut Problems, at: std::fmt::Arguments<'_>, block: &Value) {
    let Some(thinking) = json::text(block, "thinking") else {
        return found.at(format_args!("{at}.thinking.thinking"), REQUIRED);
    };
    match json::text(block, "signature") {
        None | Some("") => found.at(format_args!("{at}.thinking.signature"), REQUIRED),
        Some(signature) if !signature_fits(signature, thinking) => {
            found.at(at, "Invalid `signature` in `thinking` block");
        }
        Some(_) => {}
    }
}

/// Checks how the conversation ends, and how the last assistant turn begins.
fn ending(found: &mut Problems, body: &Value, messages: &[Value], model: &str) {
    let role = |message: &Value| json::text(message, "role").map(str::to_owned);
    let last_kind = |message: &Value| {
        let block = json::list(message, "content")
            .last()
            .map(|block| json::text(block, "type").unwrap_or_default().to_owned());
        block.unwrap_or_default()
    };
    if let Some(last) = messages.last().filter(|last| role(last).as_deref() == Some("assistant")) {
        // A paused turn is sent back unchanged, ending with the result of a server tool.
        let kind = last_kind(last);
        let paused = kind == "server_tool_use" || kind.ends_with("_tool_result");
        if !paused && (thinking::is_on(body) || !thinking::takes_prefill(model)) {
            found.whole(
                "This model does not support assistant message prefill. The conversation must end with a user message.",
            );
        }
        let tail = match last.get("content") {
            Some(Value::String(text)) => Some(text.as_str()),
            _ => json::list(last, "content").last().and_then(|block| json::text(block, "text")),
        };
        if tail.is_some_and(|text| text.ends_with(char::is_whitespace)) {
            found.at(format_args!("messages"), "final assistant content cannot end with trailing whitespace");
        }
    }
    if !thinking::is_budgeted(body) {
        return;
    }
    let Some(end) = messages.iter().rposition(|message| role(message).as_deref() == Some("assistant")) else {
        return;
    };
    let start = messages
        .iter()
        .take(end)
        .rposition(|message| role(message).as_deref() != Some("assistant"))
        .map_or(0, |before| before + 1);
    let turn =
        || messages.iter().take(end + 1).skip(start).flat_map(|message| json::list(message, "content"));
    if !turn().any(|block| json::text(block, "type") == Some("tool_use")) {
        return;
    }
    let first = turn().next().and_then(|block| json::text(block, "type")).unwrap_or_default();
    if !matches!(first, "thinking" | "redacted_thinking") {
        found.at(
            format_args!("messages.{start}.content.0.type"),
            format!(
                "Expected `thinking` or `redacted_thinking`, but found `{first}`. When `thinking` is enabled, a final \
                 `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and \
                 `tool_result` blocks)."
            ),
        );
    }
}
