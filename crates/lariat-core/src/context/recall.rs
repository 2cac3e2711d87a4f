//! Finding again what compaction took out of the window.
//!
//! Owns how a message is named (`m…`, or `m…..m…` for all from one to another), the fold over a journal that finds it,
//! and its text. Invariant: one message comes back exactly as it was recorded, or not at all. A range is text, never
//! messages that are kept: it can be as long as the session, and whoever drains it needs room for one message.

use std::collections::HashMap;
use std::sync::Arc;

use crate::content::Content;
use crate::event::{AgentEvent, CompactionEdit, Recorded};
use crate::id::MessageId;
use crate::message::{AgentMessage, Message, SharedMessage};

/// A search for what a name means. Feed it a session's events in order.
#[derive(Debug)]
pub struct Recall {
    first: String,
    /// Of a range.
    last: Option<String>,
    found: Vec<SharedMessage>,
    /// What a range says, as far as it was not drained.
    told: String,
    /// Whether what comes is in the range.
    inside: Inside,
    /// Messages that wait to be said.
    queued: HashMap<MessageId, SharedMessage>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inside {
    NotYet,
    Now,
    /// The last was there; results of the same reply may follow, as they were recorded in the order they came.
    Closing,
    NoMore,
}

impl Recall {
    /// A search; `None` when this cannot be the name of a message.
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
        let (found, told, queued) = (Vec::new(), String::new(), HashMap::new());
        Some(Self { first: first.to_owned(), last, found, told, inside: Inside::NotYet, queued })
    }

    /// Takes in the next event.
    pub fn take(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::MessageQueued { message, .. } => {
                self.queued.insert(message.id(), Arc::clone(message));
            }
            AgentEvent::MessageEnd { message: Recorded::Full(message) } => self.look_at(message),
            AgentEvent::MessageEnd { message } => {
                let queued = self.queued.remove(&message.id());
                if let Some(message) = queued.or_else(|| message.shared().cloned()) {
                    self.look_at(&message);
                }
            }
            AgentEvent::MessagesImported { messages, .. } => {
                messages.iter().for_each(|message| self.look_at(message));
            }
            AgentEvent::Compaction { edits, .. } if self.last.is_none() => {
                for edit in edits.iter() {
                    if let CompactionEdit::Summarise { summary, .. } = edit {
                        self.look_at(summary);
                    }
                }
            }
            _ => {}
        }
    }

    fn look_at(&mut self, message: &SharedMessage) {
        let is_first = message.id().is_named(&self.first);
        let Some(last) = &self.last else {
            let known = self.found.iter().any(|found| found.id() == message.id());
            if is_first && !known {
                self.found.push(Arc::clone(message));
            }
            return;
        };
        if is_first && self.inside == Inside::NotYet {
            self.inside = Inside::Now;
        }
        match self.inside {
            Inside::Now => {
                self.told.push_str(&told(message));
                if message.id().is_named(last) {
                    self.inside = Inside::Closing;
                }
            }
            Inside::Closing if message.as_tool_result().is_some() => self.told.push_str(&told(message)),
            Inside::Closing => self.inside = Inside::NoMore,
            _ => {}
        }
    }

    /// What a range says since it was drained last, in whole lines; empty for a single message. Whether the range has an
    /// end is known only by [`Recall::text`].
    pub fn drain(&mut self) -> String {
        std::mem::take(&mut self.told)
    }

    /// What was found and not drained; `None` when nothing was.
    ///
    /// # Errors
    /// In words, when the name means more than one message.
    pub fn text(self) -> Result<Option<String>, String> {
        match (&self.last, self.found.as_slice()) {
            (Some(_), _) if matches!(self.inside, Inside::NotYet | Inside::Now) => Ok(None),
            (Some(_), _) => Ok(Some(self.told)),
            (None, []) => Ok(None),
            (None, [message]) => Ok(Some(recalled_text(message))),
            (None, many) => {
                let ids: Vec<String> = many.iter().map(|message| message.id().to_string()).collect();
                Err(format!("`{}` means more than one message: use one of {}.", self.first, ids.join(", ")))
            }
        }
    }
}

/// A message of several, with its name and who said it.
fn told(message: &SharedMessage) -> String {
    let who = match message.as_llm() {
        Some(Message::User(_)) => "user".to_owned(),
        Some(Message::Assistant(_)) => "assistant".to_owned(),
        Some(Message::ToolResult(result)) => format!("output of {}", result.tool_name),
        None => return String::new(),
    };
    format!("[{} {who}]\n{}\n", message.id().short(), recalled_text(message))
}

/// The text of a message, with its calls; what is no text is named.
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
