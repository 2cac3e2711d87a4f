//! Building a request body by appending to the one before it.
//!
//! A conversation's wire form only grows, so it is kept (in the request's memo) together with what the translator
//! knows, and a request costs its new messages plus one copy. Cache marks move from request to request: they are not
//! part of what is kept but put in while copying.
//! Invariant: the body is the same, byte for byte, whether it was built at once or by appending.

use bytes::Bytes;
use lariat_core::message::{AssistantMessage, Message};
use lariat_core::model::{ModelConfig, ProviderError, StreamConfig};
use lariat_core::tool::ToolDefinition;
use lariat_core::transcript::Window;
use serde_json::{Map, Value};
use std::sync::Arc;

/// How many of the last places for a mark are remembered.
const MARKS: usize = 8;

/// The part of a request builder that knows a protocol: messages in, wire items out.
pub trait Conversation: Send + 'static {
    /// Appends a message. Checks it against what the service would reject.
    ///
    /// # Errors
    /// When the service would reject it.
    fn push(&mut self, message: &Message, items: &mut Opened) -> Result<(), ProviderError>;
}

/// A request body in the making.
#[derive(Debug)]
pub struct Body<C> {
    /// What the wire form depends on besides the messages.
    key: String,
    window: Window,
    /// The protocol's translator, with what it knows after the messages so far.
    pub conversation: C,
    items: Opened,
    tools: Option<(Arc<[ToolDefinition]>, Vec<u8>)>,
}

impl<C: Conversation> Body<C> {
    /// The body for a request: the kept one grown, or a fresh one. `key` names everything but the messages that the
    /// wire form of messages depends on: at least protocol, service and model.
    ///
    /// # Errors
    /// When the service would reject a message.
    pub fn of(
        request: &StreamConfig,
        key: String,
        fresh: impl FnOnce() -> C,
    ) -> Result<Box<Self>, ProviderError> {
        let grows = |body: &Self| {
            body.key == key && request.messages.shared_prefix(&body.window) == body.window.len()
        };
        let mut body = request.memo.take::<Self>().filter(|body| grows(body)).unwrap_or_else(|| {
            let (window, items) = (Window::default(), Opened::default());
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

    /// Makes the tools' wire form unless it is kept.
    pub fn tools(&mut self, tools: &Arc<[ToolDefinition]>, make: impl FnOnce(&[ToolDefinition]) -> Value) {
        let kept = self.tools.as_ref().is_some_and(|(kept, _)| Arc::ptr_eq(kept, tools));
        if !kept {
            self.tools = Some((Arc::clone(tools), make(tools).to_string().into_bytes()));
        }
    }

    /// The last places where a mark can go in items of a role, newest first. A place is inside the last block of an
    /// item, before its closing brace.
    pub fn places(&self, role: &str) -> impl Iterator<Item = usize> {
        let places = self.items.marks.iter().rev();
        places.filter(move |(of, _)| *of == Some(role)).map(|(_, place)| *place)
    }

    /// Writes the body: the fields of `head`, the tools under `tools_field` when there are any, and the items under
    /// `items_field`, with `mark` put into each of `places`. Keeps itself for the next request.
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

/// Closes the blocks and the item.
const CLOSE: &[u8] = b"]}";

/// Wire items so far; the last one may still take blocks.
#[derive(Debug, Default)]
pub struct Opened {
    bytes: Vec<u8>,
    open: Option<&'static str>,
    /// Places for marks, with the role of their item.
    marks: Vec<(Option<&'static str>, usize)>,
}

impl Opened {
    /// Appends a complete item.
    pub fn item(&mut self, item: &Value) {
        self.close();
        self.separate();
        write(&mut self.bytes, item);
        self.remember_mark();
    }

    /// Appends a complete item that counts as one of a role for [`Body::places`], with the place for a mark that many
    /// bytes before its end.
    pub fn marked_item(&mut self, role: &'static str, item: &Value, from_end: usize) {
        self.item(item);
        if let Some(mark) = self.marks.last_mut() {
            *mark = (Some(role), self.bytes.len().saturating_sub(from_end));
        }
    }

    /// Appends a block to the open item of this role, or to a new one. `blocks` is the field that holds blocks. An
    /// item is `{"role": role, blocks: [block, …]}`.
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

    /// The place before the closing brace of what was written last.
    fn remember_mark(&mut self) {
        if self.marks.len() == MARKS {
            self.marks.remove(0);
        }
        self.marks.push((self.open, self.bytes.len().saturating_sub(1)));
    }
}

fn write(bytes: &mut Vec<u8>, value: &Value) {
    // Writing a value into memory cannot fail: its keys are strings.
    let _ = serde_json::to_writer(bytes, value);
}

/// Whether the model that is asked now made this reply, so that its signatures and encrypted reasoning are valid for it.
pub fn own_reply(reply: &AssistantMessage, model: &ModelConfig) -> bool {
    reply.provider == model.provider && reply.asked_model() == model.id
}

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;
