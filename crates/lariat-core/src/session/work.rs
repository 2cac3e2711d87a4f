//! Records the work of a session: files with their last state, commands with their outcome, open tasks.
//!
//! Computed from the journal, so that a model still knows its work after the turns left its window, and does
//! not repeat it. Recognises tools by their arguments and details (`path`, `files`, `command`, `exit_code`,
//! `items`), not by name. The size is limited: the oldest entries are removed first, and the log counts them.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::content::ToolCall;
use crate::event::Task;
use crate::id::MessageId;

/// Maximum number of files.
const MOST_FILES: usize = 200;
/// Maximum number of commands.
const MOST_COMMANDS: usize = 100;
/// Maximum bytes of a command or an outcome.
const MOST_BYTES: usize = 200;

/// Files, commands and tasks of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkLog {
    files: VecDeque<TouchedFile>,
    commands: VecDeque<CommandRun>,
    tasks: Vec<Task>,
    /// Number of removed files and commands.
    #[serde(rename = "forgotten")]
    removed: (u64, u64),
}

/// A file that a tool call read or changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TouchedFile {
    /// Path as the tool call gave it.
    pub path: String,
    /// The last operation on the file. Reading does not replace an earlier change.
    pub state: FileState,
    /// Id of the tool result.
    pub message: MessageId,
}

/// An operation on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FileState {
    /// The file was read.
    Read,
    /// A part of the file was changed.
    Edited,
    /// The whole file was written.
    Written,
    /// The file was deleted.
    Deleted,
}

/// A command that was run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CommandRun {
    /// The command, truncated if long.
    pub command: String,
    /// Description of the outcome.
    pub outcome: String,
    /// Id of the tool result.
    pub message: MessageId,
}

/// A finished tool call.
pub(crate) struct FinishedCall<'a> {
    pub(crate) call: &'a ToolCall,
    /// The arguments that the call ran with.
    pub(crate) arguments: &'a Value,
    pub(crate) details: &'a Value,
    pub(crate) is_error: bool,
    pub(crate) text: &'a str,
    pub(crate) message: MessageId,
}

impl WorkLog {
    /// Returns the files, least recently touched first.
    pub fn files(&self) -> impl Iterator<Item = &TouchedFile> {
        self.files.iter()
    }

    /// Returns the commands, least recently run first.
    pub fn commands(&self) -> impl Iterator<Item = &CommandRun> {
        self.commands.iter()
    }

    /// Returns the tasks that are not completed, in order.
    pub fn open_tasks(&self) -> impl Iterator<Item = &Task> {
        self.tasks.iter().filter(|task| !task.is_completed())
    }

    /// Returns the newest task list, with completed tasks.
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// Returns whether a finished call can change the task list.
    pub(crate) fn is_task_list(call: &ToolCall) -> bool {
        call.arguments.get("items").is_some()
    }

