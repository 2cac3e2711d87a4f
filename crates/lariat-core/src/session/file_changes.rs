//! Collects the files that a run changed, as its tools reported them.
//!
//! Reads the `details` of tool results: a file tool sets `path` and `change` (`added`, `modified`,
//! `deleted`), and `renamed_from` for a renamed file; a tool that changes several files lists such objects
//! under `files`. The built-in file tools do this, commands do while undo is on, and any other tool may.
//! Invariant: each path is listed once, with the change over the whole run.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::AgentEvent;

/// A file that a run changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FileChange {
    /// Its path, as the tool reported it.
    pub path: String,
    /// How it changed over the whole run.
    pub change: ChangeKind,
}

/// How a file changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ChangeKind {
    /// It did not exist before.
    Added,
    /// Its content changed.
    Modified,
    /// It no longer exists.
    Deleted,
}

/// The changes so far, in the order in which files were first changed.
#[derive(Debug, Default)]
pub struct FileChanges(Vec<FileChange>);

impl FileChanges {
    /// Adds the changes that an event reports.
    pub fn observe(&mut self, event: &AgentEvent) {
        let AgentEvent::ToolExecutionEnd { details, is_error: false, .. } = event else { return };
        match details.get("files").and_then(Value::as_array) {
            Some(files) => files.iter().for_each(|file| self.add(file)),
            None => self.add(details),
        }
    }

    fn add(&mut self, details: &Value) {
        let Some(path) = details.get("path").and_then(Value::as_str) else { return };
        if let Some(from) = details.get("renamed_from").and_then(Value::as_str) {
            self.record_change(from, ChangeKind::Deleted);
            self.record_change(path, ChangeKind::Added);
        }
        let change = details.get("change").and_then(|change| ChangeKind::deserialize(change).ok());
        if let Some(change) = change {
            self.record_change(path, change);
        }
    }

    fn record_change(&mut self, path: &str, change: ChangeKind) {
        use ChangeKind::{Added, Deleted, Modified};

        let Some(at) = self.0.iter().position(|existing| existing.path == path) else {
            self.0.push(FileChange { path: path.to_owned(), change });
            return;
        };
        let Some(existing) = self.0.get_mut(at) else { return };
        match (existing.change, change) {
            // No net change.
            (Added, Deleted) => drop(self.0.remove(at)),
            (Added, Added | Modified) => {}
            (Modified | Deleted, Added | Modified) => existing.change = Modified,
            (Modified | Deleted, Deleted) => existing.change = Deleted,
        }
    }

    /// Returns the changed files.
    pub fn into_files(self) -> Vec<FileChange> {
        self.0
    }
}

#[cfg(test)]
#[path = "file_changes_tests.rs"]
mod tests;
