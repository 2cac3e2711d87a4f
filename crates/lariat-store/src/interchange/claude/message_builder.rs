//! Converts chain lines to messages.
//!
//! Joins a reply that is split over lines, adds its results, and moves other messages behind them. Invariant: nothing
//! stands between a reply and its results.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use lariat_core::content::Content;
use lariat_core::id::{MessageId, ToolCallId};
use lariat_core::message::{
    AgentMessage, AssistantMessage, ExtensionMessage, LlmMessage, Message, StopReason, ToolResultMessage,
    UserMessage,
};
use lariat_core::time::Timestamp;
use serde_json::{Map, Value};

use super::line::{ChainLine, LineKind};
use super::tree::{Path, Tree};
use super::{EXTENSION, KIND, block};
use crate::interchange::lines::{object, text};
use crate::interchange::{ImportSegment, derive_id, message_id};

/// Converts paths to segments, one after the other.
pub(super) struct MessageBuilder<'a> {
    tree: &'a Tree,
    /// The message that each line became, or became a part of.
    anchors: HashMap<usize, MessageId>,
    /// Lines that were moved to a path from elsewhere.
    taken: HashSet<usize>,
    /// Lines of the current path.
    path: HashSet<usize>,
    /// The latest time seen, for lines without a time.
    now: Timestamp,
    messages: Vec<(Timestamp, AgentMessage)>,
    exchange: Option<ReplyWithResults>,
}

/// A reply with its results.
struct ReplyWithResults {
    /// Index of the reply among the messages.
    at: usize,
    reply_id: Option<String>,
    lines: Vec<usize>,
    /// Tool calls with their tool names, and those without a result.
    calls: Vec<(ToolCallId, String)>,
    pending: Vec<ToolCallId>,
    /// Messages to add after the results.
    asides: Vec<(Timestamp, AgentMessage)>,
}

/// Returns the ids of the tool calls whose results a line contains.
pub(super) fn answered_calls(line: &ChainLine) -> impl Iterator<Item = &str> {
    let blocks = if line.kind == LineKind::User { blocks(line) } else { &[] };
    blocks.iter().filter_map(as_result).filter_map(|result| text(result, "tool_use_id"))
}

