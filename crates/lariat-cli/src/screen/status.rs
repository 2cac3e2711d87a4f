//! The live status line: what the run is waiting for, and what it has cost so far.
//!
//! Folds events into one line, and keeps the last lines of a running command's output. Reads no clock: events carry their
//! time, and the caller passes the current time. The line is at least one column narrower than the terminal, so that it never
//! scrolls.

use lariat_core::content::joined_text;
use lariat_core::event::{AgentEvent, EventRecord, StreamDelta};
use lariat_core::id::ToolCallId;
use lariat_core::time::Timestamp;
use lariat_core::usage::Usage;
use lariat_terminal::theme::{Style, Theme};
use lariat_terminal::{activity, human, text};
use serde_json::Value;

use super::queue::MessageQueue;

/// Frames of the spinner.
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const ASCII_SPINNER: [&str; 4] = ["|", "/", "-", "\\"];
/// Milliseconds per frame.
const SPIN: u64 = 100;
/// Minimum columns for the activity; figures take the rest.
const LEAST: usize = 16;
/// Bytes of a command's output to keep.
const PRINTED: usize = 4 * 1024;
/// Lines of a running command's output to show.
const LAST_LINES: usize = 3;

/// What the run is waiting for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum WaitState {
    /// No run is active.
    #[default]
    Nothing,
    Model,
    Thinking,
    Writing,
    /// The model is writing the arguments of a tool call.
    Calling,
    /// The next attempt to reach the model.
    Retry {
        until: Timestamp,
        /// The number of that attempt, from 2.
        attempt: u32,
        /// Why the previous attempt failed.
        error: String,
    },
    Compaction,
}

/// A running tool call.
#[derive(Clone, Debug)]
pub(crate) struct RunningCall {
    pub(crate) id: ToolCallId,
    pub(crate) tool: String,
    pub(crate) arguments: Option<Value>,
    pub(crate) since: Timestamp,
    /// Its last progress message.
    pub(crate) progress: Option<String>,
    /// The end of its output so far.
    printed: String,
}

impl RunningCall {
    fn print(&mut self, new: &str) {
        self.printed.push_str(new);
        let from = self.printed.ceil_char_boundary(self.printed.len().saturating_sub(PRINTED));
        self.printed.drain(..from);
    }

    /// The last lines of its output, neutralised. A line overwritten with `\r` is shown in its last state.
    fn last_lines(&self) -> Vec<String> {
        let now = |line: &str| {
            let line = line.trim_end_matches('\r');
            text::line(line.rsplit('\r').next().unwrap_or_default())
        };
        let lines: Vec<String> =
            self.printed.lines().map(now).filter(|line| !line.trim().is_empty()).collect();
        lines.get(lines.len().saturating_sub(LAST_LINES)..).unwrap_or_default().to_vec()
    }
}

/// The state of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Status {
    waiting: WaitState,
    since: Timestamp,
    calls: Vec<RunningCall>,
    /// Unanswered approval requests.
    questions: Vec<ToolCallId>,
    turn: u32,
    usage: Usage,
    window: u64,
    context: u64,
    queue: MessageQueue,
}

impl Status {
    pub(crate) fn apply(&mut self, record: &EventRecord) {
        let now = record.timestamp;
        self.queue.apply(&record.event);
        match &record.event {
            AgentEvent::AgentStart(start) => {
                let queue = std::mem::take(&mut self.queue);
                *self = Self { since: now, waiting: WaitState::Model, queue, ..Self::default() };
                self.window = start.config.as_ref().map_or(0, |config| config.context_window);
            }
            AgentEvent::TurnStart { turn_index, .. } => {
                self.turn = turn_index.saturating_add(1);
                self.wait(WaitState::Model, now);
            }
            AgentEvent::TurnEnd { usage, .. } => {
                self.usage += *usage;
                self.context = usage.context().saturating_add(usage.output);
                self.wait(WaitState::Model, now);
            }
            AgentEvent::MessageStart { .. } => self.wait(WaitState::Model, now),
            AgentEvent::MessageUpdate { delta, .. } => {
                let waiting = match delta {
                    StreamDelta::Text { .. } => WaitState::Writing,
                    StreamDelta::Thinking { .. } => WaitState::Thinking,
                    _ => WaitState::Calling,
                };
                if self.waiting != waiting {
                    self.wait(waiting, now);
                }
            }
            AgentEvent::ToolExecutionStart { tool_call_id, tool_name, args } => {
                self.questions.retain(|id| id != tool_call_id);
                self.calls.push(RunningCall {
                    id: tool_call_id.clone(),
                    tool: tool_name.clone(),
                    arguments: args.get().cloned(),
                    since: now,
                    progress: None,
                    printed: String::new(),
                });
            }
            AgentEvent::ProgressMessage { tool_call_id, text, .. } => {
                if let Some(call) = self.calls.iter_mut().find(|call| call.id == *tool_call_id) {
                    call.progress = Some(text.clone());
                }
            }
            AgentEvent::ToolExecutionUpdate { tool_call_id, partial_result, .. } => {
                if let Some(call) = self.calls.iter_mut().find(|call| call.id == *tool_call_id) {
                    call.print(&joined_text(&partial_result.content));
                }
            }
            AgentEvent::ToolExecutionEnd { tool_call_id, .. } => {
                self.take(tool_call_id);
                self.wait(WaitState::Model, now);
            }
            AgentEvent::PermissionRequired { request } => self.questions.push(request.tool_call_id.clone()),
            AgentEvent::PermissionDecided { tool_call_id, .. } => {
                self.questions.retain(|id| id != tool_call_id);
                self.wait(WaitState::Model, now);
            }
            AgentEvent::ModelRetry { attempt, delay_ms, error } => {
                let until = now.after(std::time::Duration::from_millis(*delay_ms));
                let (attempt, error) = (attempt.saturating_add(1), text::first_line(error));
                self.wait(WaitState::Retry { until, attempt, error }, now);
            }
            AgentEvent::CompactionWarning { tokens, window } => {
                (self.context, self.window) = (*tokens, *window);
                self.wait(WaitState::Compaction, now);
            }
            AgentEvent::Compaction { tokens_after, usage, .. } => {
                self.context = *tokens_after;
                self.usage += *usage;
                self.wait(WaitState::Model, now);
            }
            AgentEvent::SubAgentCompleted { usage, .. } => self.usage += *usage,
            AgentEvent::AgentEnd { .. } => {
                self.wait(WaitState::Nothing, now);
                self.calls.clear();
                self.questions.clear();
            }
            _ => {}
        }
    }

