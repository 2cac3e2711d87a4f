//! Restores and compares the files of a hosted session.
//!
//! The work blocks, so it runs on a separate thread.

use std::collections::HashSet;
use std::path::PathBuf;

use lariat_api::{FileChange, FileDiff, Problem, ProblemCode};
use lariat_core::BoxFuture;
use lariat_core::event::FileRestoreResult;
use lariat_host::undo::{Conflicts, UndoError};
use lariat_sessions::FileHistory;
use lariat_tools::unified_diff;

use crate::file_history::{ChangedFile, FileContent, OpenUndoStores, UndoStores, path_text, reason_text};
use crate::{ServiceError, UserDirectories};

/// What undo recorded in the directory of a session.
#[derive(Clone)]
pub(crate) struct DirectoryHistory {
    pub(crate) folders: UserDirectories,
    pub(crate) directory: PathBuf,
    pub(crate) open: OpenUndoStores,
}

impl DirectoryHistory {
    async fn with_stores<T: Send + 'static>(
        &self,
        act: impl FnOnce(UndoStores) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let this = self.clone();
        let task = tokio::task::spawn_blocking(move || {
            let stores = UndoStores::open_shared(&this.folders, &this.directory, &this.open);
            act(stores.map_err(|error| problem(&error))?)
        });
        let lost = |_| Problem::new(ProblemCode::Internal, "the work on the files stopped unexpectedly");
        task.await.map_err(lost)?
    }
}

impl FileHistory for DirectoryHistory {
    fn diff(&self, calls: HashSet<String>) -> BoxFuture<'_, Result<Vec<FileDiff>, Problem>> {
        Box::pin(
            self.with_stores(move |stores| {
                Ok(stores.changed_files(&calls).into_iter().map(file_diff).collect())
            }),
        )
    }

    fn plan(&self, calls: HashSet<String>) -> BoxFuture<'_, Result<Vec<String>, Problem>> {
        Box::pin(self.with_stores(move |stores| {
            if stores.has_running_call() {
                return Err(in_use());
            }
            let previews = stores.previews(&calls).map_err(|error| undo_problem(&error))?;
            Ok(previews.into_iter().flat_map(|preview| preview.undone).collect())
        }))
    }

    fn restore(&self, calls: HashSet<String>) -> BoxFuture<'_, Result<FileRestoreResult, Problem>> {
        Box::pin(self.with_stores(move |stores| restore(&stores, &calls)))
    }
}

/// Undoes exactly these tool calls. Restores of an interrupted attempt may follow them, and nothing else.
fn restore(stores: &UndoStores, calls: &HashSet<String>) -> Result<FileRestoreResult, Problem> {
    if stores.has_running_call() {
        return Err(in_use());
    }
    let previews = stores.previews(calls).map_err(|error| undo_problem(&error))?;
    if previews.iter().any(|preview| preview.others > 0) {
        return Err(Problem::new(
            ProblemCode::WrongStatus,
            "the agent has changed files here since; nothing was restored",
        ));
    }
    let mut result = FileRestoreResult::default();
    for preview in &previews {
        if preview.preview.items.is_empty() && preview.preview.not_restorable.is_empty() {
            continue;
        }
        let done = preview.undo.rewind(&preview.preview, Conflicts::Keep);
        let done = done.map_err(|error| undo_problem(&error))?;
        result.restored.extend(done.restored.iter().map(path_text));
        let kept = done.kept.iter().map(|(path, reason)| (path_text(path), reason_text(*reason).to_owned()));
        result.kept.extend(kept);
        result.not_restorable.extend(done.not_restorable.iter().map(path_text));
        if !done.restored.is_empty() {
            result.undo.push(done.id);
        }
    }
    Ok(result)
}

fn file_diff(file: ChangedFile) -> FileDiff {
    let change = match (&file.before, &file.after) {
        (None, _) => FileChange::Added,
        (_, None) => FileChange::Deleted,
        _ => FileChange::Modified,
    };
    let text = |side: &Option<FileContent>| match side {
        None => Some(String::new()),
        Some(FileContent::Text(text)) => Some(text.clone()),
        Some(FileContent::Other) => None,
    };
    let diff = match (text(&file.before), text(&file.after)) {
        (Some(before), Some(after)) => Some(unified_diff(&file.path, &before, &after)),
        _ => None,
    };
    let mut result = FileDiff::new(file.path, change);
    result.diff = diff;
    result
}

fn in_use() -> Problem {
    Problem::new(ProblemCode::WrongStatus, "another session changes files here now")
        .with_hint("wait for the end of its tool call, or interrupt it")
}

fn undo_problem(error: &UndoError) -> Problem {
    let code = if error.is_retryable() { ProblemCode::Unavailable } else { ProblemCode::Internal };
    let problem = Problem::new(code, error.to_string());
    match error {
        UndoError::Busy(_) => {
            problem.with_hint("a session works here in another process; wait until it ends")
        }
        _ => problem,
    }
}

fn problem(error: &ServiceError) -> Problem {
    match error {
        ServiceError::Undo(error) => undo_problem(error),
        error => Problem::new(ProblemCode::Invalid, error.to_string()),
    }
}
