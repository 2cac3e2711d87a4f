//! The last guard before a request leaves: refuses what the service would refuse with 400.
//!
//! Transcripts are valid by construction, so nothing here should ever speak; when it does, it says which rule was about
//! to be broken, and no tokens were spent. Owns the rules as the service documents them, looked at block by block as
//! they are appended. Does not repair. Invariant: a block is looked at once, whatever the history's length.

use std::collections::HashSet;

use lariat_core::model::{OutputSchema, ProviderError};
use lariat_core::tool::ToolDefinition;
use serde_json::{Map, Value};

/// Messages that one request may have.
const ITEM_LIMIT: usize = 100_000;
/// Characters that a tool's name may have.
const NAME_LIMIT: usize = 128;
/// Image types that the service reads.
pub(super) const IMAGES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/// The rules, and what they need to know of the blocks so far.
#[derive(Debug, Default)]
pub(super) struct Guard {
    role: &'static str,
    items: usize,
    called: HashSet<String>,
    waiting: HashSet<String>,
    /// The user's item has something other than results already.
    spoke: bool,
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
            self.items += 1;
            if self.items > ITEM_LIMIT {
                return Err(refused(format!("more than {ITEM_LIMIT} messages")));
            }
            (self.role, self.spoke) = (role, false);
        }
        match (role, text(block, "type")) {
            ("user", "tool_result") => self.result(block),
            ("user", kind @ ("text" | "image")) => {
                self.answered()?;
                self.spoke = true;
                content(kind, block)
            }
            ("assistant", "text") => content("text", block),
            ("assistant", "thinking") if text(block, "signature").is_empty() => {
                Err(refused("thinking without its signature"))
            }
            ("assistant", "redacted_thinking") if text(block, "data").is_empty() => {
                Err(refused("redacted thinking without data"))
            }
            ("assistant", "tool_use") => self.call(block),
            ("assistant", kind) if !kind.is_empty() => Ok(()),
            (_, kind) => Err(refused(format!("a block of type `{kind}` in a message of the {role}"))),
        }
    }

    fn call(&mut self, block: &Value) -> Result<(), ProviderError> {
        let (id, name) = (text(block, "id"), text(block, "name"));
        if !is_name(id) || !self.called.insert(id.to_owned()) {
            return Err(refused(format!("tool call id `{id}` is malformed or used twice")));
        }
        if !is_name(name) {
            return Err(refused(format!("`{name}` is not a tool's name")));
        }
        if !block.get("input").is_some_and(Value::is_object) {
            return Err(refused(format!("the input of tool call `{id}` is not an object")));
        }
        self.waiting.insert(id.to_owned());
        Ok(())
    }

    fn result(&mut self, block: &Value) -> Result<(), ProviderError> {
        let id = text(block, "tool_use_id");
        if self.spoke {
            return Err(refused("a tool result comes after other content of its message"));
        }
        if !self.waiting.remove(id) {
            return Err(refused(format!("tool result `{id}` has no call in the message before it")));
        }
        let parts = block.get("content").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        if parts.is_empty() {
            return Err(refused(format!("tool result `{id}` is empty")));
        }
        parts.iter().try_for_each(|part| content(text(part, "type"), part))
    }

    /// Every call has its result.
    fn answered(&self) -> Result<(), ProviderError> {
        match self.waiting.iter().min() {
            Some(id) => Err(refused(format!("tool call `{id}` has no result right after it"))),
            None => Ok(()),
        }
    }

    /// Looks at the request as a whole. `resumes` when the last reply paused and is to be continued.
    pub(super) fn end(&self, resumes: bool) -> Result<(), ProviderError> {
        self.answered()?;
        match self.role {
            "user" => Ok(()),
            "assistant" if resumes => Ok(()),
            "" => Err(refused("there are no messages")),
            _ => Err(refused("the last message is the assistant's")),
        }
    }
}

fn content(kind: &str, block: &Value) -> Result<(), ProviderError> {
    match kind {
        "text" if text(block, "text").trim().is_empty() => Err(refused("text without a visible character")),
        "text" => Ok(()),
        "image" => {
            let source = block.get("source").unwrap_or(&Value::Null);
            if !IMAGES.contains(&text(source, "media_type")) || text(source, "data").is_empty() {
                return Err(refused("an image without data or of a type that is not supported"));
            }
            Ok(())
        }
        other => Err(refused(format!("a block of type `{other}` among content"))),
    }
}

/// Looks at everything but the messages.
pub(super) fn head(
    head: &Map<String, Value>,
    tools: &[ToolDefinition],
    schema: Option<&OutputSchema>,
) -> Result<(), ProviderError> {
    let max_tokens = head.get("max_tokens").and_then(Value::as_u64).unwrap_or_default();
    if max_tokens == 0 {
        return Err(refused("max_tokens must be at least 1"));
    }
    let thinking = head.get("thinking").unwrap_or(&Value::Null);
    if let Some(budget) = thinking.get("budget_tokens").and_then(Value::as_u64)
        && !(1024..max_tokens).contains(&budget)
    {
        return Err(refused(format!("a thinking budget of {budget} with max_tokens of {max_tokens}")));
    }
    if head.get("model").and_then(Value::as_str).unwrap_or_default().is_empty() {
        return Err(refused("no model is named"));
    }
    let mut names = HashSet::new();
    for tool in tools {
        if !is_name(&tool.name) || !names.insert(&tool.name) {
            return Err(refused(format!("tool name `{}` is malformed or used twice", tool.name)));
        }
        let combined = ["oneOf", "anyOf", "allOf"].iter().find(|key| tool.parameters.get(**key).is_some());
        if let Some(key) = combined {
            return Err(refused(format!("the schema of tool `{}` has `{key}` at its top", tool.name)));
        }
    }
    let chosen = head.get("tool_choice").and_then(|choice| choice.get("name")).and_then(Value::as_str);
    if let Some(name) = chosen
        && !tools.iter().any(|tool| tool.name == name)
    {
        return Err(refused(format!("tool choice names `{name}`, which is not among the tools")));
    }
    if schema.is_some_and(|schema| !schema.schema.is_object()) {
        return Err(refused("the output schema is not an object"));
    }
    Ok(())
}

#[cfg(test)]
#[path = "validate_tests.rs"]
mod tests;
