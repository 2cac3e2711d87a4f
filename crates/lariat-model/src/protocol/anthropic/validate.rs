//! Rejects requests that the provider would reject with status 400, before they are sent.
//!
//! Transcripts are valid by construction, so these checks should never fail. If one does, the error names the
//! broken rule and no tokens were spent. The rules are those that the provider documents; each block is
//! checked when it is appended, and nothing is repaired. Invariant: each block is checked once, regardless of
//! the length of the history.

use std::collections::HashSet;

use lariat_core::model::{OutputSchema, ProviderError};
use lariat_core::tool::ToolDefinition;
use serde_json::{Map, Value};

/// Maximum number of messages in a request.
const ITEM_LIMIT: usize = 100_000;
/// Maximum length of a tool name.
const NAME_LIMIT: usize = 128;
/// Image types that the provider accepts.
pub(super) const IMAGES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/// Checks blocks as they are appended, and remembers what the rules need to know about earlier ones.
#[derive(Debug, Default)]
pub(super) struct RequestValidator {
    role: &'static str,
    items: usize,
    call_ids: HashSet<String>,
    open_calls: HashSet<String>,
    /// Whether the current user item already has content other than tool results.
    has_other_content: bool,
}

fn rejection(why: impl std::fmt::Display) -> ProviderError {
    ProviderError::Api(format!("the provider would reject this request: {why}").into())
}

fn text<'a>(block: &'a Value, field: &str) -> &'a str {
    block.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn is_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=NAME_LIMIT).contains(&name.len()) && name.bytes().all(allowed)
}

impl RequestValidator {
    /// Checks a block before it is appended.
    pub(super) fn block(&mut self, role: &'static str, block: &Value) -> Result<(), ProviderError> {
        if self.role != role {
            if self.role.is_empty() && role != "user" {
                return Err(rejection("the first message is not a user message"));
            }
            if role == "assistant" {
                self.check_results()?;
            }
            self.items += 1;
            if self.items > ITEM_LIMIT {
                return Err(rejection(format!("more than {ITEM_LIMIT} messages")));
            }
            (self.role, self.has_other_content) = (role, false);
        }
        match (role, text(block, "type")) {
            ("user", "tool_result") => self.result(block),
            ("user", kind @ ("text" | "image")) => {
                self.check_results()?;
                self.has_other_content = true;
                content(kind, block)
            }
            ("assistant", "text") => content("text", block),
            ("assistant", "thinking") if text(block, "signature").is_empty() => {
                Err(rejection("a thinking block has no signature"))
            }
            ("assistant", "redacted_thinking") if text(block, "data").is_empty() => {
                Err(rejection("a redacted thinking block has no data"))
            }
            ("assistant", "tool_use") => self.call(block),
            ("assistant", kind) if !kind.is_empty() => Ok(()),
            (_, kind) => Err(rejection(format!("block type `{kind}` is not allowed in {role} messages"))),
        }
    }

    fn call(&mut self, block: &Value) -> Result<(), ProviderError> {
        let (id, name) = (text(block, "id"), text(block, "name"));
        if !is_name(id) || !self.call_ids.insert(id.to_owned()) {
            return Err(rejection(format!("tool call id `{id}` is invalid or used twice")));
        }
        if !is_name(name) {
            return Err(rejection(format!("invalid tool name `{name}`")));
        }
        if !block.get("input").is_some_and(Value::is_object) {
            return Err(rejection(format!("the input of tool call `{id}` is not an object")));
        }
        self.open_calls.insert(id.to_owned());
        Ok(())
    }

    fn result(&mut self, block: &Value) -> Result<(), ProviderError> {
        let id = text(block, "tool_use_id");
        if self.has_other_content {
            return Err(rejection("a tool result follows other content in its message"));
        }
        if !self.open_calls.remove(id) {
            return Err(rejection(format!("tool result `{id}` has no tool call in the previous message")));
        }
        let parts = block.get("content").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        if parts.is_empty() {
            return Err(rejection(format!("tool result `{id}` is empty")));
        }
        parts.iter().try_for_each(|part| content(text(part, "type"), part))
    }

    /// Returns an error if a tool call has no result.
    fn check_results(&self) -> Result<(), ProviderError> {
        match self.open_calls.iter().min() {
            Some(id) => Err(rejection(format!("tool call `{id}` has no result right after it"))),
            None => Ok(()),
        }
    }

    /// Checks the request as a whole. Set `resumes` if the last reply paused and this request continues it.
    pub(super) fn end(&self, resumes: bool) -> Result<(), ProviderError> {
        self.check_results()?;
        match self.role {
            "user" => Ok(()),
            "assistant" if resumes => Ok(()),
            "" => Err(rejection("the request has no messages")),
            _ => Err(rejection("the last message is an assistant message")),
        }
    }
}

fn content(kind: &str, block: &Value) -> Result<(), ProviderError> {
    match kind {
        "text" if text(block, "text").trim().is_empty() => Err(rejection("a text block is blank")),
        "text" => Ok(()),
        "image" => {
            let source = block.get("source").unwrap_or(&Value::Null);
            if !IMAGES.contains(&text(source, "media_type")) || text(source, "data").is_empty() {
                return Err(rejection("an image has no data or an unsupported type"));
            }
            Ok(())
        }
        other => Err(rejection(format!("block type `{other}` is not allowed as content"))),
    }
}

/// Checks everything but the messages.
pub(super) fn head(
    head: &Map<String, Value>,
    tools: &[ToolDefinition],
    schema: Option<&OutputSchema>,
) -> Result<(), ProviderError> {
    let max_tokens = head.get("max_tokens").and_then(Value::as_u64).unwrap_or_default();
    if max_tokens == 0 {
        return Err(rejection("max_tokens must be at least 1"));
    }
    let thinking = head.get("thinking").unwrap_or(&Value::Null);
    if let Some(budget) = thinking.get("budget_tokens").and_then(Value::as_u64)
        && !(1024..max_tokens).contains(&budget)
    {
        return Err(rejection(format!(
            "thinking budget of {budget} is not between 1024 and max_tokens ({max_tokens})"
        )));
    }
    if head.get("model").and_then(Value::as_str).unwrap_or_default().is_empty() {
        return Err(rejection("the request has no model"));
    }
    let mut names = HashSet::new();
    for tool in tools {
        if !is_name(&tool.name) || !names.insert(&tool.name) {
            return Err(rejection(format!("tool name `{}` is invalid or used twice", tool.name)));
        }
        let combined = ["oneOf", "anyOf", "allOf"].iter().find(|key| tool.parameters.get(**key).is_some());
        if let Some(key) = combined {
            return Err(rejection(format!(
                "the schema of tool `{}` has `{key}` at its top level",
                tool.name
            )));
        }
    }
    let chosen = head.get("tool_choice").and_then(|choice| choice.get("name")).and_then(Value::as_str);
    if let Some(name) = chosen
        && !tools.iter().any(|tool| tool.name == name)
    {
        return Err(rejection(format!("tool choice `{name}` is not one of the tools")));
    }
    if schema.is_some_and(|schema| !schema.schema.is_object()) {
        return Err(rejection("the output schema is not a JSON object"));
    }
    Ok(())
}

#[cfg(test)]
#[path = "validate_tests.rs"]
mod tests;
