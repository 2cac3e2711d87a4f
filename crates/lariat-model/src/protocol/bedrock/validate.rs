//! Rejects requests that the provider would reject with a `ValidationException`, before they are sent.
//!
//! Checks the rules of the service model (names, ids, block types) and that every tool call has its result.
//! Each block is checked when it is appended, and nothing is repaired. Invariant: each block is checked once,
//! regardless of the length of the history.

use std::collections::HashSet;

use lariat_core::model::{OutputSchema, ProviderError};
use lariat_core::tool::ToolDefinition;
use serde_json::{Map, Value};

/// Maximum length of a tool name or a tool call id.
const NAME_LIMIT: usize = 64;
/// Image formats that the provider accepts.
pub(super) const IMAGES: [&str; 4] = ["png", "jpeg", "gif", "webp"];
/// Block types that only the provider creates and this code does not interpret. They go back unchanged.
pub(super) const OPAQUE: [&str; 6] =
    ["toolUse", "toolResult", "image", "citationsContent", "guardContent", "searchResult"];

/// Checks blocks as they are appended, and remembers what the rules need to know about earlier ones.
#[derive(Debug, Default)]
pub(super) struct RequestValidator {
    role: &'static str,
    call_ids: HashSet<String>,
    open_calls: HashSet<String>,
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
            self.role = role;
        }
        let Some((kind, inner)) = block.as_object().filter(|b| b.len() == 1).and_then(|b| b.iter().next())
        else {
            return Err(rejection("a block does not have exactly one type"));
        };
        match (role, kind.as_str()) {
            ("user", "toolResult") => self.result(inner),
            ("user", "text" | "image") => {
                self.check_results()?;
                content(block)
            }
            ("assistant", "text") => content(block),
            ("assistant", "toolUse") if text(inner, "type").is_empty() => self.call(inner),
            ("assistant", "reasoningContent") => reasoning(inner),
            ("assistant", kind) if OPAQUE.contains(&kind) => Ok(()),
            (_, kind) => Err(rejection(format!("block type `{kind}` is not allowed in {role} messages"))),
        }
    }

    fn call(&mut self, call: &Value) -> Result<(), ProviderError> {
        let (id, name) = (text(call, "toolUseId"), text(call, "name"));
        if !is_name(id) || !self.call_ids.insert(id.to_owned()) {
            return Err(rejection(format!("tool call id `{id}` is invalid or used twice")));
        }
        if !is_name(name) {
            return Err(rejection(format!("invalid tool name `{name}`")));
        }
        if !call.get("input").is_some_and(Value::is_object) {
            return Err(rejection(format!("the input of tool call `{id}` is not an object")));
        }
        self.open_calls.insert(id.to_owned());
        Ok(())
    }

    fn result(&mut self, result: &Value) -> Result<(), ProviderError> {
        let id = text(result, "toolUseId");
        if !self.open_calls.remove(id) {
            return Err(rejection(format!("tool result `{id}` has no tool call in the previous message")));
        }
        let parts = result.get("content").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        if parts.is_empty() {
            return Err(rejection(format!("tool result `{id}` is empty")));
        }
        parts.iter().try_for_each(content)
    }

    /// Returns an error if a tool call has no result.
    fn check_results(&self) -> Result<(), ProviderError> {
        match self.open_calls.iter().min() {
            Some(id) => Err(rejection(format!("tool call `{id}` has no result right after it"))),
            None => Ok(()),
        }
    }

    /// Whether the conversation contains a tool call. If so, the request must define tools.
    pub(super) fn has_calls(&self) -> bool {
        !self.call_ids.is_empty()
    }

    /// Checks the conversation as a whole.
    pub(super) fn end(&self) -> Result<(), ProviderError> {
        self.check_results()?;
        match self.role {
            "user" => Ok(()),
            "" => Err(rejection("the request has no messages")),
            _ => Err(rejection("the last message is an assistant message")),
        }
    }
}

fn content(block: &Value) -> Result<(), ProviderError> {
    if let Some(image) = block.get("image") {
        let bytes = image.pointer("/source/bytes").and_then(Value::as_str).unwrap_or_default();
        return match IMAGES.contains(&text(image, "format")) && !bytes.is_empty() {
            true => Ok(()),
            false => Err(rejection("an image has no data or an unsupported format")),
        };
    }
    match text(block, "text").trim().is_empty() {
        true => Err(rejection("a text block is blank")),
        false => Ok(()),
    }
}

fn reasoning(inner: &Value) -> Result<(), ProviderError> {
    let signed = inner.pointer("/reasoningText/signature").and_then(Value::as_str);
    let proof = signed.or_else(|| inner.get("redactedContent")?.as_str());
    match proof.is_some_and(|proof| !proof.is_empty()) {
        true => Ok(()),
        false => Err(rejection("a reasoning block has no signature")),
    }
}

/// Checks everything but the messages.
pub(super) fn head(
    head: &Map<String, Value>,
    model: &str,
    tools: &[ToolDefinition],
    schema: Option<&OutputSchema>,
) -> Result<(), ProviderError> {
    if model.is_empty() {
        return Err(rejection("the request has no model"));
    }
    let number = |object: &str, field: &str| head.get(object)?.pointer(field)?.as_u64();
    let max_tokens = number("inferenceConfig", "/maxTokens");
    if max_tokens == Some(0) {
        return Err(rejection("maxTokens must be at least 1"));
    }
    if let Some(budget) = number("additionalModelRequestFields", "/thinking/budget_tokens")
        && !(1024..max_tokens.unwrap_or_default()).contains(&budget)
    {
        return Err(rejection(format!(
            "thinking budget of {budget} is not between 1024 and maxTokens ({max_tokens:?})"
        )));
    }
    let mut names = HashSet::new();
    for tool in tools {
        if !is_name(&tool.name) || !names.insert(&tool.name) {
            return Err(rejection(format!("tool name `{}` is invalid or used twice", tool.name)));
        }
    }
    if schema.is_some_and(|schema| !schema.schema.is_object()) {
        return Err(rejection("the output schema is not a JSON object"));
    }
    Ok(())
}

#[cfg(test)]
#[path = "validate_tests.rs"]
mod tests;
