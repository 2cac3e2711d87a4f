//! Shows a tool call in one line, while it runs and after it ended.
//!
//! Picks the most informative argument of each tool. All input is untrusted: names come from servers, arguments from models,
//! errors from programs.

use std::time::Duration;

use crate::theme::{Style, Theme};
use crate::{human, text};
use serde_json::Value;

/// The most informative argument of each tool.
const MAIN_ARGUMENTS: &[(&str, &str)] = &[
    ("bash", "command"),
    ("bash_output", "id"),
    ("bash_input", "text"),
    ("bash_stop", "id"),
    ("read_file", "path"),
    ("write_file", "path"),
    ("edit_file", "path"),
    ("multi_edit", "path"),
    ("list_files", "path"),
    ("repo_map", "path"),
    ("search", "pattern"),
    ("glob", "pattern"),
    ("fetch", "url"),
    ("ask_user", "question"),
    ("recall", "id"),
    ("learn", "text"),
    ("past_sessions", "query"),
];

/// Columns reserved for an error when the line is full.
const ERROR: usize = 24;

/// How a tool call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallOutcome {
    /// It succeeded.
    Done,
    /// The tool call failed with this message.
    Failed(String),
}

/// Describes a tool call in one line of any length.
pub fn about(tool: &str, arguments: Option<&Value>) -> String {
    let Some(arguments) = arguments else { return String::new() };
    let main_argument = MAIN_ARGUMENTS.iter().find(|(name, _)| *name == tool).map(|(_, argument)| *argument);
    match (main_argument, arguments) {
        (Some(argument), Value::Object(fields)) => match fields.get(argument) {
            Some(Value::String(words)) => one_line(words),
            Some(other) => one_line(&other.to_string()),
            None => String::new(),
        },
        (None, Value::Object(_)) if tool == "apply_patch" => {
            arguments.get("patch").and_then(Value::as_str).map(patched_files).unwrap_or_default()
        }
        (None, Value::Object(_)) if tool == "todo" => String::new(),
        (_, Value::Null) => String::new(),
        (_, Value::Object(fields)) if fields.is_empty() => String::new(),
        (_, other) => one_line(&other.to_string()),
    }
}

/// Shortens several lines to the first and a count of the rest.
fn one_line(words: &str) -> String {
    let mut lines = words.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = text::line(lines.next().unwrap_or_default());
    match lines.count() {
        0 => first,
        more => format!("{first} (+{})", human::counted(more, "line", "lines")),
    }
}

/// The files that a patch changes.
fn patched_files(patch: &str) -> String {
    let names = patch.lines().filter_map(|line| {
        ["*** Update File: ", "*** Add File: ", "*** Delete File: "]
            .iter()
            .find_map(|start| line.strip_prefix(start))
    });
    names.map(text::line).collect::<Vec<_>>().join(", ")
}

/// Shows a running tool call: `● bash  cargo test`.
pub fn running_line(tool: &str, arguments: Option<&Value>, theme: &Theme) -> String {
    let pieces = [
        (Style::Warning, format!("{} ", theme.mark("●", "*"))),
        (Style::Strong, text::line(tool)),
        (Style::Plain, spaced(&about(tool, arguments))),
    ];
    text::paint_pieces(&pieces, theme.width, theme)
}

/// Shows a finished tool call: `✓ bash  cargo test  1.2s`, or `✗ bash  cargo test  1.2s  error: no such command`. `took` is
/// its run time, if it ran; `note` is a remark about the result.
pub fn finished_line(
    tool: &str,
    arguments: Option<&Value>,
    ended: &CallOutcome,
    took: Option<Duration>,
    note: &str,
    theme: &Theme,
) -> String {
    let (style, mark, error) = match ended {
        CallOutcome::Done => (Style::Good, theme.mark("✓", "+"), String::new()),
        CallOutcome::Failed(error) => (Style::Bad, theme.mark("✗", "x"), text::first_line(error)),
    };
    let tool = text::line(tool);
    let mut tail = took.map(|took| spaced(&human::duration(took))).unwrap_or_default();
    tail.push_str(&spaced(&text::line(note)));
    // Tool, duration and error must stay visible, so the arguments are shortened first.
    let used = 2 + text::width(&tool) + text::width(&tail);
    let room = theme.width.saturating_sub(used);
    let kept = text::width(&spaced(&error)).min(ERROR);
    let about = spaced(&about(&tool, arguments));
    let about = text::cut(&about, room.saturating_sub(kept), theme).into_owned();
    let pieces = [
        (style, format!("{mark} ")),
        (Style::Strong, tool),
        (Style::Plain, about),
        (Style::Dim, tail),
        (Style::Bad, spaced(&error)),
    ];
    text::paint_pieces(&pieces, theme.width, theme)
}

fn spaced(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!("  {words}") }
}

#[cfg(test)]
#[path = "activity_tests.rs"]
mod tests;
