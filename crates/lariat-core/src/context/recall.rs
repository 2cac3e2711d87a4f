//! Finds messages that compaction removed from the context window.
//!
//! A message has a name (`m…`); `m…..m…` is a range. Invariant: a single message is returned exactly as
//! recorded, or not at all. A range is returned as text and its messages are not kept: it can be as long as
//! the session, and a caller that drains it needs memory for one message only.

use std::collections::HashMap;
use std::sync::Arc;

use crate::content::Content;
use crate::event::{AgentEvent, CompactionEdit, RecordedMessage};
use crate::id::MessageId;
use crate::message::{AgentMessage, Message, SharedMessage};

/// A search for a message or a range. Pass it a session's events in order.
#[derive(Debug)]
pub struct Recall {
    first: String,
    /// Last message of a range.
    last: Option<String>,
    found: Vec<SharedMessage>,
    /// Text of the range that was not drained yet.
    range_text: String,
    /// Whether the next message is in the range.
    position: RangePosition,
    /// Queued messages that were not delivered yet.
    queued: HashMap<MessageId, SharedMessage>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RangePosition {
    Before,
    Inside,
    /// The last message was found; results of the same reply may follow, because they are recorded in
    /// completion order.
    Closing,
    After,
}

impl Recall {
    /// Starts a search. Returns `None` if this cannot be the name of a message.
    pub fn new(name: &str) -> Option<Self> {
        let name = name.trim().trim_matches('`');
        let (first, last) = match name.split_once("..") {
            Some((first, last)) => (first.trim(), Some(last.trim().to_owned())),
            None => (name, None),
        };
        let plausible = |name: &str| name.starts_with('m') || name.len() == 36;
        if !plausible(first) || last.as_deref().is_some_and(|last| !plausible(last)) {
            return None;
        }
        let (found, range_text, queued) = (Vec::new(), String::new(), HashMap::new());
        Some(Self {
            first: first.to_owned(),
            last,
            found,
            range_text,
            position: RangePosition::Before,
            queued,
        })
    }

    /// Processes the next event.
    pub fn take(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::MessageQueued { message, .. } => {
                self.queued.insert(message.id(), Arc::clone(message));
            }
            AgentEvent::MessageEnd { message: RecordedMessage::Full(message) } => self.visit(message),
            AgentEvent::MessageEnd { message } => {
                let queued = self.queued.remove(&message.id());
                if let Some(message) = queued.or_else(|| message.shared().cloned()) {
                    self.visit(&message);
                }
            }
            AgentEvent::MessagesImported { messages, .. } => {
                messages.iter().for_each(|message| self.visit(message));
            }
            AgentEvent::Compaction { edits, .. } if self.last.is_none() => {
                for edit in edits.iter() {
                    if let CompactionEdit::Summarise { summary, .. } = edit {
                        self.visit(summary);
                    }
                }
            }
            _ => {}
        }
    }

    fn visit(&mut self, message: &SharedMessage) {
        let is_first = message.id().is_named(&self.first);
        let Some(last) = &self.last else {
            let known = self.found.iter().any(|found| found.id() == message.id());
            if is_first && !known {
                self.found.push(Arc::clone(message));
            }
            return;
        };
        if is_first && self.position == RangePosition::Before {
            self.position = RangePosition::Inside;
        }
        match self.position {
            RangePosition::Inside => {
                self.range_text.push_str(&format_message(message));
                if message.id().is_named(last) {
                    self.position = RangePosition::Closing;
                }
            }
            RangePosition::Closing if message.as_tool_result().is_some() => {
                self.range_text.push_str(&format_message(message))
            }
            RangePosition::Closing => self.position = RangePosition::After,
            _ => {}
        }
    }

    /// Returns the text of a range since the last drain, in whole lines; empty for a single message. Only
    /// [`Recall::text`] tells whether the end of the range was found.
    pub fn drain(&mut self) -> String {
        std::mem::take(&mut self.range_text)
    }

    /// Returns the text that was found and not drained; `None` if the message was not found.
    ///
    /// # Errors
    /// Fails if more than one message has the name.
    pub fn text(self) -> Result<Option<String>, String> {
        match (&self.last, self.found.as_slice()) {
            (Some(_), _) if matches!(self.position, RangePosition::Before | RangePosition::Inside) => {
                Ok(None)
            }
            (Some(_), _) => Ok(Some(self.range_text)),
            (None, []) => Ok(None),
            (None, [message]) => Ok(Some(recalled_text(message))),
            (None, many) => {
                let ids: Vec<String> = many.iter().map(|message| message.id().to_string()).collect();
                Err(format!("`{}` matches more than one message: use one of {}.", self.first, ids.join(", ")))
            }
        }
    }
}

/// Formats one message of a range, with its name and role.
fn format_message(message: &SharedMessage) -> String {
    let who = match message.as_llm() {
        Some(Message::User(_)) => "user".to_owned(),
        Some(Message::Assistant(_)) => "assistant".to_owned(),
        Some(Message::ToolResult(result)) => format!("output of {}", result.tool_name),
        None => return String::new(),
    };
    format!("[{} {who}]\n{}\n", message.id().short(), recalled_text(message))
}

/// Returns the text of a message with its tool calls; other content is represented by its type.
pub fn recalled_text(message: &AgentMessage) -> String {
    let Some(message) = message.as_llm() else { return String::new() };
    let block = |block: &Content| match block {
        Content::Text { text } => Some(text.clone()),
        Content::Image { mime_type, .. } => Some(format!("[{mime_type}]")),
        Content::ToolCall(call) => Some(format!("[call of {}: {}]", call.name, call.arguments)),
        _ => None,
    };
    message.content().iter().filter_map(block).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
#[path = "recall_tests.rs"]
mod tests;
