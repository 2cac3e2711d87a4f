//! Renders live items: the reply that arrives, the output of running tools, retries.
//!
//! Nothing here is part of the blocks. The durable event of a reply or a result replaces what is here.

use std::collections::HashMap;

use lariat_core::content::joined_text;
use lariat_core::event::{AgentEvent, EventRecord, StreamDelta};
use lariat_core::id::{MessageId, ToolCallId};
use lariat_core::time::Timestamp;
use lariat_terminal::theme::Style;
use lariat_terminal::{notes, text};

use super::block::{Segment, add_text, add_thinking};

/// Bytes of a tool's output to keep.
const OUTPUT: usize = 4 * 1024;

/// What live items said since the last durable event about the same thing.
#[derive(Debug, Default)]
pub(super) struct Live {
    pub(super) reply: Option<LiveReply>,
    outputs: HashMap<ToolCallId, LiveOutput>,
    /// Why the model does not reply now.
    pub(super) waiting: Option<(Style, String)>,
    /// Why the session cannot be saved.
    pub(super) unsaved: Option<(Style, String)>,
}

/// A reply that arrives.
#[derive(Debug)]
pub(super) struct LiveReply {
    pub(super) id: MessageId,
    pub(super) segments: Vec<Segment>,
    /// When the last segment began.
    pub(super) since: Timestamp,
    /// Whether all of it was received from its start. If not, its rows are a preview only.
    pub(super) is_whole: bool,
    /// Whether a tool call came after the last text.
    is_apart: bool,
    /// What arrived after a gap.
    pub(super) after_gap: Vec<Segment>,
}

/// The end of a running tool's output.
#[derive(Debug, Default)]
struct LiveOutput {
    progress: Option<String>,
    printed: String,
}

impl Live {
    /// Includes a live event.
    pub(super) fn apply(&mut self, record: &EventRecord) {
        match &record.event {
            // A message of the user is recorded at once; only a reply arrives in parts.
            AgentEvent::MessageStart { message }
                if message.get().is_none_or(|message| message.as_assistant().is_some()) =>
            {
                self.reply = Some(LiveReply::new(message.id(), record.timestamp, true));
                self.waiting = None;
            }
            AgentEvent::MessageUpdate { message, delta } => {
                self.waiting = None;
                let reply = self.reply.take().filter(|reply| reply.id == message.id());
                let mut reply =
                    reply.unwrap_or_else(|| LiveReply::new(message.id(), record.timestamp, false));
                reply.push(delta, record.timestamp);
                self.reply = Some(reply);
            }
            AgentEvent::MessageWithdrawn { .. } => self.reply = None,
            AgentEvent::ToolExecutionUpdate { tool_call_id, partial_result, .. } => {
                let output = self.outputs.entry(tool_call_id.clone()).or_default();
                output.print(&joined_text(&partial_result.content));
            }
            AgentEvent::ProgressMessage { tool_call_id, text, .. } => {
                self.outputs.entry(tool_call_id.clone()).or_default().progress = Some(text.clone());
            }
            event @ (AgentEvent::ModelRetry { .. } | AgentEvent::ModelFallback { .. }) => {
                self.waiting = notes::note(event);
            }
            event @ AgentEvent::JournalUnavailable { .. } => self.unsaved = notes::note(event),
            AgentEvent::JournalRestored => self.unsaved = None,
            _ => {}
        }
    }

    /// Removes what a durable event replaces.
    pub(super) fn replace(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::MessageEnd { message } => {
                self.unsaved = None;
                let Some(message) = message.shared() else { return };
                if let Some(result) = message.as_tool_result() {
                    self.outputs.remove(&result.tool_call_id);
                }
                if message.as_assistant().is_some() {
                    (self.reply, self.waiting) = (None, None);
                }
            }
            AgentEvent::TurnEnd { .. } | AgentEvent::TurnStart { .. } => self.reply = None,
            AgentEvent::AgentStart(_) | AgentEvent::AgentEnd { .. } | AgentEvent::LoopRecovered { .. } => {
                *self = Self::default();
            }
            _ => {}
        }
    }

    /// Live items were lost: what follows cannot be joined to what was received. The text of the reply stays, because
    /// parts of it may be printed.
    pub(super) fn lose(&mut self) {
        self.outputs.clear();
        (self.waiting, self.unsaved) = (None, None);
        if let Some(reply) = &mut self.reply {
            reply.is_whole = false;
            reply.after_gap.clear();
        }
    }

    /// The last lines of a tool's output, neutralised, and its progress.
    pub(super) fn output(&self, id: &ToolCallId, most: usize) -> (Option<&str>, Vec<String>) {
        let Some(output) = self.outputs.get(id) else { return (None, Vec::new()) };
        (output.progress.as_deref(), output.last_lines(most))
    }
}

impl LiveReply {
    const fn new(id: MessageId, since: Timestamp, is_whole: bool) -> Self {
        Self { id, segments: Vec::new(), since, is_whole, is_apart: false, after_gap: Vec::new() }
    }

    fn push(&mut self, delta: &StreamDelta, now: Timestamp) {
        let segments = if self.is_whole { &mut self.segments } else { &mut self.after_gap };
        let count = segments.len();
        match delta {
            StreamDelta::Text { delta } => {
                add_text(segments, delta, self.is_apart);
                self.is_apart &= delta.is_empty();
            }
            StreamDelta::Thinking { delta } => add_thinking(segments, delta, false),
            StreamDelta::ToolCallDelta { .. } => self.is_apart = true,
            _ => {}
        }
        if segments.len() > count {
            self.since = now;
        }
    }
}

impl LiveOutput {
    fn print(&mut self, new: &str) {
        self.printed.push_str(new);
        let from = self.printed.ceil_char_boundary(self.printed.len().saturating_sub(OUTPUT));
        self.printed.drain(..from);
    }

    /// The last lines, neutralised. A line overwritten with `\r` is shown in its last state.
    fn last_lines(&self, most: usize) -> Vec<String> {
        let now = |line: &str| {
            let line = line.trim_end_matches('\r');
            text::line(line.rsplit('\r').next().unwrap_or_default())
        };
        let lines: Vec<String> =
            self.printed.lines().map(now).filter(|line| !line.trim().is_empty()).collect();
        lines.get(lines.len().saturating_sub(most)..).unwrap_or_default().to_vec()
    }
}
