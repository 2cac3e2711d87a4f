//! Decodes the stream of OpenAI Responses.
//!
//! Each output item becomes a block of the reply, in the order of the items. The complete item at its end is
//! authoritative; the deltas before it are for display. Invariant: only `response.completed` and
//! `response.incomplete` end a reply successfully.

use std::borrow::Cow;

use lariat_core::content::Content;
use lariat_core::message::StopReason;
use lariat_core::model::ProviderError;
use serde::Deserialize;
use serde_json::{Value, json};

use super::PHASE_BLOCK;
use crate::protocol::chat::error;
use crate::protocol::chat::fields::{Count, Text};
use crate::wire::{Frame, Reply, StreamInterpreter};

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Option<Text<'a>>,
    #[serde(borrow, default)]
    delta: Option<Text<'a>>,
    #[serde(borrow, default)]
    item_id: Option<Text<'a>>,
    #[serde(default)]
    output_index: Option<Count>,
    #[serde(borrow, default)]
    arguments: Option<Text<'a>>,
    #[serde(default)]
    item: Option<Value>,
    #[serde(default)]
    response: Option<Box<Response>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Response {
    model: Option<String>,
    status: Option<String>,
    error: Option<Value>,
    incomplete_details: Option<IncompleteDetails>,
    output: Option<Vec<Value>>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct IncompleteDetails {
    #[serde(default)]
    reason: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Usage {
    input_tokens: Option<Count>,
    output_tokens: Option<Count>,
    total_tokens: Option<Count>,
    input_tokens_details: Option<InputDetails>,
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct InputDetails {
    cached_tokens: Option<Count>,
    cache_write_tokens: Option<Count>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OutputDetails {
    reasoning_tokens: Option<Count>,
}

/// An output item that has started. Its position in the list determines its blocks' indexes.
#[derive(Debug, Default)]
struct OutputItem {
    id: String,
    number: Option<u64>,
    /// Bytes of text or reasoning emitted so far.
    emitted: usize,
    /// Which kind of reasoning is emitted. A provider that sends both kinds would otherwise show it twice.
    reasoning_kind: Option<ReasoningKind>,
    /// Whether this is a tool call that has received no arguments yet.
    awaits_arguments: bool,
    done: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReasoningKind {
    Summary,
    Text,
}

/// Decodes the events of one reply.
#[derive(Default)]
pub(super) struct EventInterpreter {
    items: Vec<OutputItem>,
    refused: bool,
    truncated: bool,
}

/// Arguments of a tool call that neither received any nor ended: an incomplete object, which does not parse.
/// An empty text would parse as no arguments.
const INCOMPLETE_ARGUMENTS: &str = "{";

/// The index of an item's block. The index before it is reserved for the block that precedes the text.
const fn block(position: usize) -> usize {
    position * 2 + 1
}

impl EventInterpreter {
    /// Returns the item that an event belongs to. Providers without item numbers name the item or send one at
    /// a time.
    fn position(&mut self, event: &Event<'_>) -> usize {
        let number = event.output_index.and_then(|index| index.0);
        let id = Text::of(&event.item_id);
        let known = match number {
            Some(number) => self.items.iter().rposition(|item| item.number == Some(number)),
            None if !id.is_empty() => self.items.iter().rposition(|item| item.id == id),
            None => self.items.len().checked_sub(1),
        };
        known.unwrap_or_else(|| self.begin(id, number))
    }

    fn begin(&mut self, id: &str, number: Option<u64>) -> usize {
        self.items.push(OutputItem { id: id.to_owned(), number, ..OutputItem::default() });
        self.items.len() - 1
    }

    fn sent(&mut self, position: usize, arguments: &str) {
        if let Some(item) = self.items.get_mut(position) {
            item.awaits_arguments &= arguments.is_empty();
        }
    }

    fn emit_text(&mut self, event: Event<'_>, reply: &mut Reply) -> Result<(), ProviderError> {
        let position = self.position(&event);
        let delta = Text::take(event.delta);
        if let Some(item) = self.items.get_mut(position) {
            item.emitted += delta.len();
        }
        reply.text(block(position), delta)
    }

    fn emit_thinking(
        &mut self,
        event: Event<'_>,
        kind: ReasoningKind,
        reply: &mut Reply,
    ) -> Result<(), ProviderError> {
        let position = self.position(&event);
        let delta = Text::take(event.delta);
        let Some(item) = self.items.get_mut(position).filter(|_| !delta.is_empty()) else { return Ok(()) };
        if *item.reasoning_kind.get_or_insert(kind) != kind {
            return Ok(());
        }
        item.emitted += delta.len();
        reply.thinking(block(position), delta)
    }

    fn added(&mut self, event: &Event<'_>, reply: &mut Reply) -> Result<(), ProviderError> {
        let Some(item) = &event.item else { return Ok(()) };
        let (id, number) = (text(item, "id"), event.output_index.and_then(|index| index.0));
        // An item that is announced twice is still one item.
        let same =
            |known: &OutputItem| !known.done && !id.is_empty() && known.id == id && known.number == number;
        let known = self.items.iter().rposition(same);
        let position = known.unwrap_or_else(|| self.begin(id, number));
        if text(item, "type") == "function_call" {
            if let Some(item) = self.items.get_mut(position).filter(|_| known.is_none()) {
                item.awaits_arguments = true;
            }
            reply.call(block(position), text(item, "call_id"), text(item, "name"))?;
        }
        Ok(())
    }

    fn done(&mut self, event: Event<'_>, reply: &mut Reply) -> Result<(), ProviderError> {
        let number = event.output_index.and_then(|index| index.0);
        let Some(item) = event.item else { return Ok(()) };
        let id = text(&item, "id");
        let same = |known: &OutputItem| match number {
            Some(_) => known.number == number,
            None => known.id == id,
        };
        let open = self.items.iter().rposition(|known| !known.done && same(known));
        let position = open.unwrap_or_else(|| self.begin(id, number));
        self.finished_item(position, item, reply)
    }

    fn finished_item(
        &mut self,
        position: usize,
        item: Value,
        reply: &mut Reply,
    ) -> Result<(), ProviderError> {
        let Some(known) = self.items.get_mut(position) else { return Ok(()) };
        if std::mem::replace(&mut known.done, true) {
            return Ok(());
        }
        known.awaits_arguments = false;
        let emitted = known.emitted;
        let index = block(position);
        match text(&item, "type") {
            "message" => {
                let said = joined(&item, "content", "");
                self.refused |= parts(&item, "content").any(|part| text(part, "type") == "refusal");
                reply.text(index, Cow::Borrowed(rest(&said, emitted)))?;
                let phase = text(&item, "phase");
                if !phase.is_empty() && !said.is_empty() {
                    let note = json!({"type": PHASE_BLOCK, "phase": phase});
                    let note = note.as_object().cloned().unwrap_or_default();
                    reply.block(index - 1, Content::Unknown(note))?;
                }
                Ok(())
            }
            "reasoning" => {
                if emitted == 0 {
                    let summary = joined(&item, "summary", "\n\n");
                    let thought = if summary.is_empty() { joined(&item, "content", "\n\n") } else { summary };
                    reply.thinking(index, Cow::Owned(thought))?;
                }
                reply.signature(index, Cow::Owned(item.to_string()))
            }
            "function_call" => {
                reply.call(index, text(&item, "call_id"), text(&item, "name"))?;
                match item.get("arguments") {
                    Some(Value::String(arguments)) if !arguments.is_empty() => {
                        reply.replace_arguments(index, arguments);
                    }
                    Some(Value::Object(arguments)) => {
                        reply.replace_arguments(index, &Value::Object(arguments.clone()).to_string());
                    }
                    _ => {}
                }
                self.truncated |= text(&item, "status") == "incomplete";
                Ok(())
            }
            _ => match item {
                Value::Object(fields) if !fields.is_empty() => reply.block(index, Content::Unknown(fields)),
                _ => Ok(()),
            },
        }
    }

    fn finish_reply(
        &mut self,
        kind: &str,
        response: Response,
        reply: &mut Reply,
    ) -> Result<(), ProviderError> {
        reply.start(response.model.as_deref().unwrap_or_default());
        if let Some(usage) = &response.usage {
            count(usage, reply);
        }
        // A provider that sends no item events sends all items at the end.
        if self.items.is_empty() {
            for item in response.output.into_iter().flatten() {
                let position = self.begin(text(&item, "id"), None);
                self.finished_item(position, item, reply)?;
            }
        }
        for (position, _) in self.items.iter().enumerate().filter(|(_, item)| item.awaits_arguments) {
            reply.replace_arguments(block(position), INCOMPLETE_ARGUMENTS);
        }
        let reason = response.incomplete_details.and_then(|details| details.reason);
        let status = response.status.unwrap_or_default();
        match (kind, status.as_str()) {
            ("response.failed", _) | (_, "failed") => {
                let error = response.error.unwrap_or(Value::Null);
                return Err(match error {
                    Value::Null => ProviderError::Network("the provider failed during the reply".into()),
                    error => error::in_stream(&json!({ "error": error })),
                });
            }
            ("response.cancelled", _) | (_, "cancelled") => {
                return Err(ProviderError::Network("the provider aborted the reply".into()));
            }
            ("response.incomplete", _) | (_, "incomplete") => reply.stop(match reason.as_deref() {
                Some("content_filter") => StopReason::Refusal,
                _ => StopReason::Length,
            }),
            _ if self.refused => reply.stop(StopReason::Refusal),
            _ if self.truncated => reply.stop(StopReason::Length),
            _ => reply.stop(StopReason::Stop),
        }
        reply.finish()
    }
}

impl StreamInterpreter for EventInterpreter {
    fn frame(&mut self, frame: Frame<'_>, reply: &mut Reply) -> Result<(), ProviderError> {
        let data = frame.data.trim();
        // Sent by proxies that follow another protocol's conventions.
        if data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        // A list would be parsed as the fields in their order.
        if !data.starts_with('{') {
            return Err(ProviderError::InvalidReply("an event of the stream is not a JSON object".into()));
        }
        let mut event: Event<'_> = serde_json::from_str(data).map_err(|error| {
            ProviderError::InvalidReply(format!("cannot read an event of the stream: {error}").into())
        })?;
        let kind = event.kind.take();
        let kind = match Text::of(&kind) {
            "" => frame.name,
            kind => kind,
        };
        match kind {
            "response.output_text.delta" => self.emit_text(event, reply),
            "response.function_call_arguments.delta" => {
                let position = self.position(&event);
                self.sent(position, Text::of(&event.delta));
                reply.arguments(block(position), Text::take(event.delta))
            }
            "response.reasoning_summary_text.delta" => {
                self.emit_thinking(event, ReasoningKind::Summary, reply)
            }
            "response.reasoning_text.delta" => self.emit_thinking(event, ReasoningKind::Text, reply),
            "response.refusal.delta" => {
                self.refused = true;
                self.emit_text(event, reply)
            }
            "response.reasoning_summary_part.added" => {
                let position = self.position(&event);
                match self.items.get_mut(position) {
                    Some(item) if item.emitted > 0 && item.reasoning_kind == Some(ReasoningKind::Summary) => {
                        item.emitted += 2;
                        reply.thinking(block(position), Cow::Borrowed("\n\n"))
                    }
                    _ => Ok(()),
                }
            }
            "response.function_call_arguments.done" => {
                let position = self.position(&event);
                let arguments = Text::of(&event.arguments);
                self.sent(position, arguments);
                if !arguments.is_empty() {
                    reply.replace_arguments(block(position), arguments);
                }
                Ok(())
            }
            "response.output_item.added" => self.added(&event, reply),
            "response.output_item.done" => self.done(event, reply),
            "response.created" | "response.in_progress" | "response.queued" => {
                let model = event.response.and_then(|response| response.model).unwrap_or_default();
                reply.start(&model);
                Ok(())
            }
            "response.completed"
            | "response.incomplete"
            | "response.failed"
            | "response.cancelled"
            | "response.done" => self.finish_reply(kind, *event.response.unwrap_or_default(), reply),
            "error" => Err(error::in_stream(&serde_json::from_str(data).unwrap_or(Value::Null))),
            // A proxy's error in the form of Chat Completions.
            "" => match serde_json::from_str::<Value>(data) {
                Ok(json) if json.get("error").is_some_and(|error| !error.is_null()) => {
                    Err(error::in_stream(&json))
                }
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn parts<'a>(item: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    item.get(field).and_then(Value::as_array).into_iter().flatten()
}

/// Joins the text of all parts.
fn joined(item: &Value, field: &str, separator: &str) -> String {
    let said = |part: &'_ Value| match (text(part, "text"), text(part, "refusal")) {
        ("", refusal) => refusal.to_owned(),
        (text, _) => text.to_owned(),
    };
    parts(item, field).map(said).collect::<Vec<_>>().join(separator)
}

/// The part of the text that no delta contained.
fn rest(whole: &str, emitted: usize) -> &str {
    whole.get(emitted..).unwrap_or_default()
}

fn count(usage: &Usage, reply: &mut Reply) {
    let number = |count: Option<Count>| count.unwrap_or_default().or_zero();
    let input = number(usage.input_tokens);
    let details = usage.input_tokens_details.as_ref();
    let cache_read = number(details.and_then(|details| details.cached_tokens)).min(input);
    let written = number(details.and_then(|details| details.cache_write_tokens));
    let cache_write = written.min(input - cache_read);
    let output = number(usage.output_tokens);
    let reasoning = usage.output_tokens_details.as_ref().and_then(|details| details.reasoning_tokens);
    let counted = reply.usage_mut();
    counted.input = input - cache_read - cache_write;
    counted.output = output;
    counted.cache_read = cache_read;
    counted.cache_write = cache_write;
    counted.reasoning = number(reasoning).min(output);
    counted.total_tokens = number(usage.total_tokens);
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
