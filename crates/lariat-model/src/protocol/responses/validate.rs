//! Rejects requests that the Responses API would reject, before they are sent.
//!
//! Checks each input item and repairs nothing; the other fields are checked as for Chat Completions.
//! Invariant: every tool call has exactly one output after it, and every output has its tool call before it.

use std::collections::HashSet;

use lariat_core::model::ProviderError;
use serde_json::{Map, Value};

use crate::protocol::chat::schema::is_name;
use crate::protocol::chat::validate::refused;
use crate::wire::IdRule;

/// Checks items as they are appended, and remembers what the rules need to know about earlier ones.
#[derive(Clone, Debug, Default)]
pub(super) struct Guard {
    /// Tool calls that have no output yet.
    open: HashSet<String>,
    /// All tool calls.
    calls: HashSet<String>,
    /// Whether the last item is reasoning, which must be followed by another item.
    reasoned: bool,
    ends_in_reply: bool,
    any: bool,
}

impl Guard {
    /// Checks a complete item.
    pub(super) fn item(&mut self, item: &Value) -> Result<(), ProviderError> {
        match text(item, "type") {
            "message" => {
                let parts = item.get("content").and_then(Value::as_array);
                let full =
                    |part: &Value| text(part, "type") == "output_text" && !text(part, "text").is_empty();
                if !parts.is_some_and(|parts| !parts.is_empty() && parts.iter().all(full)) {
                    return Err(refused("a reply is empty"));
                }
                // A model may call a tool and then write text: the outputs follow both.
                self.said()
            }
            "reasoning" => {
                if text(item, "id").is_empty() {
                    return Err(refused("reasoning has no id"));
                }
                self.said()?;
                self.reasoned = true;
                Ok(())
            }
            "function_call" => self.call(item),
            "function_call_output" => {
                let id = text(item, "call_id");
                if !self.open.remove(id) {
                    return Err(refused(format_args!("the output `{id}` has no tool call")));
                }
                self.heard()?;
                match item.get("output") {
                    Some(Value::String(text)) if !text.is_empty() => Ok(()),
                    Some(Value::Array(parts)) if !parts.is_empty() => parts.iter().try_for_each(input_part),
                    _ => Err(refused("an output is empty")),
                }
            }
            "" => Err(refused("an item has no type")),
            _ => self.said(),
        }
    }

    /// Checks a part of a user message.
    pub(super) fn user_part(&mut self, part: &Value) -> Result<(), ProviderError> {
        self.answered()?;
        self.heard()?;
        input_part(part)
    }

    fn call(&mut self, item: &Value) -> Result<(), ProviderError> {
        let id = text(item, "call_id");
        if !IdRule::COMMON.accepts(id) {
            return Err(refused(format_args!("invalid tool call id `{id}`")));
        }
        if !self.calls.insert(id.to_owned()) {
            return Err(refused(format_args!("tool call id `{id}` is used twice")));
        }
        self.open.insert(id.to_owned());
        if !is_name(text(item, "name")) {
            return Err(refused(format_args!("invalid tool name `{}`", text(item, "name"))));
        }
        if serde_json::from_str::<Map<String, Value>>(text(item, "arguments")).is_err() {
            return Err(refused(format_args!("the arguments of tool call `{id}` are not a JSON object")));
        }
        self.said()
    }

    /// Records an item of the model.
    fn said(&mut self) -> Result<(), ProviderError> {
        if !self.any {
            return Err(refused("the conversation starts with a reply"));
        }
        (self.reasoned, self.ends_in_reply) = (false, true);
        Ok(())
    }

    /// Records an item of the user or of a tool.
    fn heard(&mut self) -> Result<(), ProviderError> {
        if self.reasoned {
            return Err(refused("reasoning is not followed by another item of the reply"));
        }
        (self.any, self.ends_in_reply) = (true, false);
        Ok(())
    }

    fn answered(&self) -> Result<(), ProviderError> {
        match self.open.iter().next() {
            Some(id) => Err(refused(format_args!("tool call `{id}` has no output"))),
            None => Ok(()),
        }
    }

    /// Whether the conversation ends in a reply.
    pub(super) const fn ends_in_reply(&self) -> bool {
        self.ends_in_reply
    }

    /// Checks the conversation as a whole.
    pub(super) fn end(&self) -> Result<(), ProviderError> {
        self.answered()?;
        match (self.any, self.ends_in_reply) {
            (false, _) => Err(refused("the request has no messages")),
            (_, true) => Err(refused("the conversation ends in a reply")),
            _ => Ok(()),
        }
    }
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn input_part(part: &Value) -> Result<(), ProviderError> {
    let full = match text(part, "type") {
        "input_text" => !text(part, "text").is_empty(),
        "input_image" => text(part, "image_url")
            .strip_prefix("data:")
            .and_then(|url| url.split_once(";base64,"))
            .is_some_and(|(kind, data)| !kind.is_empty() && !data.is_empty()),
        _ => false,
    };
    if full { Ok(()) } else { Err(refused("a message has an empty part")) }
}

#[cfg(test)]
#[path = "validate_tests.rs"]
mod tests;
