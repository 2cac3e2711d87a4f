//! Prints a run for a user: streamed text, tool calls, notes, and the status line below.
//!
//! Returns strings for the caller to write; reads neither clock nor terminal. Incomplete output (the end of a paragraph, the
//! last lines of a running command, the status line, the line being typed) is drawn at the bottom and erased, in the same
//! string, before anything else is written. Complete lines are never redrawn, and the screen is never cleared.

use std::sync::Arc;
use std::time::Duration;

use lariat_core::content::{ToolCall, joined_text};
use lariat_core::event::{AgentEvent, EventRecord, MessageRef, StreamDelta};
use lariat_core::id::{LoopId, ToolCallId};
use lariat_core::message::{AssistantMessage, ToolResultMessage};
use lariat_core::time::Timestamp;
use lariat_terminal::finished_call::{self, FinishedCall, Verbosity};
use lariat_terminal::markdown::Markdown;
use lariat_terminal::theme::{Style, Theme};
use lariat_terminal::{activity, notes, text};
use serde_json::Value;

use super::status::Status;

/// Minimum time between redraws caused by time alone.
const REDRAW: Duration = Duration::from_millis(100);
/// Minimum time between redraws of streamed text.
const FRAME: Duration = Duration::from_millis(40);
/// Maximum rows of incomplete text at the bottom.
const ROWS: usize = 6;
/// The keys that send the typed line.
const SEND_KEYS: &str = "   Enter: send now, Tab: queue for after this run";
/// Bytes of thinking to keep for its one-line summary.
const THOUGHT: usize = 4 * 1024;

/// The kind of the last output. An empty line separates different kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineKind {
    Nothing,
    Reply,
    Work,
}

/// Folds run events into terminal output.
#[derive(Debug)]
pub(crate) struct Printer {
    theme: Theme,
    verbosity: Verbosity,
    status: Status,
    /// The loop to follow. Other loops, such as those of subagents, are ignored.
    root: Option<LoopId>,
    markdown: Markdown,
    /// Whether the reply's text was streamed.
    streamed: bool,
    thought: String,
    /// The tool calls of the last reply.
    calls: Vec<Arc<ToolCall>>,
    /// Tool calls whose end was already shown.
    ended: Vec<ToolCallId>,
    /// The last task list shown.
    tasks: String,
    last: LineKind,
    /// When the bottom was drawn; `None` if it is not on screen.
    drawn: Option<Timestamp>,
    /// The rows drawn above the status line.
    rows: Vec<String>,
    /// The line that the user is typing.
    draft: String,
    /// Whether a question has the screen.
    paused: bool,
}

impl Printer {
    pub(crate) fn new(theme: Theme, verbosity: Verbosity) -> Self {
        Self {
            theme,
            verbosity,
            status: Status::default(),
            root: None,
            markdown: Markdown::new(theme),
            streamed: false,
            thought: String::new(),
            calls: Vec::new(),
            ended: Vec::new(),
            tasks: String::new(),
            last: LineKind::Nothing,
            drawn: None,
            rows: Vec::new(),
            draft: String::new(),
            paused: false,
        }
    }

    /// Handles an event and returns the text to write.
    pub(crate) fn event(&mut self, record: &EventRecord, now: Timestamp) -> String {
        if !self.is_watched(record) {
            return String::new();
        }
        let body = self.body(record);
        self.status.apply(record);
        if body.is_empty() { self.redraw(now) } else { self.print_above(&body, now) }
    }

    /// Returns the text to write because time passed.
    pub(crate) fn tick(&mut self, now: Timestamp) -> String {
        self.redraw(now)
    }

    /// Shows the line that the user types instead of the status; an empty one restores the status.
    pub(crate) fn draft(&mut self, draft: &str, now: Timestamp) -> String {
        draft.clone_into(&mut self.draft);
        self.draw(now)
    }

    /// Whether the bottom is redrawn.
    pub(crate) const fn is_live(&self) -> bool {
        self.theme.live
    }

