//! Rejects requests that Chat Completions providers would reject, before they are sent.
//!
//! Each wire message is checked while it is built, so that a long conversation is not checked again with
//! every request. Nothing is repaired. Invariant: every tool call has exactly one result, in the messages
//! right after it, and no message is empty.

use std::collections::HashSet;

use lariat_core::model::{ProviderError, StreamConfig, ToolChoice};
use serde_json::{Map, Value};

use super::schema::is_name;
use crate::wire::IdRule;

/// Checks messages as they are appended, and remembers what the rules need to know about earlier ones.
#[derive(Clone, Debug)]
pub(super) struct RequestValidator {
    rule: IdRule,
    /// Tool calls of the last reply that have no result yet.
    open_calls: HashSet<String>,
    has_messages: bool,
    ends_in_reply: bool,
}

/// The error for a request that is not sent, with the reason.
pub(crate) fn rejection(why: impl std::fmt::Display) -> ProviderError {
    ProviderError::Api(format!("the provider would reject this request: {why}").into())
}

impl RequestValidator {
    pub(super) fn new(rule: IdRule) -> Self {
        Self { rule, open_calls: HashSet::new(), has_messages: false, ends_in_reply: false }
    }

    /// Checks a complete message.
    pub(super) fn item(&mut self, item: &Value) -> Result<(), ProviderError> {
        match text(item, "role") {
            "system" | "developer" => {
                if self.has_messages {
                    return Err(rejection("the system prompt is not the first message"));
                }
                content(item.get("content"), "the system prompt")
            }
            "user" => {
                self.user()?;
                content(item.get("content"), "a user message")
            }
            "assistant" => self.reply(item),
            "tool" => {
                let id = text(item, "tool_call_id");
                if !self.open_calls.remove(id) {
                    return Err(rejection(format_args!("tool result `{id}` has no tool call")));
                }
                self.ends_in_reply = false;
                content(item.get("content"), "a tool result")
            }
            role => Err(rejection(format_args!("unknown role `{role}`"))),
        }
    }

    /// Checks a part of a user message.
    pub(super) fn user_part(&mut self, part: &Value) -> Result<(), ProviderError> {
        self.user()?;
        content_part(part, "a user message")
    }

    fn user(&mut self) -> Result<(), ProviderError> {
        self.check_results()?;
        (self.has_messages, self.ends_in_reply) = (true, false);
        Ok(())
    }

    fn check_results(&self) -> Result<(), ProviderError> {
        match self.open_calls.iter().next() {
            Some(id) => Err(rejection(format_args!("tool call `{id}` has no result"))),
            None => Ok(()),
        }
    }

    fn reply(&mut self, item: &Value) -> Result<(), ProviderError> {
        self.check_results()?;
        if !self.has_messages {
            return Err(rejection("the conversation starts with a reply"));
        }
        let calls = item.get("tool_calls").and_then(Value::as_array);
        if item.get("tool_calls").is_some() && calls.is_none_or(Vec::is_empty) {
            return Err(rejection("a list of tool calls is empty"));
        }
        if calls.is_none() {
            content(item.get("content"), "a reply")?;
        }
        for call in calls.into_iter().flatten() {
            let id = text(call, "id");
            if !self.rule.accepts(id) {
                return Err(rejection(format_args!("invalid tool call id `{id}`")));
            }
            if !self.open_calls.insert(id.to_owned()) {
                return Err(rejection(format_args!("tool call id `{id}` is used twice")));
            }
            let function = call.get("function").unwrap_or(&Value::Null);
            if !is_name(text(function, "name")) {
                return Err(rejection(format_args!("invalid tool name `{}`", text(function, "name"))));
            }
            let arguments = serde_json::from_str::<Map<String, Value>>(text(function, "arguments"));
            if arguments.is_err() {
                return Err(rejection(format_args!(
                    "the arguments of tool call `{id}` are not a JSON object"
                )));
            }
        }
        self.ends_in_reply = true;
        Ok(())
    }

    /// Whether the conversation ends in a reply.
    pub(super) const fn ends_in_reply(&self) -> bool {
        self.ends_in_reply
    }

    /// Checks the conversation as a whole.
    pub(super) fn end(&self) -> Result<(), ProviderError> {
        self.check_results()?;
        match (self.has_messages, self.ends_in_reply) {
            (false, _) => Err(rejection("the request has no messages")),
            (_, true) => Err(rejection("the conversation ends in a reply")),
            _ => Ok(()),
        }
    }
}

/// Checks everything but the messages, for every protocol of this family.
pub(crate) fn head(request: &StreamConfig) -> Result<(), ProviderError> {
    if request.model_config.id.is_empty() {
        return Err(rejection("the model has no id"));
    }
    if request.output_limit() == Some(0) {
        return Err(rejection("the output limit is 0"));
    }
    let mut names = HashSet::new();
    for tool in request.tools.iter() {
        if !is_name(&tool.name) {
            return Err(rejection(format_args!(
                "invalid tool name `{}`: use at most 64 letters, digits, `_` and `-`",
                tool.name
            )));
        }
        if !names.insert(tool.name.as_str()) {
            return Err(rejection(format_args!("two tools have the name `{}`", tool.name)));
        }
    }
    match &request.tool_choice {
        ToolChoice::Tool(name) if !names.contains(name.as_str()) => {
            Err(rejection(format_args!("tool choice `{name}` is not one of the tools")))
        }
        ToolChoice::Required if names.is_empty() => {
            Err(rejection("tool choice `required` without any tools"))
        }
        _ => Ok(()),
    }?;
    match &request.output_schema {
        Some(output) if !is_name(&output.name) => {
            Err(rejection(format_args!("invalid schema name `{}`", output.name)))
        }
        Some(output) if !output.schema.is_object() => {
            Err(rejection("the output schema is not a JSON object"))
        }
        _ => Ok(()),
    }
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn content(content: Option<&Value>, whose: &str) -> Result<(), ProviderError> {
    match content {
        Some(Value::String(text)) if !text.is_empty() => Ok(()),
        Some(Value::Array(parts)) if !parts.is_empty() => {
            parts.iter().try_for_each(|part| content_part(part, whose))
        }
        _ => Err(rejection(format_args!("{whose} is empty"))),
    }
}

fn content_part(part: &Value, whose: &str) -> Result<(), ProviderError> {
    let full = match text(part, "type") {
        "text" => !text(part, "text").is_empty(),
        "image_url" => {
            let url = part.get("image_url").map_or("", |image| text(image, "url"));
            url.split_once(";base64,").is_some_and(|(kind, data)| {
                kind.strip_prefix("data:").is_some_and(|kind| !kind.is_empty()) && !data.is_empty()
            })
        }
        _ => false,
    };
    if full { Ok(()) } else { Err(rejection(format_args!("{whose} has an empty part"))) }
}

#[cfg(test)]
#[path = "validate_tests.rs"]
mod tests;