fn blocks(line: &ChainLine) -> &[Value] {
    let content = line.message().and_then(|message| message.get("content"));
    content.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn as_result(block: &Value) -> Option<&Map<String, Value>> {
    block.as_object().filter(|block| text(block, "type") == Some("tool_result"))
}

impl<'a> MessageBuilder<'a> {
    pub(super) fn new(tree: &'a Tree) -> Self {
        Self {
            tree,
            anchors: HashMap::new(),
            taken: HashSet::new(),
            path: HashSet::new(),
            now: Timestamp::default(),
            messages: Vec::new(),
            exchange: None,
        }
    }

    /// Returns the message that a line became, or became a part of.
    pub(super) fn anchor(&self, line: usize) -> Option<MessageId> {
        self.anchors.get(&line).copied()
    }

    /// Converts the lines of a path.
    pub(super) fn segment(&mut self, path: &Path) -> ImportSegment {
        self.path = path.lines.iter().copied().collect();
        for at in &path.lines {
            if !self.taken.contains(at) {
                self.push(*at);
            }
        }
        self.close();
        let messages = self.messages.drain(..).map(|(time, message)| (time, Arc::new(message))).collect();
        ImportSegment { base: path.base.and_then(|base| self.anchor(base)), messages }
    }

    fn push(&mut self, at: usize) {
        let Some(line) = self.tree.line(at) else { return };
        let time = line.at.unwrap_or(self.now);
        self.now = self.now.max(time);
        let anchor = match (line.kind, line.message()) {
            (LineKind::Assistant, Some(message)) => self.push_reply(at, line, message, time),
            (LineKind::User, Some(message)) => self.push_user(line, message, time),
            _ => self.push_aside(time, extension(line).into(), message_id(&line.uuid)),
        };
        self.anchors.insert(at, anchor);
    }

    /// Adds a message that is not part of an exchange, after the open exchange.
    fn push_aside(&mut self, time: Timestamp, mut message: AgentMessage, id: MessageId) -> MessageId {
        message.assign_id(|| id);
        match &mut self.exchange {
            Some(exchange) => exchange.asides.push((time, message)),
            None => self.messages.push((time, message)),
        }
        id
    }

    fn push_reply(
        &mut self,
        at: usize,
        line: &ChainLine,
        message: &Map<String, Value>,
        time: Timestamp,
    ) -> MessageId {
        let goes_on = self.exchange.as_ref().is_some_and(|exchange| {
            exchange.reply_id.is_some() && exchange.reply_id.as_deref() == line.reply_id()
        });
        if !goes_on {
            self.close();
            let id = message_id(&line.uuid);
            let reply = AssistantMessage {
                content: Vec::new(),
                stop_reason: block::stop_reason(None, false),
                model: String::new(),
                requested_model: None,
                provider: "anthropic".to_owned(),
                usage: Default::default(),
                timestamp: time,
                error_message: None,
            };
            self.exchange = Some(ReplyWithResults {
                at: self.messages.len(),
                reply_id: line.reply_id().map(str::to_owned),
                lines: Vec::new(),
                calls: Vec::new(),
                pending: Vec::new(),
                asides: Vec::new(),
            });
            self.messages.push((time, with_id(id, Message::Assistant(reply))));
        }
        let Some(exchange) = &mut self.exchange else { return message_id(&line.uuid) };
        exchange.lines.push(at);
        let Some((_, AgentMessage::Llm(llm))) = self.messages.get_mut(exchange.at) else {
            return message_id(&line.uuid);
        };
        if let Message::Assistant(reply) = &mut llm.message {
            let content = message.get("content").map(block::blocks).unwrap_or_default();
            let calls = content.iter().filter_map(Content::as_tool_call);
            for call in calls {
                exchange.calls.push((call.id.clone(), call.name.clone()));
                exchange.pending.push(call.id.clone());
            }
            reply.content.extend(content);
            reply.timestamp = time;
            if let Some(model) = text(message, "model") {
                reply.model = model.to_owned();
            }
            // Each line of a reply repeats the usage so far; the last one is complete.
            if let Some(usage) = object(message, "usage") {
                reply.usage = block::usage(usage);
            }
            let calls = !exchange.calls.is_empty();
            match text(message, "stop_reason") {
                None if !matches!(reply.stop_reason, StopReason::Stop | StopReason::ToolUse) => {}
                reason => reply.stop_reason = block::stop_reason(reason, calls),
            }
        }
        llm.id
    }

    fn push_user(&mut self, line: &ChainLine, message: &Map<String, Value>, time: Timestamp) -> MessageId {
        let content = message.get("content").unwrap_or(&Value::Null);
        let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
        let mut id = None;
        let next_id = |id: &mut Option<MessageId>, count: usize| {
            let next = if count == 0 {
                message_id(&line.uuid)
            } else {
                MessageId::new(derive_id("part", &[&line.uuid, &count.to_string()]))
            };
            *id = Some(next);
            next
        };
        let results: Vec<_> = blocks.iter().filter_map(as_result).collect();
        for (count, result) in results.iter().enumerate() {
            let next = next_id(&mut id, count);
            self.push_result(next, result, time);
        }
        let words: Vec<Content> = match content {
            Value::Array(blocks) => {
                blocks.iter().filter(|block| as_result(block).is_none()).filter_map(block::block).collect()
            }
            text => block::blocks(text),
        };
        if !words.is_empty() || results.is_empty() {
            let next = next_id(&mut id, results.len());
            let words = Message::User(UserMessage::new(words).at(time));
            let waits = self.exchange.as_ref().is_some_and(|exchange| !exchange.pending.is_empty());
            // User text that came with some of the results waits for the other results.
            if results.is_empty() || !waits {
                self.close();
            }
            self.push_aside(time, with_id(next, words), next);
        }
        id.unwrap_or_else(|| message_id(&line.uuid))
    }

    fn push_result(&mut self, id: MessageId, result: &Map<String, Value>, time: Timestamp) {
        let tool_call_id = ToolCallId::from(text(result, "tool_use_id").unwrap_or_default());
        let mut tool_name = String::new();
        if let Some(exchange) = &mut self.exchange {
            if let Some((_, name)) = exchange.calls.iter().find(|(call, _)| *call == tool_call_id) {
                tool_name.clone_from(name);
            }
            if let Some(place) = exchange.pending.iter().position(|call| *call == tool_call_id) {
                exchange.pending.remove(place);
            }
        }
        let message = Message::ToolResult(ToolResultMessage {
            tool_call_id,
            tool_name,
            content: result.get("content").map(block::blocks).unwrap_or_default(),
            is_error: result.get("is_error") == Some(&Value::Bool(true)),
            timestamp: time,
        });
        self.messages.push((time, with_id(id, message)));
    }

    /// Ends the exchange: adds results from branches beside it, then the messages that waited.
    fn close(&mut self) {
        let Some(pending) = self.exchange.as_ref().map(|exchange| exchange.pending.clone()) else { return };
        for call in pending {
            if let Some(line) = self.find_result_line(&call) {
                self.taken.insert(line);
                self.push(line);
            }
        }
        if let Some(exchange) = self.exchange.take() {
            self.messages.extend(exchange.asides);
        }
    }

    /// Finds a line outside this path that contains only results of pending tool calls of the open exchange.
    fn find_result_line(&self, call: &ToolCallId) -> Option<usize> {
        let exchange = self.exchange.as_ref().filter(|exchange| exchange.pending.contains(call))?;
        let free = |at: &&usize| !self.anchors.contains_key(at) && !self.path.contains(at);
        let fits = |at: &&usize| {
            let only_results = self.tree.line(**at).is_some_and(|line| {
                blocks(line).iter().all(|block| {
                    let call = as_result(block).and_then(|result| text(result, "tool_use_id"));
                    call.is_some_and(|call| exchange.pending.iter().any(|pending| pending.as_str() == call))
                })
            });
            only_results && self.tree.reply_before(**at).is_some_and(|reply| exchange.lines.contains(&reply))
        };
        self.tree.results_of(call.as_str()).iter().filter(free).find(fits).copied()
    }
}

fn with_id(id: MessageId, message: Message) -> AgentMessage {
    AgentMessage::Llm(LlmMessage { id, turn_id: None, message })
}

/// Converts a line that is not part of the conversation.
fn extension(line: &ChainLine) -> ExtensionMessage {
    if text(&line.fields, "subtype") == Some(EXTENSION)
        && let Some(kind) = text(&line.fields, "kind")
    {
        return ExtensionMessage::new(kind, line.fields.get("data").cloned().unwrap_or_default());
    }
    let kind = format!("{KIND}{}", text(&line.fields, "type").unwrap_or("system"));
    ExtensionMessage::new(kind, Value::Object(line.fields.clone()))
}
