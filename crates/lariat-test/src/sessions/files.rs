//! The files of the suite, and what its user's own commands do: every tool call and every command adds a file, and a
//! restore removes files again.
//!
//! Files survive crashes of the host. Invariant: nothing that happened is forgotten, so the suite notices a tool call or
//! a command that ran twice.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::model::ModelScript;

/// The files of the suite. Clones share them.
#[derive(Clone)]
pub struct ScriptedFiles {
    model: ModelScript,
    changes: Arc<Mutex<Vec<RecordedChange>>>,
}

/// A file that a tool call or a command of the user added.
#[derive(Clone, Debug)]
pub(super) struct RecordedChange {
    /// The id under which undo records it.
    pub(super) id: String,
    pub(super) mark: String,
    pub(super) is_undone: bool,
}

impl RecordedChange {
    /// Whether one of these ids is that of the change. The ids of tool calls may have their loops, after an `@`.
    fn is_one_of(&self, change_ids: &HashSet<String>) -> bool {
        change_ids.iter().any(|id| id.split_once('@').map_or(id.as_str(), |(call, _)| call) == self.id)
    }
}

impl ScriptedFiles {
    /// Creates a place without files. The gates of this model hold commands and restores back.
    pub fn new(model: &ModelScript) -> Self {
        Self { model: model.clone(), changes: Arc::default() }
    }

    /// Adds a file. The tool does it at the start of a call, with the id of the call and its mark; the shell does it at the
    /// start of a command, with the command line as the mark.
    pub fn add(&self, change_id: &str, mark: &str) {
        let (id, mark) = (change_id.to_owned(), mark.to_owned());
        self.lock().push(RecordedChange { id, mark, is_undone: false });
    }

    /// Returns what a command of the user prints, after the script opened the gate with its name.
    pub async fn output(&self, command: &str) -> String {
        self.model.pass(command).await;
        let (run, name) = command.split_once('-').unwrap_or((command, ""));
        format!("[{run}/{name}] is done\n")
    }

    /// Returns which of these changes can be undone.
    pub fn plan(&self, change_ids: &HashSet<String>) -> Vec<String> {
        let changes = self.lock();
        let open = changes.iter().filter(|change| change.is_one_of(change_ids) && !change.is_undone);
        open.map(|change| change.id.clone()).collect()
    }

    /// Undoes changes, after the script opened the gate `undo`. Undone again, they stay undone. Returns the marks.
    pub async fn undo(&self, change_ids: &HashSet<String>) -> Vec<String> {
        let is_meant = |change: &RecordedChange| change.is_one_of(change_ids);
        let first = self.lock().iter().find(|change| is_meant(change)).map(|change| change.mark.clone());
        let Some(first) = first else { return Vec::new() };
        let run = first.split('-').next().unwrap_or_default();
        self.model.pass(&format!("{run}-undo")).await;
        let mut changes = self.lock();
        let meant = changes.iter_mut().filter(|change| is_meant(change));
        meant
            .map(|change| {
                change.is_undone = true;
                change.mark.clone()
            })
            .collect()
    }

    /// The marks of all calls and commands, in order, over all crashes.
    pub(super) fn marks(&self) -> Vec<String> {
        self.lock().iter().map(|change| change.mark.clone()).collect()
    }

    pub(super) fn changes(&self) -> Vec<RecordedChange> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<RecordedChange>> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
