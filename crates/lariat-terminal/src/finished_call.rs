//! Shows a finished tool call: what it was, how it ended, what it changed, and the end of its output if it failed.
//!
//! A nonzero exit code, a signal, a timeout, an interrupt and a denial are failures; only success gets a tick.

use std::time::Duration;

use crate::theme::{Style, Theme};
use crate::{approval, diff, human, text};
use lariat_core::opening::{BlockedAction, SandboxOpening};
use serde_json::Value;

use crate::activity::{self, CallOutcome};

/// Maximum lines of a diff, by verbosity.
const DIFF_LINES: usize = 12;
const VERBOSE_DIFF_LINES: usize = 80;
/// Lines to show from the end of a failed command's output.
const FAILED_LINES: usize = 8;
/// Maximum lines of output with `--verbose`: more than any result sent to a model has.
const OUTPUT_LINES: usize = 2_000;
/// Maximum number of sandbox denials to list.
const BLOCKED: usize = 3;
/// Maximum number of tasks to list.
const TASKS: usize = 30;

/// How much to show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verbosity {
    /// One line, the start of a diff, and the end of a failed command's output.
    #[default]
    Normal,
    /// Also the output, and more of a diff.
    Verbose,
    /// Everything: all arguments, the whole diff or output, and no line is cut.
    Complete,
}

/// A tool call that ended.
#[derive(Clone, Copy, Debug)]
pub struct FinishedCall<'a> {
    /// The name of the tool.
    pub tool: &'a str,
    /// Its arguments, if known.
    pub arguments: Option<&'a Value>,
    /// The result that the model received.
    pub output: &'a str,
    /// The tool's structured details.
    pub details: &'a Value,
    /// Whether it failed, was denied or was interrupted.
    pub is_error: bool,
    /// Its run time; `None` if it did not run.
    pub took: Option<Duration>,
}

impl FinishedCall<'_> {
    /// The lines, each with its line ending.
    pub fn lines(&self, verbosity: Verbosity, theme: &Theme) -> String {
        let diffs = diffs(self.details);
        let failure = self.failure();
        let note = if failure.is_none() { self.note(&diffs) } else { String::new() };
        let ended = failure.clone().map_or(CallOutcome::Done, CallOutcome::Failed);
        let mut shown = activity::finished_line(self.tool, self.arguments, &ended, self.took, &note, theme);
        shown.push('\n');
        let blocked = BlockedAction::of_details(self.details);
        for blocked in blocked.iter().take(BLOCKED) {
            let remedy = match &blocked.opening {
                Some(SandboxOpening::Network) => " (`--network` allows it)",
                _ => "",
            };
            let line = format!("  the sandbox blocked {}{remedy}", text::line(&blocked.what));
            shown.push_str(&theme.paint(Style::Warning, &text::cut(&line, theme.width, theme)));
            shown.push('\n');
        }
        if blocked.len() > BLOCKED {
            shown.push_str(&dim(&format!("and {} more", blocked.len() - BLOCKED), theme));
        }
        for changed in &diffs {
            shown.push_str(&match verbosity {
                Verbosity::Normal => diff::unified(changed, DIFF_LINES, theme),
                Verbosity::Verbose => diff::unified(changed, VERBOSE_DIFF_LINES, theme),
                Verbosity::Complete => diff::exact(changed, usize::MAX, theme),
            });
        }
        if verbosity == Verbosity::Complete && diffs.is_empty() {
            shown.push_str(&self.everything(theme));
        } else if verbosity == Verbosity::Verbose && diffs.is_empty() {
            shown.push_str(&output(self.output, OUTPUT_LINES, theme));
        } else if failure.is_some() && self.is_command() {
            shown.push_str(&tail(self.output, FAILED_LINES, theme));
        }
        shown
    }

    /// All arguments and the whole output.
    fn everything(&self, theme: &Theme) -> String {
        let mut shown = match self.arguments {
            Some(Value::Object(fields)) if !fields.is_empty() => approval::exact_arguments(fields, theme),
            _ => String::new(),
        };
        let room = theme.width.saturating_sub(2);
        for line in text::lines(self.output.trim_end()).flat_map(|line| text::wrap(&line, room)) {
            shown.push_str(&dim(&line, theme));
        }
        shown
    }

    /// Why it failed, or `None` if it succeeded.
    fn failure(&self) -> Option<String> {
        if self.took.is_none() {
            return self.is_error.then(|| refusal(self.output));
        }
        let ended = self.details.get("end").and_then(Value::as_str).unwrap_or_default();
        let code = self.details.get("exit_code").and_then(Value::as_i64).filter(|code| *code != 0);
        let signal = self.details.get("signal").and_then(Value::as_i64);
        match (ended, code, signal) {
            ("cancelled", ..) => Some("interrupted".to_owned()),
            ("timed_out", ..) => Some("timed out".to_owned()),
            ("stopped", ..) => None,
            (_, Some(code), _) => Some(format!("exit {code}")),
            (_, _, Some(signal)) => Some(format!("killed by signal {signal}")),
            _ => self.is_error.then(|| self.output.to_owned()),
        }
    }

    /// Whether it ran a command, whose output explains a failure.
    fn is_command(&self) -> bool {
        self.details.get("output_bytes").is_some()
    }

    /// A remark about a success: changed lines, or completed tasks.
    fn note(&self, diffs: &[String]) -> String {
        if !diffs.is_empty() {
            let counts = diffs.iter().map(|diff| diff::changed_lines(diff));
            let (added, removed) = counts.fold((0, 0), |sum, diff| (sum.0 + diff.0, sum.1 + diff.1));
            return format!("+{added} -{removed}");
        }
        let count = |name: &str| self.details.get(name).and_then(Value::as_u64);
        match (count("completed"), count("total")) {
            (Some(done), Some(total)) => format!("{done} of {total} done"),
            _ => String::new(),
        }
    }
}

