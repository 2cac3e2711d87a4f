//! Rejects requests that the Responses API would reject, before they are sent.
//!
//! Checks each input item and repairs nothing; the other fields are checked as for Chat Completions.
//! Invariant: every tool call has exactly one output after it, and every output has its tool call before it.

use std::collections::HashSet;

use lariat_core::model::ProviderError;
use serde_json::{Map, Value};

use crate::protocol::chat::schema::is_name;
use crate::protocol::chat::validate::rejection;
use crate::wire::IdRule;

/// Checks items as they are appended, and remembers what the rules need to know about earlier ones.
#[derive(Clone, Debug, Default)]
pub(super) struct RequestValidator {
    /// Tool calls that have no output yet.
    open_calls: HashSet<String>,
    /// All tool calls.
    call_ids: HashSet<String>,
    /// Whether the last item is reasoning, which must be followed by another item.
    ends_in_reasoning: bool,
    ends_in_reply: bool,
    has_items: bool,
}

impl RequestValidator {
    /// Checks a complete item.
    pub(super) fn item(&mut self, item: &Value) -> Result<(), ProviderError> {
        match text(item, "type") {
            "message" => {
                let parts = item.get("content").and_then(Value::as_array);
                let full =
                    |part: &Value| text(part, "type") == "output_text" && !text(part, "text").is_empty();
                if !parts.is_some_and(|parts| !parts.is_empty() && parts.iter().all(full)) {
                    return Err(rejection("a reply is empty"));
                }
                // A model may call a tool and then write text: the outputs follow both.
                self.record_reply_item()
            }
            "reasoning" => {
                if text(item, "id").is_empty() {
                    return Err(rejection("reasoning has no id"));
                }
                self.record_reply_item()?;
                self.ends_in_reasoning = true;
                Ok(())
            }
            "function_call" => self.call(item),
            "function_call_output" => {
                let id = text(item, "call_id");
                if !self.open_calls.remove(id) {
                    return Err(rejection(format_args!("the output `{id}` has no tool call")));
                }
                self.record_input_item()?;
                match item.get("output") {
                    Some(Value::String(text)) if !text.is_empty() => Ok(()),
                    Some(Value::Array(parts)) if !parts.is_empty() => parts.iter().try_for_each(input_part),
                    _ => Err(rejection("an output is empty")),
                }
            }
            "" => Err(rejection("an item has no type")),
            _ => self.record_reply_item(),
        }
    }

    /// Checks a part of a user message.
    pub(super) fn user_part(&mut self, part: &Value) -> Result<(), ProviderError> {
        self.check_results()?;
        self.record_input_item()?;
        input_part(part)
    }

    fn call(&mut self, item: &Value) -> Result<(), ProviderError> {
        let id = text(item, "call_id");
        if !IdRule::COMMON.accepts(id) {
            return Err(rejection(format_args!("invalid tool call id `{id}`")));
        }
        if !self.call_ids.insert(id.to_owned()) {
            return Err(rejection(format_args!("tool call id `{id}` is used twice")));
        }
        self.open_calls.insert(id.to_owned());
        if !is_name(text(item, "name")) {
            return Err(rejection(format_args!("invalid tool name `{}`", text(item, "name"))));
        }
        if serde_json::from_str::<Map<String, Value>>(text(item, "arguments")).is_err() {
            return Err(rejection(format_args!("the arguments of tool call `{id}` are not a JSON object")));
        }
        self.record_reply_item()
    }

    /// Records an item of the model.
    fn record_reply_item(&mut self) -> Result<(), ProviderError> {
        if !self.has_items {
            return Err(rejection("the conversation starts with a reply"));
        }
        (self.ends_in_reasoning, self.ends_in_reply) = (false, true);
        Ok(())
    }

    /// Records an item of the user or of a tool.
    fn record_input_item(&mut self) -> Result<(), ProviderError> {
        if self.ends_in_reasoning {
            return Err(rejection("reasoning is not followed by another item of the reply"));
        }
        (self.has_items, self.ends_in_reply) = (true, false);
        Ok(())
    }

    fn check_results(&self) -> Result<(), ProviderError> {
        match self.open_calls.iter().next() {
            Some(id) => Err(rejection(format_args!("tool call `{id}` has no output"))),
            None => Ok(()),
        }
    }

    /// Whether the conversation ends in a reply.
    pub(super) const fn ends_in_reply(&self) -> bool {
        self.ends_in_reply
    }

    /// Checks the conversation as a whole.
    pub(super) fn end(&self) -> Result<(), ProviderError> {
        self.check_results()?;
        match (self.has_items, self.ends_in_reply) {
            (false, _) => Err(rejection("the request has no messages")),
            (_, true) => Err(rejection("the conversation ends in a reply")),
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
    if full { Ok(()) } else { Err(rejection("a message has an empty part")) }
}

#[cfg(test)]
#[path = "validate_tests.rs"]
mod tests;