    /// Writes a note above the bottom. Neutralises the words.
    pub(crate) fn note(&mut self, style: Style, words: &str, now: Timestamp) -> String {
        let mut shown = self.flush_reply();
        let lines = notes::lines(&(style, words.to_owned()), &self.theme);
        shown.push_str(&self.add(LineKind::Work, lines));
        self.print_above(&shown, now)
    }

    /// Erases the bottom for a question, until [`Printer::resume`].
    pub(crate) fn pause(&mut self) -> String {
        let mut shown = self.erase();
        shown.push_str(&self.flush_reply());
        self.paused = true;
        shown
    }

    /// Continues after a question.
    pub(crate) fn resume(&mut self, now: Timestamp) -> String {
        self.paused = false;
        self.last = LineKind::Work;
        self.draw(now)
    }

    /// Ends the output: returns the incomplete text and erases the bottom.
    pub(crate) fn finish(&mut self) -> String {
        let mut shown = self.erase();
        shown.push_str(&self.flush_reply());
        self.status = Status::default();
        shown
    }

    fn is_watched(&mut self, record: &EventRecord) -> bool {
        if let (AgentEvent::AgentStart(_), None) = (&record.event, &self.root) {
            self.root.clone_from(&record.loop_id);
        }
        let is_watched = match (&self.root, &record.loop_id) {
            (Some(root), Some(of)) => root == of,
            _ => true,
        };
        if is_watched && matches!(record.event, AgentEvent::AgentEnd { .. }) {
            self.root = None;
        }
        is_watched
    }

    /// The lines that an event adds above the bottom.
    fn body(&mut self, record: &EventRecord) -> String {
        match &record.event {
            AgentEvent::MessageUpdate { delta: StreamDelta::Text { delta }, .. } => {
                let mut shown = self.end_thought();
                self.streamed = true;
                let lines = self.markdown.push(delta);
                shown.push_str(&self.add(LineKind::Reply, lines));
                shown
            }
            AgentEvent::MessageUpdate { delta: StreamDelta::Thinking { delta }, .. } => self.think(delta),
            AgentEvent::MessageUpdate { .. } => self.end_thought(),
            AgentEvent::MessageEnd { message } if self.status.queue().text(message.id()).is_some() => {
                let words = self.status.queue().text(message.id()).unwrap_or_default();
                let lines = notes::lines(&(Style::Strong, format!("you: {words}")), &self.theme);
                let mut shown = self.flush_reply();
                shown.push_str(&self.add(LineKind::Work, lines));
                shown
            }
            AgentEvent::MessageEnd { message } => {
                let Some(message) = message.shared() else { return String::new() };
                match (message.as_assistant(), message.as_tool_result()) {
                    (Some(reply), _) => self.reply_ends(reply),
                    (_, Some(result)) => self.result_comes(result),
                    _ => String::new(),
                }
            }
            AgentEvent::ToolExecutionStart { tool_name, args, .. } if !self.theme.live => {
                let line = activity::running_line(tool_name, args.get(), &self.theme);
                self.add(LineKind::Work, format!("{line}\n"))
            }
            AgentEvent::ToolExecutionEnd { tool_call_id, tool_name, message, details, is_error, .. } => {
                let lines =
                    self.tool_ends(tool_call_id, tool_name, message, details, *is_error, record.timestamp);
                self.ended.push(tool_call_id.clone());
                self.add(LineKind::Work, lines)
            }
            AgentEvent::AgentEnd { .. } => self.flush_reply(),
            event => match notes::note(event) {
                Some(note) => {
                    let mut shown = self.flush_reply();
                    // A retried request streams its reply again.
                    self.streamed &= !matches!(event, AgentEvent::ModelRetry { .. });
                    shown.push_str(&self.add(LineKind::Work, notes::lines(&note, &self.theme)));
                    shown
                }
                None => String::new(),
            },
        }
    }

