//! Builds a request body by appending to the previous one.
//!
//! The wire form of a conversation only grows, so the request's memo stores it together with the state of the
//! protocol's translator. A request then costs only its new messages and one copy. Cache marks move from
//! request to request: they are not stored but inserted during the copy.
//! Invariant: a body built by appending equals one built from scratch, byte for byte.

use bytes::Bytes;
use lariat_core::message::{AssistantMessage, Message};
use lariat_core::model::{ModelConfig, ProviderError, StreamConfig};
use lariat_core::tool::ToolDefinition;
use lariat_core::transcript::Window;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Number of most recent mark positions to remember.
const MARKS: usize = 8;

/// The protocol-specific part of a request builder: translates messages to wire items.
pub trait Conversation: Send + 'static {
    /// Appends a message after checking that the provider will accept it.
    ///
    /// # Errors
    /// Returns an error if the provider would reject the message.
    fn push(&mut self, message: &Message, items: &mut ItemWriter) -> Result<(), ProviderError>;
}

/// A request body under construction.
#[derive(Debug)]
pub struct Body<C> {
    /// Everything but the messages that the wire form depends on.
    key: String,
    window: Window,
    /// The protocol's translator, with its state after the messages so far.
    pub conversation: C,
    items: ItemWriter,
    tools: Option<(Arc<[ToolDefinition]>, Vec<u8>)>,
}

impl<C: Conversation> Body<C> {
    /// Returns the body for `request`: the stored one with the new messages appended, or a new one. `key`
    /// names everything but the messages that the wire form depends on: at least protocol, provider and
    /// model.
    ///
    /// # Errors
    /// Returns an error if the provider would reject a message.
    pub fn of(
        request: &StreamConfig,
        key: String,
        fresh: impl FnOnce() -> C,
    ) -> Result<Box<Self>, ProviderError> {
        let grows = |body: &Self| {
            body.key == key && request.messages.shared_prefix(&body.window) == body.window.len()
        };
        let mut body = request.memo.take::<Self>().filter(|body| grows(body)).unwrap_or_else(|| {
            let (window, items) = (Window::default(), ItemWriter::default());
            Box::new(Self { key, window, conversation: fresh(), items, tools: None })
        });
        for message in request.messages.iter_from(body.window.len()) {
            if let Some(message) = message.as_llm() {
                body.conversation.push(message, &mut body.items)?;
            }
        }
        body.window = request.messages.clone();
        Ok(body)
    }

    /// Builds the wire form of the tools, unless it is already stored.
    pub fn tools(&mut self, tools: &Arc<[ToolDefinition]>, make: impl FnOnce(&[ToolDefinition]) -> Value) {
        let kept = self.tools.as_ref().is_some_and(|(kept, _)| Arc::ptr_eq(kept, tools));
        if !kept {
            self.tools = Some((Arc::clone(tools), make(tools).to_string().into_bytes()));
        }
    }

    /// Returns the latest positions for a mark in items of `role`, newest first. A position is inside the
    /// last block of an item, before its closing brace.
    pub fn places(&self, role: &str) -> impl Iterator<Item = usize> {
        let places = self.items.marks.iter().rev();
        places.filter(move |(of, _)| *of == Some(role)).map(|(_, place)| *place)
    }

