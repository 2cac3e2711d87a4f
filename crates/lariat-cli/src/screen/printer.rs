//! A run as a person sees it: text as it arrives, what tools do, what else happens, and the status line below.
//!
//! Owns what is written when. Everything is a string that the caller writes as it is; nothing is read, no clock, no
//! terminal. The status line is taken away before anything else is written, and drawn again after it, in one string: it
//! does not flicker, and what scrolls away is only what is complete. The screen is never cleared.
//! Piped, nothing is written but the text of the last reply, when the run has ended.

use std::time::Duration;

use lariat_core::content::joined_text;
use lariat_core::event::{AgentEvent, EventRecord, MessageRef, StreamDelta};
use lariat_core::id::{LoopId, ToolCallId};
use lariat_core::message::AssistantMessage;
use lariat_core::time::Timestamp;
use serde_json::Value;

use super::activity::{self, Ended};
use super::look::{Look, Style};
use super::markdown::Markdown;
use super::status::Status;
use super::{diff, notes, text};

/// Time between two drawings of the status line that nothing but time causes.
const REDRAW: Duration = Duration::from_millis(100);
/// Takes away a line that was drawn: back to its start, erase to its end.
const ERASE: &str = "\r\u{1b}[K";
/// Lines of a diff, by how much is told.
const DIFF_LINES: usize = 12;
const VERBOSE_DIFF_LINES: usize = 80;
/// Bytes of thinking that are kept for its one line.
const THOUGHT: usize = 4 * 1024;

/// How much is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Verbosity {
    #[default]
    Normal,
    /// Thinking and the output of tools as well.
    Verbose,
}

/// What was written last: lines of another kind come after an empty one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Nothing,
    Reply,
    Work,
}

/// Folds the events of a run into what a person sees.
#[derive(Debug)]
pub(crate) struct Printer {
    look: Look,
    verbosity: Verbosity,
    status: Status,
    /// The loop that is watched. Others, such as those of helpers, are not.
    root: Option<LoopId>,
    markdown: Markdown,
    /// Whether the reply's text arrived in pieces.
    streamed: bool,
    thought: String,
    last: Kind,
    /// The text of the last reply, for a pipe.
    reply: String,
    /// When the status line was drawn, if it is there.
    drawn: Option<Timestamp>,
    /// Whether somebody else writes: a question.
    paused: bool,
}

impl Printer {
    /// A printer of a run that has not begun.
    pub(crate) fn new(look: Look, verbosity: Verbosity) -> Self {
        Self {
            look,
            verbosity,
            status: Status::default(),
            root: None,
            markdown: Markdown::new(look),
            streamed: false,
            thought: String::new(),
            last: Kind::Nothing,
            reply: String::new(),
            drawn: None,
            paused: false,
        }
    }

    /// What is to be written for an event.
    pub(crate) fn event(&mut self, record: &EventRecord, now: Timestamp) -> String {
        if !self.is_watched(record) {
            return String::new();
        }
        if !self.look.is_terminal {
            return self.piped(&record.event);
        }
        let body = self.body(record);
        self.status.apply(record);
        if body.is_empty() { self.redraw(now) } else { format!("{}{body}{}", self.erase(), self.draw(now)) }
    }

    /// What is to be written because time passed: the status line, ten times a second at most.
    pub(crate) fn tick(&mut self, now: Timestamp) -> String {
        self.redraw(now)
    }

    /// Makes room for a question: the status line goes, and does not come back before [`Printer::resume`].
    pub(crate) fn pause(&mut self) -> String {
        let mut shown = self.erase();
        if self.look.is_terminal {
            shown.push_str(&self.end_reply());
        }
        self.paused = true;
        shown
    }

    /// The question is answered.
    pub(crate) fn resume(&mut self, now: Timestamp) -> String {
        self.paused = false;
        self.last = Kind::Work;
        self.draw(now)
    }