    /// Adds lines, after an empty line if the previous lines were of another kind.
    fn add(&mut self, kind: LineKind, lines: String) -> String {
        if lines.is_empty() {
            return lines;
        }
        let is_other = self.last != LineKind::Nothing && self.last != kind;
        self.last = kind;
        if is_other { format!("\n{lines}") } else { lines }
    }

    fn reply_ends(&mut self, reply: &AssistantMessage) -> String {
        let mut shown = String::new();
        if !self.streamed {
            let lines = self.markdown.push(&joined_text(&reply.content));
            shown.push_str(&self.end_thought());
            shown.push_str(&self.add(LineKind::Reply, lines));
        }
        shown.push_str(&self.flush_reply());
        self.streamed = false;
        self.calls = reply.tool_calls().cloned().collect();
        shown
    }

    /// Shows a result without an execution: the tool call was denied, or the tool does not exist.
    fn result_comes(&mut self, result: &ToolResultMessage) -> String {
        if let Some(at) = self.ended.iter().position(|id| *id == result.tool_call_id) {
            self.ended.swap_remove(at);
            return String::new();
        }
        if !result.is_error {
            return String::new();
        }
        let call = self.calls.iter().find(|call| call.id == result.tool_call_id);
        let output = joined_text(&result.content);
        let finished_call = FinishedCall {
            tool: &result.tool_name,
            arguments: call.map(|call| &call.arguments),
            output: &output,
            details: &Value::Null,
            is_error: true,
            took: None,
        };
        let lines = finished_call.lines(self.verbosity, &self.theme);
        self.add(LineKind::Work, lines)
    }

    /// The incomplete thinking and text.
    fn flush_reply(&mut self) -> String {
        let mut shown = self.end_thought();
        let rest = self.markdown.finish();
        shown.push_str(&self.add(LineKind::Reply, rest));
        shown
    }

    fn think(&mut self, delta: &str) -> String {
        if self.verbosity == Verbosity::Normal {
            if self.thought.len() < THOUGHT {
                self.thought.push_str(delta);
            }
            return String::new();
        }
        self.thought.push_str(delta);
        match self.thought.rsplit_once('\n') {
            Some((lines, rest)) => {
                let (lines, rest) = (lines.to_owned(), rest.to_owned());
                self.thought = rest;
                self.thought_lines(&lines)
            }
            None => String::new(),
        }
    }

    fn end_thought(&mut self) -> String {
        let thought = std::mem::take(&mut self.thought);
        let first = text::first_line(&thought);
        if first.is_empty() {
            return String::new();
        }
        if self.verbosity == Verbosity::Verbose {
            return self.thought_lines(&thought);
        }
        let line = format!("{} {first}", self.theme.mark("thinking…", "thinking..."));
        let line = self.theme.paint(Style::Dim, &text::cut(&line, self.theme.width, &self.theme));
        self.add(LineKind::Work, format!("{line}\n"))
    }

    fn thought_lines(&mut self, thought: &str) -> String {
        let room = self.theme.width.saturating_sub(2);
        let lines = text::lines(thought).flat_map(|line| text::wrap(&line, room));
        let paint =
            |line: String| format!("{}\n", self.theme.paint(Style::Dim, format!("  {line}").trim_end()));
        let lines = lines.map(paint).collect();
        self.add(LineKind::Work, lines)
    }

    fn tool_ends(
        &mut self,
        id: &ToolCallId,
        tool: &str,
        message: &MessageRef,
        details: &Value,
        is_error: bool,
        at: Timestamp,
    ) -> String {
        let call = self.status.running_call(id);
        let took = call.map(|call| at.since(call.since)).unwrap_or_default();
        let result = message.get().and_then(|message| message.as_tool_result());
        let output = result.map(|result| joined_text(&result.content)).unwrap_or_default();
        let finished_call = FinishedCall {
            tool,
            arguments: call.and_then(|call| call.arguments.as_ref()),
            output: &output,
            details,
            is_error,
            took: Some(took),
        };
        let mut shown = finished_call.lines(self.verbosity, &self.theme);
        if let Some(tasks) = finished_call::tasks(details, &self.theme).filter(|tasks| *tasks != self.tasks) {
            shown.push_str(&tasks);
            self.tasks = tasks;
        }
        shown
    }