/// The task list in a result, as lines; `None` if there is none.
pub fn tasks(details: &Value, theme: &Theme) -> Option<String> {
    let items = details.get("items")?.as_array()?;
    let mut shown = String::new();
    for item in items.iter().take(TASKS) {
        shown.push_str(&task(item.get("content")?.as_str()?, item.get("status")?.as_str()?, theme));
        shown.push('\n');
    }
    if items.len() > TASKS {
        shown.push_str(&more(items.len() - TASKS, theme));
    }
    Some(shown)
}

/// A task with the mark of its status, in one line.
pub fn task(content: &str, status: &str, theme: &Theme) -> String {
    let (style, mark) = match status {
        "completed" => (Style::Dim, theme.mark("☑", "[x]")),
        "in_progress" => (Style::Strong, theme.mark("▶", "[>]")),
        _ => (Style::Plain, theme.mark("☐", "[ ]")),
    };
    let line = format!("  {mark} {}", text::line(content.trim()));
    theme.paint(style, &text::cut(&line, theme.width, theme))
}

/// Why a tool call did not run: the first reason in its result, in one line.
fn refusal(result: &str) -> String {
    let rest = result.trim().strip_prefix("Denied:");
    let mut lines = rest.unwrap_or(result).lines().map(|line| line.trim().trim_start_matches("- "));
    let reason = lines.find(|line| !matches!(*line, "" | "Denied:" | "Asked:")).unwrap_or_default();
    let reason = reason.strip_prefix("Denied: ").unwrap_or(reason);
    if rest.is_some() { format!("denied: {reason}") } else { reason.to_owned() }
}

/// The last lines of a command's output, without the remarks that the tool added.
fn tail(output: &str, most: usize, theme: &Theme) -> String {
    let is_ours = |line: &str| line.starts_with('[') && line.ends_with(".]");
    let mut lines: Vec<&str> = output.trim_end().lines().collect();
    while lines.last().is_some_and(|line| is_ours(line)) {
        lines.pop();
    }
    let skipped = lines.len().saturating_sub(most);
    let mut shown = String::new();
    if skipped > 0 {
        let words = human::counted(skipped, "earlier line", "earlier lines");
        shown = dim(&format!("{} {words}", theme.mark("…", "...")), theme);
    }
    lines.iter().skip(skipped).for_each(|line| shown.push_str(&dim(&text::line(line), theme)));
    shown
}

/// The first lines of the output.
fn output(output: &str, most: usize, theme: &Theme) -> String {
    let lines: Vec<String> = text::lines(output.trim_end()).collect();
    let mut shown: String = lines.iter().take(most).map(|line| dim(line, theme)).collect();
    if lines.len() > most {
        shown.push_str(&more(lines.len() - most, theme));
    }
    shown
}

fn more(count: usize, theme: &Theme) -> String {
    dim(&format!("{} {}", theme.mark("…", "..."), human::counted(count, "more line", "more lines")), theme)
}

/// A dimmed, indented line, cut to the width. The caller neutralises it.
pub fn dim(line: &str, theme: &Theme) -> String {
    format!("{}\n", theme.paint(Style::Dim, &text::cut(&format!("  {line}"), theme.width, theme)))
}

/// The diffs in a tool's details.
fn diffs(details: &Value) -> Vec<String> {
    let of = |value: &Value| value.get("diff").and_then(Value::as_str).map(str::to_owned);
    let files = details.get("files").and_then(Value::as_array);
    let all: Vec<String> =
        of(details).into_iter().chain(files.into_iter().flatten().filter_map(of)).collect();
    all.into_iter().filter(|diff| !diff.is_empty()).collect()
}

#[cfg(test)]
#[path = "finished_call_tests.rs"]
mod tests;