    /// Nothing follows, whatever was expected: gives back what is incomplete, and takes the status line away.
    pub(crate) fn finish(&mut self) -> String {
        if !self.look.is_terminal {
            return String::new();
        }
        let mut shown = self.erase();
        shown.push_str(&self.end_reply());
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

    fn piped(&mut self, event: &AgentEvent) -> String {
        match event {
            AgentEvent::MessageEnd { message } => {
                if let Some(reply) = message.shared().and_then(|message| message.as_assistant()) {
                    self.reply = joined_text(&reply.content);
                }
                String::new()
            }
            AgentEvent::AgentEnd { .. } => {
                let mut shown = Markdown::whole(&std::mem::take(&mut self.reply), self.look);
                if !shown.is_empty() && !shown.ends_with('\n') {
                    shown.push('\n');
                }
                shown
            }
            _ => String::new(),
        }
    }

    /// The lines an event adds above the status line.
    fn body(&mut self, record: &EventRecord) -> String {
        match &record.event {
            AgentEvent::MessageUpdate { delta: StreamDelta::Text { delta }, .. } => {
                let mut shown = self.end_thought();
                self.streamed = true;
                let lines = self.markdown.push(delta);
                shown.push_str(&self.add(Kind::Reply, lines));
                shown
            }
            AgentEvent::MessageUpdate { delta: StreamDelta::Thinking { delta }, .. } => self.think(delta),
            AgentEvent::MessageUpdate { .. } => self.end_thought(),
            AgentEvent::MessageEnd { message } => {
                match message.shared().and_then(|message| message.as_assistant()) {
                    Some(reply) => self.reply_ends(reply),
                    None => String::new(),
                }
            }
            AgentEvent::ToolExecutionStart { tool_name, args, .. } if !self.look.live => {
                let line = activity::running(tool_name, args.get(), &self.look);
                self.add(Kind::Work, format!("{line}\n"))
            }
            AgentEvent::ToolExecutionEnd { tool_call_id, tool_name, message, details, is_error, .. } => {
                let lines =
                    self.tool_ends(tool_call_id, tool_name, message, details, *is_error, record.timestamp);
                self.add(Kind::Work, lines)
            }
            AgentEvent::AgentEnd { .. } => self.end_reply(),
            event => match notes::note(event) {
                Some(note) => {
                    // A call that is made again writes its reply again.
                    let mut shown = self.end_reply();
                    shown.push_str(&self.add(Kind::Work, notes::lines(&note, &self.look)));
                    shown
                }
                None => String::new(),
            },
        }
    }

    /// Lines of a kind, after an empty line if others came before.
    fn add(&mut self, kind: Kind, lines: String) -> String {
        if lines.is_empty() {
            return lines;
        }
        let is_other = self.last != Kind::Nothing && self.last != kind;
        self.last = kind;
        if is_other { format!("\n{lines}") } else { lines }
    }

    fn reply_ends(&mut self, reply: &AssistantMessage) -> String {
        let mut shown = String::new();
        if !self.streamed {
            let lines = self.markdown.push(&joined_text(&reply.content));
            shown.push_str(&self.end_thought());
            shown.push_str(&self.add(Kind::Reply, lines));
        }
        shown.push_str(&self.end_reply());
        shown
    }

    /// What is incomplete of thinking and text.
    fn end_reply(&mut self) -> String {
        self.streamed = false;
        let mut shown = self.end_thought();
        let rest = self.markdown.finish();
        shown.push_str(&self.add(Kind::Reply, rest));
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
        let line = format!("{} {first}", self.look.mark("thinking…", "thinking..."));
        let line = self.look.paint(Style::Dim, &text::cut(&line, self.look.width, &self.look));
        self.add(Kind::Work, format!("{line}\n"))
    }

    fn thought_lines(&mut self, thought: &str) -> String {
        let room = self.look.width.saturating_sub(2);
        let lines = text::lines(thought).flat_map(|line| text::wrap(&line, room));
        let paint =
            |line: String| format!("{}\n", self.look.paint(Style::Dim, format!("  {line}").trim_end()));
        let lines = lines.map(paint).collect();
        self.add(Kind::Work, lines)
    }

    fn tool_ends(
        &self,
        id: &ToolCallId,
        tool: &str,
        message: &MessageRef,
        details: &Value,
        is_error: bool,
        at: Timestamp,
    ) -> String {
        let call = self.status.running(id);
        let took = call.map(|call| at.since(call.since)).unwrap_or_default();
        let arguments = call.and_then(|call| call.arguments.as_ref());
        let result = message.get().and_then(|message| message.as_tool_result());
        let output = result.map(|result| joined_text(&result.content)).unwrap_or_default();
        let diffs = diffs(details);
        let note = note(details, &diffs);
        let ended = if is_error { Ended::Failed(output.clone()) } else { Ended::Done };
        let mut shown = activity::ended(tool, arguments, &ended, took, &note, &self.look);
        shown.push('\n');
        let verbose = self.verbosity == Verbosity::Verbose;
        for changed in &diffs {
            let most = if verbose { VERBOSE_DIFF_LINES } else { DIFF_LINES };
            shown.push_str(&diff::unified(changed, most, &self.look));
        }
        if verbose && diffs.is_empty() {
            shown.push_str(&self.output(&output));
        }
        shown
    }

    /// A tool's output. It is as long as the model gets it, which is bounded.
    fn output(&self, output: &str) -> String {
        let mut shown = String::new();
        for line in text::lines(output.trim_end()) {
            let line = format!("  {line}");
            shown.push_str(&self.look.paint(Style::Dim, &text::cut(&line, self.look.width, &self.look)));
            shown.push('\n');
        }
        shown
    }

    fn erase(&mut self) -> String {
        self.drawn.take().map(|_| ERASE.to_owned()).unwrap_or_default()
    }

    /// Draws the status line over what is there.
    fn draw(&mut self, now: Timestamp) -> String {
        if !self.look.live || self.paused || !self.status.is_active() {
            return self.erase();
        }
        self.drawn = Some(now);
        // Erased behind the text, not before it: nothing flickers.
        format!("\r{}\u{1b}[K", self.status.line(now, &self.look))
    }

    /// Draws unless it was just drawn. What is not waited for any more goes at once.
    fn redraw(&mut self, now: Timestamp) -> String {
        let is_recent = self.drawn.is_some_and(|drawn| now.since(drawn) < REDRAW);
        if is_recent && self.status.is_active() { String::new() } else { self.draw(now) }
    }
}

/// The diffs that a tool's details hold.
fn diffs(details: &Value) -> Vec<String> {
    let of = |value: &Value| value.get("diff").and_then(Value::as_str).map(str::to_owned);
    let files = details.get("files").and_then(Value::as_array);
    let all: Vec<String> =
        of(details).into_iter().chain(files.into_iter().flatten().filter_map(of)).collect();
    all.into_iter().filter(|diff| !diff.is_empty()).collect()
}

/// What there is to say about a result: how much changed, or how a command ended.
fn note(details: &Value, diffs: &[String]) -> String {
    if !diffs.is_empty() {
        let (added, removed) = diffs
            .iter()
            .map(|diff| diff::counts(diff))
            .fold((0, 0), |sum, diff| (sum.0 + diff.0, sum.1 + diff.1));
        return format!("+{added} -{removed}");
    }
    match details.get("exit_code").and_then(Value::as_i64) {
        Some(code) if code != 0 => format!("exit {code}"),
        _ => String::new(),
    }
}

#[cfg(test)]
#[path = "printer_tests.rs"]
mod tests;