    /// Writes the body: the fields of `head`, the tools under `tools_field` if there are any, and the items
    /// under `items_field`, with `mark` inserted at each of `places`. Stores itself for the next request.
    pub fn finish(
        self: Box<Self>,
        request: &StreamConfig,
        head: &Map<String, Value>,
        tools_field: Option<&str>,
        items_field: &str,
        (mark, places): (&str, &[usize]),
    ) -> Bytes {
        let head = serde_json::to_vec(head).unwrap_or_default();
        let items = &self.items.bytes;
        let tools = self.tools.as_ref().filter(|(tools, _)| !tools.is_empty()).zip(tools_field);
        let tools_len = tools.map_or(0, |((_, bytes), field)| bytes.len() + field.len());
        let mut out =
            Vec::with_capacity(head.len() + items.len() + tools_len + places.len() * mark.len() + 64);
        out.extend_from_slice(head.strip_suffix(b"}").unwrap_or(&head));
        let field = |out: &mut Vec<u8>, name: &str| {
            if out.len() > 1 {
                out.push(b',');
            }
            out.push(b'"');
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b"\":");
        };
        if let Some(((_, bytes), name)) = tools {
            field(&mut out, name);
            out.extend_from_slice(bytes);
        }
        field(&mut out, items_field);
        out.push(b'[');
        let mut places = places.to_vec();
        places.sort_unstable();
        let mut written = 0;
        for place in places {
            out.extend_from_slice(items.get(written..place).unwrap_or_default());
            out.extend_from_slice(mark.as_bytes());
            written = place;
        }
        out.extend_from_slice(items.get(written..).unwrap_or_default());
        if self.items.open.is_some() {
            out.extend_from_slice(CLOSE);
        }
        out.extend_from_slice(b"]}");
        request.memo.put(self);
        out.into()
    }
}

/// Closes the list of blocks and the item.
const CLOSE: &[u8] = b"]}";

/// The wire items so far. Blocks can still be added to the last item while it is open.
#[derive(Debug, Default)]
pub struct ItemWriter {
    bytes: Vec<u8>,
    open: Option<&'static str>,
    /// Positions for marks, each with the role of its item.
    marks: Vec<(Option<&'static str>, usize)>,
}

impl ItemWriter {
    /// Appends a complete item.
    pub fn item(&mut self, item: &Value) {
        self.close();
        self.separate();
        write(&mut self.bytes, item);
        self.remember_mark();
    }

    /// Appends a complete item that [`Body::places`] lists under `role`, with the position for a mark
    /// `from_end` bytes before its end.
    pub fn marked_item(&mut self, role: &'static str, item: &Value, from_end: usize) {
        self.item(item);
        if let Some(mark) = self.marks.last_mut() {
            *mark = (Some(role), self.bytes.len().saturating_sub(from_end));
        }
    }

    /// Appends a block to the open item of this role, or to a new item. `blocks` names the field that holds
    /// blocks: an item is `{"role": role, blocks: [block, …]}`.
    pub fn block(&mut self, role: &'static str, blocks: &str, block: &Value) {
        if self.open == Some(role) {
            self.bytes.push(b',');
            self.marks.pop();
        } else {
            self.close();
            self.separate();
            self.bytes.extend_from_slice(format!("{{\"role\":\"{role}\",\"{blocks}\":[").as_bytes());
            self.open = Some(role);
        }
        write(&mut self.bytes, block);
        self.remember_mark();
    }

    /// Ends the open item, so that the next block starts a new one.
    pub fn close(&mut self) {
        if self.open.take().is_some() {
            self.bytes.extend_from_slice(CLOSE);
        }
    }

    fn separate(&mut self) {
        if !self.bytes.is_empty() {
            self.bytes.push(b',');
        }
    }

    /// Remembers the position before the closing brace of the last write.
    fn remember_mark(&mut self) {
        if self.marks.len() == MARKS {
            self.marks.remove(0);
        }
        self.marks.push((self.open, self.bytes.len().saturating_sub(1)));
    }
}

fn write(bytes: &mut Vec<u8>, value: &Value) {
    // Serializing a value into memory cannot fail, because its keys are strings.
    let _ = serde_json::to_writer(bytes, value);
}

/// Whether the requested model wrote this reply. Only then are the reply's signatures and encrypted reasoning
/// valid for it.
pub fn is_own_reply(reply: &AssistantMessage, model: &ModelConfig) -> bool {
    reply.provider == model.provider && reply.asked_model() == model.id
}

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;