    /// Replaces the bottom by complete lines and draws it again below them.
    fn print_above(&mut self, lines: &str, now: Timestamp) -> String {
        format!("{}{lines}{}", self.erase(), self.draw(now))
    }

    /// Erases the bottom: moves to its first row and clears from there.
    fn erase(&mut self) -> String {
        let rows = std::mem::take(&mut self.rows).len();
        match (self.drawn.take(), rows) {
            (None, _) => String::new(),
            (Some(_), 0) => "\r\u{1b}[K".to_owned(),
            (Some(_), rows) => format!("\r\u{1b}[{rows}A\u{1b}[J"),
        }
    }

    /// The rows above the status line: the end of the streamed text, or of a command's output, then the queued messages.
    fn bottom(&self) -> Vec<String> {
        let mut rows = self.markdown.preview();
        if rows.is_empty() {
            let paint =
                |line: String| finished_call::dim(&line, &self.theme).trim_end_matches('\n').to_owned();
            rows = self.status.last_lines().into_iter().map(paint).collect();
        } else if self.last == LineKind::Work {
            rows.insert(0, String::new());
        }
        let mut rows = rows.split_off(rows.len().saturating_sub(ROWS));
        let queued = self.status.queue().rows(&self.theme);
        rows.extend(queued.iter().map(|row| self.theme.paint(Style::Dim, row)));
        rows
    }

    /// Draws the bottom over the previous one.
    fn draw(&mut self, now: Timestamp) -> String {
        if !self.theme.live || self.paused || !self.status.is_active() {
            return self.erase();
        }
        let rows = self.bottom();
        let is_same = self.drawn.is_some() && rows == self.rows;
        let mut shown = if is_same { String::new() } else { self.erase() };
        if !is_same {
            shown.extend(rows.iter().map(|row| format!("{row}\n")));
        }
        let (line, keys) = match self.draft.is_empty() {
            true => (self.status.line(now, &self.theme), String::new()),
            false => self.typed_line(),
        };
        // The cursor stays behind the typed text.
        let back = match text::width(&keys) {
            0 => String::new(),
            columns => format!("\u{1b}[{columns}D"),
        };
        let keys = self.theme.paint(Style::Dim, &keys);
        (self.drawn, self.rows) = (Some(now), rows);
        // Clears after the text, not before it, to avoid flicker.
        shown.push_str(&format!("\r{line}{keys}\u{1b}[K{back}"));
        shown
    }

    /// The line that the user types, only its end if it does not fit, and the keys that send it, if there is room for both.
    fn typed_line(&self) -> (String, String) {
        let mark = self.theme.mark("› ", "> ");
        let room = self.theme.width.saturating_sub(text::width(mark) + 1);
        let skipped = self.draft.chars().count().saturating_sub(room);
        let line = text::line(&self.draft.chars().skip(skipped).collect::<String>());
        let fits = |at: &usize| text::width(line.get(*at..).unwrap_or_default()) <= room;
        let start = line.char_indices().map(|(at, _)| at).find(fits).unwrap_or_default();
        let line = line.get(start..).unwrap_or_default();
        let left = room.saturating_sub(text::width(line));
        let keys = if text::width(SEND_KEYS) <= left { SEND_KEYS } else { "" };
        (format!("{}{line}", self.theme.paint(Style::Strong, mark)), keys.to_owned())
    }

    /// Draws unless it was drawn just now. Erases the status at once when the run ends.
    fn redraw(&mut self, now: Timestamp) -> String {
        let pause = if self.streamed { FRAME } else { REDRAW };
        let is_recent = self.drawn.is_some_and(|drawn| now.since(drawn) < pause);
        if is_recent && self.status.is_active() { String::new() } else { self.draw(now) }
    }
}

#[cfg(test)]
#[path = "printer_tests.rs"]
mod tests;