    fn wait(&mut self, waiting: WaitState, now: Timestamp) {
        (self.waiting, self.since) = (waiting, now);
    }

    /// The tool call with this id, if it is running.
    pub(crate) fn running_call(&self, id: &ToolCallId) -> Option<&RunningCall> {
        self.calls.iter().find(|call| call.id == *id)
    }

    /// The last output lines of the tool call on display.
    pub(crate) fn last_lines(&self) -> Vec<String> {
        self.calls.first().map(RunningCall::last_lines).unwrap_or_default()
    }

    /// The messages that the user queued.
    pub(crate) const fn queue(&self) -> &MessageQueue {
        &self.queue
    }

    fn take(&mut self, id: &ToolCallId) {
        self.calls.retain(|call| call.id != *id);
    }

    /// Whether a run is active.
    pub(crate) fn is_active(&self) -> bool {
        self.waiting != WaitState::Nothing
    }

    /// The line, without a line ending. Empty if no run is active.
    pub(crate) fn line(&self, now: Timestamp, theme: &Theme) -> String {
        if !self.is_active() {
            return String::new();
        }
        let most = theme.width.saturating_sub(1);
        let figures = self.figures(theme);
        let what = self.what(now);
        let spinner = spinner(now, theme);
        let used = text::width(spinner) + 1;
        let all = figures.iter().map(|figure| text::width(figure)).sum::<usize>();
        // Shortens the activity to a few words, then drops figures from the end.
        let room = most.saturating_sub(used + all).max(LEAST.min(text::width(&what)));
        let what = text::cut(&what, room, theme).into_owned();
        let mut left = most.saturating_sub(used + text::width(&what));
        let mut pieces = vec![(Style::Warning, format!("{spinner} ")), (Style::Plain, what)];
        for figure in figures {
            let width = text::width(&figure);
            if width > left {
                break;
            }
            left -= width;
            pieces.push((Style::Dim, figure));
        }
        text::paint_pieces(&pieces, most, theme)
    }

    /// What the run is waiting for, neutralised.
    fn what(&self, now: Timestamp) -> String {
        let since = |then: Timestamp| human::elapsed(now.since(then));
        if !self.questions.is_empty() {
            return "waiting for your answer".to_owned();
        }
        if let Some(call) = self.calls.first() {
            let more = self.calls.len() - 1;
            let more = if more > 0 { format!(" (+{more})") } else { String::new() };
            let about = match &call.progress {
                Some(progress) => text::first_line(progress),
                None => activity::about(&call.tool, call.arguments.as_ref()),
            };
            return format!("{}{more} {} {about}", text::line(&call.tool), since(call.since))
                .trim_end()
                .to_owned();
        }
        let waiting = match &self.waiting {
            WaitState::Nothing => return String::new(),
            WaitState::Model => "waiting for the model",
            WaitState::Thinking => "thinking",
            WaitState::Writing => "writing",
            WaitState::Calling => "preparing a tool call",
            WaitState::Compaction => "compacting the context",
            WaitState::Retry { until, attempt, error } => {
                let left = until.since(now).as_millis().div_ceil(1_000);
                let left = std::time::Duration::from_secs(u64::try_from(left).unwrap_or(u64::MAX));
                return format!("attempt {attempt} in {}: {error}", human::elapsed(left));
            }
        };
        format!("{waiting} {}", since(self.since))
    }

    fn figures(&self, theme: &Theme) -> Vec<String> {
        let dot = theme.mark(" · ", " - ");
        let mut figures = Vec::new();
        if self.queue.len() > 0 {
            figures.push(format!("{dot}{} queued", self.queue.len()));
        }
        if self.turn > 0 {
            figures.push(format!("{dot}turn {}", self.turn));
        }
        if self.usage.total() > 0 {
            figures.push(format!("{dot}{} tokens", human::count(self.usage.total())));
        }
        if self.window > 0 && self.context > 0 {
            let percent = u128::from(self.context) * 100 / u128::from(self.window);
            figures.push(format!("{dot}context {percent} %"));
        }
        if !self.usage.cost.is_zero() {
            figures.push(format!("{dot}{}", human::money(self.usage.cost)));
        }
        figures
    }
}

fn spinner(now: Timestamp, theme: &Theme) -> &'static str {
    let frames: &[&'static str] = if theme.unicode { &SPINNER } else { &ASCII_SPINNER };
    let now = if theme.motion { now.as_millis() } else { 0 };
    let at = now / SPIN % frames.len().max(1) as u64;
    frames.get(usize::try_from(at).unwrap_or_default()).copied().unwrap_or_default()
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
