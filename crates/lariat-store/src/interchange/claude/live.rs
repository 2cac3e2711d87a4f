//! Writes a session as Claude Code lines while it runs.
//!
//! Unlike [`export`](super::export()), which writes a whole journal, it only ever adds lines: each message once, after the line of
//! the message that it follows. A compaction is a boundary and the summaries. Its file is for readers such as hook scripts.

use std::collections::{HashMap, HashSet};

use lariat_core::event::{AgentEvent, CompactionCause, CompactionEdit, EventRecord};
use lariat_core::id::{MessageId, SessionId};
use lariat_core::message::{AgentMessage, SharedMessage};
use lariat_core::time::Timestamp;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::journal::Journal;
use super::line_builder::LineBuilder;
use super::{BOUNDARY, session_uuid};
use crate::interchange::derive_id;

/// The field that marks a line as written by Lariat, and its value.
const WRITER: (&str, &str) = ("writer", "lariat");

/// Whether a line is from a [`LiveTranscript`]. Other programs write files of the same names.
pub fn is_live_line(line: &str) -> bool {
    let line: Option<Value> = serde_json::from_str(line).ok();
    line.is_some_and(|line| line.get(WRITER.0).and_then(Value::as_str) == Some(WRITER.1))
}

/// Translates the name and the arguments of a tool call.
pub type ToolCallNames = fn(&str, &Value) -> (String, Value);

/// The lines of a session that runs.
pub struct LiveTranscript {
    lines: LineBuilder,
    names: ToolCallNames,
    /// The last line of the conversation.
    last: Option<Uuid>,
    written: HashSet<Uuid>,
    queued: HashMap<MessageId, SharedMessage>,
}

impl LiveTranscript {
    /// Starts the lines of a session that works in a directory.
    pub fn new(session_id: &SessionId, cwd: &str, names: ToolCallNames) -> Self {
        let mut journal = Journal::default();
        journal.about.cwd = Some(cwd.to_owned());
        let lines = LineBuilder::new(session_uuid(session_id).to_string(), &journal);
        Self { lines, names, last: None, written: HashSet::new(), queued: HashMap::new() }
    }

    /// Returns the lines for the next event of the journal, each with its line ending; empty if it has none.
    pub fn event(&mut self, record: &EventRecord) -> String {
        let (time, mut text) = (record.timestamp, String::new());
        match &record.event {
            AgentEvent::AgentStart(start) => self.follow(start.base),
            AgentEvent::MessagesImported { base, messages } => {
                self.follow(*base);
                messages.iter().for_each(|message| self.message(message, time, &mut text));
            }
            AgentEvent::MessageQueued { message, .. } => {
                self.queued.insert(message.id(), message.clone());
            }
            AgentEvent::MessageEnd { message } => {
                let message = self.queued.remove(&message.id()).or_else(|| message.shared().cloned());
                if let Some(message) = message {
                    self.message(&message, time, &mut text);
                }
            }
            AgentEvent::Compaction { cause, edits, tokens_before, .. } => {
                self.boundary(*cause, *tokens_before, time, &mut text);
                for edit in edits.iter() {
                    if let CompactionEdit::Summarise { summary, .. } = edit {
                        self.message(summary, time, &mut text);
                    }
                }
            }
            _ => {}
        }
        text
    }

    /// Continues after a message, if its line is written.
    fn follow(&mut self, base: Option<MessageId>) {
        let base = base.map(MessageId::uuid);
        if base.is_none_or(|base| self.written.contains(&base)) {
            self.last = base;
        }
    }

    fn message(&mut self, message: &AgentMessage, time: Timestamp, text: &mut String) {
        let uuid = message.id().uuid();
        if !self.written.insert(uuid) {
            return;
        }
        let line = self.lines.line(message, uuid, self.last, time);
        self.add(uuid, line, text);
    }

    fn boundary(&mut self, cause: CompactionCause, tokens: u64, time: Timestamp, text: &mut String) {
        let name = self.last.map(|last| last.to_string()).unwrap_or_default();
        let uuid = derive_id("boundary", &[name.as_str()]);
        let mut line = self.lines.system(BOUNDARY, "Conversation compacted", uuid, None, time);
        line.insert("logicalParentUuid".to_owned(), json!(self.last));
        let trigger = if cause == CompactionCause::Manual { "manual" } else { "auto" };
        line.insert("compactMetadata".to_owned(), json!({ "trigger": trigger, "preTokens": tokens }));
        self.add(uuid, line, text);
    }

    fn add(&mut self, uuid: Uuid, mut line: Map<String, Value>, text: &mut String) {
        line.insert(WRITER.0.to_owned(), WRITER.1.into());
        let mut line = Value::Object(line);
        let content = line.pointer_mut("/message/content").and_then(Value::as_array_mut);
        for block in content.into_iter().flatten().filter_map(Value::as_object_mut) {
            if block.get("type").and_then(Value::as_str) != Some("tool_use") {
                continue;
            }
            let name = block.get("name").and_then(Value::as_str).unwrap_or_default();
            let (name, input) = (self.names)(name, block.get("input").unwrap_or(&Value::Null));
            block.insert("name".to_owned(), name.into());
            block.insert("input".to_owned(), input);
        }
        text.push_str(&line.to_string());
        text.push('\n');
        self.last = Some(uuid);
    }
}

impl std::fmt::Debug for LiveTranscript {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LiveTranscript").field("last", &self.last).finish_non_exhaustive()
    }
}
