//! The files that a run changed, as its tools told.
//!
//! Owns the reading of a tool result's `details`: a file tool says `path` and `change` (`added`, `modified`, `deleted`),
//! and `renamed_from` for a file that got another name; a tool that changes several lists such objects under `files`.
//! That holds for the built-in file tools, for commands while undo is on, and for every tool that says the same.
//! Invariant: each path stands once, with what became of it over the whole run.

use lariat_core::event::AgentEvent;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A file that a run changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FileChange {
    /// Where it is, as the tool named it.
    pub path: String,
    /// What became of it.
    pub change: ChangeKind,
}

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ChangeKind {
    /// It was not there before.
    Added,
    /// It has another content.
    Modified,
    /// It is not there any more.
    Deleted,
}

/// The changes so far, in the order in which files were first touched.
#[derive(Debug, Default)]
pub(crate) struct Changes(Vec<FileChange>);

impl Changes {
    /// Takes in what a tool told.
    pub(crate) fn see(&mut self, event: &AgentEvent) {
        let AgentEvent::ToolExecutionEnd { details, is_error: false, .. } = event else { return };
        match details.get("files").and_then(Value::as_array) {
            Some(files) => files.iter().for_each(|file| self.take(file)),
            None => self.take(details),
        }
    }

    fn take(&mut self, told: &Value) {
        let Some(path) = told.get("path").and_then(Value::as_str) else { return };
        if let Some(from) = told.get("renamed_from").and_then(Value::as_str) {
            self.put(from, ChangeKind::Deleted);
            self.put(path, ChangeKind::Added);
        }
        let change = told.get("change").and_then(|change| ChangeKind::deserialize(change).ok());
        if let Some(change) = change {
            self.put(path, change);
        }
    }

    fn put(&mut self, path: &str, change: ChangeKind) {
        use ChangeKind::{Added, Deleted, Modified};

        let Some(at) = self.0.iter().position(|known| known.path == path) else {
            self.0.push(FileChange { path: path.to_owned(), change });
            return;
        };
        let Some(known) = self.0.get_mut(at) else { return };
        match (known.change, change) {
            // As if nothing had been.
            (Added, Deleted) => drop(self.0.remove(at)),
            (Added, Added | Modified) => {}
            (Modified | Deleted, Added | Modified) => known.change = Modified,
            (Modified | Deleted, Deleted) => known.change = Deleted,
        }
    }

    /// What changed.
    pub(crate) fn into_files(self) -> Vec<FileChange> {
        self.0
    }
}

#[cfg(test)]
#[path = "changes_tests.rs"]
mod tests;
