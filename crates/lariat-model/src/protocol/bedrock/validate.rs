//! The last guard before a request leaves: refuses what the service would refuse with a `ValidationException`.
//!
//! Owns the service model's rules (names, ids, kinds of blocks) and the pairing of calls and results, looked at block
//! by block as they are appended. Does not repair. Invariant: a block is looked at once, whatever the history's length.

use std::collections::HashSet;

use lariat_core::model::{OutputSchema, ProviderError};
use lariat_core::tool::ToolDefinition;
use serde_json::{Map, Value};

/// Characters that a tool's name or a call's id may have.
const NAME_LIMIT: usize = 64;
/// Image formats that the service takes.
pub(super) const IMAGES: [&str; 4] = ["png", "jpeg", "gif", "webp"];
/// Blocks that only the service makes, of which this code understands nothing; they go back as they came.
pub(super) const OPAQUE: [&str; 6] =
    ["toolUse", "toolResult", "image", "citationsContent", "guardContent", "searchResult"];

/// The rules, and what they need to know of the blocks so far.
#[derive(Debug, Default)]
pub(super) struct Guard {
    role: &'static str,
    called: HashSet<String>,
    waiting: HashSet<String>,
}

fn refused(why: impl std::fmt::Display) -> ProviderError {
    ProviderError::Api(format!("this request would be rejected: {why}").into())
}

fn text<'a>(block: &'a Value, field: &str) -> &'a str {
    block.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn is_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=NAME_LIMIT).contains(&name.len()) && name.bytes().all(allowed)
}

impl Guard {
    /// Looks at a block before it is appended.
    pub(super) fn block(&mut self, role: &'static str, block: &Value) -> Result<(), ProviderError> {
        if self.role != role {
            if self.role.is_empty() && role != "user" {
                return Err(refused("the first message is not the user's"));
            }
            if role == "assistant" {
                self.answered()?;
            }
            self.role = role;
        }
        let Some((kind, inner)) = block.as_object().filter(|b| b.len() == 1).and_then(|b| b.iter().next())
        else {
            return Err(refused("a block is not of exactly one kind"));
        };
        match (role, kind.as_str()) {
            ("user", "toolResult") => self.result(inner),
            ("user", "text" | "image") => {
                self.answered()?;
                content(block)
            }
            ("assistant", "text") => content(block),
            ("assistant", "toolUse") if text(inner, "type").is_empty() => self.call(inner),
            ("assistant", "reasoningContent") => reasoning(inner),
            ("assistant", kind) if OPAQUE.contains(&kind) => Ok(()),
            (_, kind) => Err(refused(format!("a block of kind `{kind}` in a message of the {role}"))),
        }
    }

    fn call(&mut self, call: &Value) -> Result<(), ProviderError> {
        let (id, name) = (text(call, "toolUseId"), text(call, "name"));
        if !is_name(id) || !self.called.insert(id.to_owned()) {
            return Err(refused(format!("tool call id `{id}` is malformed or used twice")));
        }
        if !is_name(name) {
            return Err(refused(format!("`{name}` is not a tool's name")));
        }
        if !call.get("input").is_some_and(Value::is_object) {
            return Err(refused(format!("the input of tool call `{id}` is not an object")));
        }
        self.waiting.insert(id.to_owned());
        Ok(())
    }

    fn result(&mut self, result: &Value) -> Result<(), ProviderError> {
        let id = text(result, "toolUseId");
        if !self.waiting.remove(id) {
            return Err(refused(format!("tool result `{id}` has no call in the message before it")));
        }
        let parts = result.get("content").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        if parts.is_empty() {
            return Err(refused(format!("tool result `{id}` is empty")));
        }
        parts.iter().try_for_each(content)
    }

    /// Every call has its result.
    fn answered(&self) -> Result<(), ProviderError> {
        match self.waiting.iter().min() {
            Some(id) => Err(refused(format!("tool call `{id}` has no result right after it"))),
            None => Ok(()),
        }
    }

    /// Whether any tool was called so far: then the request must define tools.
    pub(super) fn has_calls(&self) -> bool {
        !self.called.is_empty()
    }

    /// Looks at the conversation as a whole.
    pub(super) fn end(&self) -> Result<(), ProviderError> {
        self.answered()?;
        match self.role {
            "user" => Ok(()),
            "" => Err(refused("there are no messages")),
            _ => Err(refused("the last message is the assistant's")),
        }
    }
}

fn content(block: &Value) -> Result<(), ProviderError> {
    if let Some(image) = block.get("image") {
        let bytes = image.pointer("/source/bytes").and_then(Value::as_str).unwrap_or_default();
        return match IMAGES.contains(&text(image, "format")) && !bytes.is_empty() {
            true => Ok(()),
            false => Err(refused("an image without data or of a format that is not supported")),
        };
    }
    match text(block, "text").trim().is_empty() {
        true => Err(refused("text without a visible character")),
        false => Ok(()),
    }
}

fn reasoning(inner: &Value) -> Result<(), ProviderError> {
    let signed = inner.pointer("/reasoningText/signature").and_then(Value::as_str);
    let proof = signed.or_else(|| inner.get("redactedContent")?.as_str());
    match proof.is_some_and(|proof| !proof.is_empty()) {
        true => Ok(()),
        false => Err(refused("reasoning without its signature")),
    }
}

/// Looks at everything but the messages.
pub(super) fn head(
    head: &Map<String, Value>,
    model: &str,
    tools: &[ToolDefinition],
    schema: Option<&OutputSchema>,
) -> Result<(), ProviderError> {
    if model.is_empty() {
        return Err(refused("no model is named"));
    }
    let number = |object: &str, field: &str| head.get(object)?.pointer(field)?.as_u64();
    let max_tokens = number("inferenceConfig", "/maxTokens");
    if max_tokens == Some(0) {
        return Err(refused("maxTokens must be at least 1"));
    }
    if let Some(budget) = number("additionalModelRequestFields", "/thinking/budget_tokens")
        && !(1024..max_tokens.unwrap_or_default()).contains(&budget)
    {
        return Err(refused(format!("a thinking budget of {budget} with maxTokens of {max_tokens:?}")));
    }
    let mut names = HashSet::new();
    for tool in tools {
        if !is_name(&tool.name) || !names.insert(&tool.name) {
            return Err(refused(format!("tool name `{}` is malformed or used twice", tool.name)));
        }
    }
    if schema.is_some_and(|schema| !schema.schema.is_object()) {
        return Err(refused("the output schema is not an object"));
    }
    Ok(())
}

#[cfg(test)]
#[path = "validate_tests.rs"]
mod tests;