    /// Returns true if the log is empty.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.commands.is_empty() && self.tasks.is_empty()
    }

    /// Returns whether the log records such a tool call.
    pub(crate) fn records(call: &ToolCall) -> bool {
        let has = |name: &str| call.arguments.get(name).is_some();
        has("command") || has("path") || has("patch") || has("items")
    }

    pub(crate) fn record(&mut self, finished: &FinishedCall<'_>) {
        let argument = |name: &str| finished.arguments.get(name).and_then(Value::as_str);
        let detail = |name: &str| finished.details.get(name);
        if let Some(command) = argument("command") {
            self.record_command(command, finished);
        } else if finished.is_error {
            // A failed call changed no file, and its reason is not recorded here.
        } else if let Some(items) = finished.arguments.get("items").and_then(Value::as_array) {
            if let Some(tasks) = items.iter().map(task).collect() {
                self.tasks = tasks;
            }
        } else if let Some(files) = detail("files").and_then(Value::as_array) {
            let paths = files.iter().filter_map(|file| file.get("path")?.as_str());
            for path in paths {
                self.touch(path, patch_operation(path, finished.text), finished.message);
            }
            let moved = files.iter().filter_map(|file| file.get("renamed_from")?.as_str());
            moved.for_each(|path| self.touch(path, FileState::Deleted, finished.message));
        } else if let Some(path) = argument("path") {
            let name = finished.call.name.as_str();
            let state = match () {
                () if name.contains("edit") => FileState::Edited,
                () if name.contains("write") => FileState::Written,
                () if name.contains("delete") || name.contains("remove") => FileState::Deleted,
                () if detail("diff").is_some() => FileState::Edited,
                () if name.contains("read") => FileState::Read,
                // A directory that was listed or searched.
                () => return,
            };
            self.touch(path, state, finished.message);
        }
    }

    fn touch(&mut self, path: &str, state: FileState, message: MessageId) {
        let known = self.files.iter().position(|file| file.path == path);
        if let Some(at) = known {
            let changed = self.files.get(at).is_some_and(|file| file.state != FileState::Read);
            if state == FileState::Read && changed {
                return;
            }
            self.files.remove(at);
        }
        self.files.push_back(TouchedFile { path: path.to_owned(), state, message });
        if self.files.len() > MOST_FILES {
            // Drop files that were only read first: nothing else records them, but the model can read them
            // again.
            let oldest = self.files.iter().position(|file| file.state == FileState::Read).unwrap_or_default();
            self.files.remove(oldest);
            self.removed.0 += 1;
        }
    }

    fn record_command(&mut self, command: &str, finished: &FinishedCall<'_>) {
        let detail = |name: &str| finished.details.get(name);
        let outcome = match detail("exit_code").and_then(Value::as_i64) {
            Some(code) => format!("exit code {code}"),
            None => match detail("signal").filter(|signal| !signal.is_null()) {
                Some(signal) => format!("ended by signal {signal}"),
                None if finished.is_error => "failed".to_owned(),
                None if detail("id").is_some() => "runs in the background".to_owned(),
                None => "done".to_owned(),
            },
        };
        let failed =
            finished.is_error || detail("exit_code").and_then(Value::as_i64).is_some_and(|code| code != 0);
        let first_line = finished.text.lines().map(str::trim).find(|line| !line.is_empty());
        let outcome = match first_line.filter(|_| failed) {
            Some(first_line) => format!("{outcome}: {}", truncate(first_line)),
            None => outcome,
        };
        let command = truncate(command);
        self.commands.retain(|known| known.command != command);
        self.commands.push_back(CommandRun { command, outcome, message: finished.message });
        if self.commands.len() > MOST_COMMANDS {
            self.commands.pop_front();
            self.removed.1 += 1;
        }
    }

    /// Renders the log for the model: the newest entries that fit, and all open tasks.
    pub fn render(&self, most_bytes: usize) -> String {
        let mut text = String::new();
        if self.open_tasks().next().is_some() {
            text.push_str("Open tasks:\n");
            self.open_tasks()
                .for_each(|task| text.push_str(&format!("- [{}] {}\n", task.status, task.content)));
        }
        let state = |state: FileState| match state {
            FileState::Read => "read",
            FileState::Edited => "edited",
            FileState::Written => "written",
            FileState::Deleted => "deleted",
        };
        let files = self.files.iter().rev();
        let files =
            files.map(|file| format!("- {} {} ({})\n", state(file.state), file.path, file.message.short()));
        push_newest(
            &mut text,
            "Files touched so far, with the last operation:",
            files,
            self.removed.0,
            most_bytes,
        );
        let commands = self.commands.iter().rev();
        let commands = commands.map(|run| {
            format!("- `{}`: {} ({})\n", one_line(&run.command), run.outcome, run.message.short())
        });
        push_newest(
            &mut text,
            "Commands run so far; do not repeat them without need:",
            commands,
            self.removed.1,
            most_bytes,
        );
        text
    }
}

/// Writes lines that come newest first in reverse order, as many as fit.
fn push_newest(
    text: &mut String,
    title: &str,
    newest: impl Iterator<Item = String>,
    removed: u64,
    most_bytes: usize,
) {
    let (mut lines, mut bytes, mut more) = (Vec::new(), 0, removed);
    for line in newest {
        bytes += line.len();
        if bytes > most_bytes {
            more += 1;
        } else {
            lines.push(line);
        }
    }
    if lines.is_empty() && more == 0 {
        return;
    }
    text.push_str(&format!("{title}\n"));
    if more > 0 {
        text.push_str(&format!("- (and {more} earlier ones)\n"));
    }
    lines.iter().rev().for_each(|line| text.push_str(line));
}

/// Returns what a patch did to a file, from the line of the result that names it: `A`, `M` or `D` and the
/// path.
fn patch_operation(path: &str, text: &str) -> FileState {
    let letter = text.lines().find_map(|line| {
        let (letter, rest) = line.split_once(' ')?;
        rest.starts_with(path).then_some(letter)
    });
    match letter {
        Some("A") => FileState::Written,
        Some("D") => FileState::Deleted,
        _ => FileState::Edited,
    }
}

fn task(item: &Value) -> Option<Task> {
    let word = |name: &str| item.get(name).and_then(Value::as_str).map(str::to_owned);
    Some(Task::new(word("content")?, word("status")?))
}

fn truncate(text: &str) -> String {
    let end = text.floor_char_boundary(MOST_BYTES);
    let kept = text.get(..end).unwrap_or(text);
    if end < text.len() { format!("{kept}…") } else { kept.to_owned() }
}

fn one_line(text: &str) -> String {
    text.replace('\n', "; ")
}

#[cfg(test)]
#[path = "work_tests.rs"]
mod tests;
