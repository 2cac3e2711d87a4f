//! Streams partial replies as events of the Messages API.
//!
//! Our events do not say which tool call a piece of arguments belongs to, so tool calls are sent complete at the end of the
//! reply; text and thinking are streamed. If pieces of the text were lost, the end of the reply adds them. Every started block is ended before the next one and before the message ends,
//! unless the message is withdrawn.

use lariat_core::content::{Content, joined_text};
use lariat_core::event::StreamDelta;
use lariat_core::id::MessageId;
use lariat_core::message::AssistantMessage;
use lariat_service::claude_tools::{claude_input, claude_name};
use serde_json::{Value, json};

use super::messages;

/// A reply that is being streamed.
#[derive(Debug, Default)]
pub(super) struct Partial {
    message: Option<MessageId>,
    open: Option<StreamedBlock>,
    index: usize,
    /// The text that was sent.
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StreamedBlock {
    Text,
    Thinking,
}

impl Partial {
    /// Starts a reply.
    pub(super) fn begin(&mut self, id: MessageId, model: &str) -> Vec<Value> {
        *self = Self { message: Some(id), ..Self::default() };
        vec![json!({
            "type": "message_start",
            "message": {
                "id": messages::reply_id(id), "type": "message", "role": "assistant", "model": model,
                "content": [], "stop_reason": null, "stop_sequence": null,
                "usage": { "input_tokens": 0, "output_tokens": 0 },
            },
        })]
    }

    /// Adds a piece of text or thinking.
    pub(super) fn piece(&mut self, delta: &StreamDelta) -> Vec<Value> {
        if self.message.is_none() {
            return Vec::new();
        }
        let (kind, begun, piece) = match delta {
            StreamDelta::Text { delta } => (
                StreamedBlock::Text,
                json!({ "type": "text", "text": "" }),
                json!({ "type": "text_delta", "text": delta }),
            ),
            StreamDelta::Thinking { delta } => (
                StreamedBlock::Thinking,
                json!({ "type": "thinking", "thinking": "", "signature": "" }),
                json!({ "type": "thinking_delta", "thinking": delta }),
            ),
            _ => return Vec::new(),
        };
        if let StreamDelta::Text { delta } = delta {
            self.text.push_str(delta);
        }
        let mut events = Vec::new();
        if self.open != Some(kind) {
            events.extend(self.close());
            events
                .push(json!({ "type": "content_block_start", "index": self.index, "content_block": begun }));
            self.open = Some(kind);
        }
        events.push(json!({ "type": "content_block_delta", "index": self.index, "delta": piece }));
        events
    }

    /// Discards a reply that was cut off. The next one starts anew.
    pub(super) fn withdraw(&mut self) {
        *self = Self::default();
    }

    /// Completes the reply.
    pub(super) fn end(&mut self, id: MessageId, reply: &AssistantMessage) -> Vec<Value> {
        if self.message != Some(id) {
            return Vec::new();
        }
        let text = joined_text(&reply.content);
        let mut events = match text.strip_prefix(&self.text) {
            Some(rest) if !rest.is_empty() => self.piece(&StreamDelta::Text { delta: rest.to_owned() }),
            _ => Vec::new(),
        };
        events.extend(self.close());
        for call in reply.content.iter().filter_map(Content::as_tool_call) {
            let index = self.index;
            events.extend([
                json!({ "type": "content_block_start", "index": index, "content_block":
                    { "type": "tool_use", "id": call.id, "name": claude_name(&call.name), "input": {} } }),
                json!({ "type": "content_block_delta", "index": index, "delta":
                    { "type": "input_json_delta", "partial_json": claude_input(&call.name, &call.arguments).to_string() } }),
                json!({ "type": "content_block_stop", "index": index }),
            ]);
            self.index += 1;
        }
        events.extend([
            json!({
                "type": "message_delta",
                "delta": { "stop_reason": messages::stop_reason(reply.stop_reason), "stop_sequence": null },
                "usage": messages::usage(&reply.usage),
            }),
            json!({ "type": "message_stop" }),
        ]);
        self.message = None;
        events
    }

    fn close(&mut self) -> Option<Value> {
        self.open.take()?;
        let index = self.index;
        self.index += 1;
        Some(json!({ "type": "content_block_stop", "index": index }))
    }
}
