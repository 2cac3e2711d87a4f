//! Reads what undo recorded in a directory: which tool calls changed files, their diffs, and how to restore a state.
//!
//! A directory has one undo store, and a further one for each session that worked in it while another process had the first.
//! Invariant: nothing here creates a store, and a restore keeps every file that something else than the agent has changed since.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use lariat_core::event::change_id_in_loop;
use lariat_host::files::Workspace;
use lariat_host::undo::{ChangeAuthor, Conflicts, RecordedKind, RelativePath, UndoLimits, WeakUndo};
pub use lariat_host::undo::{Item, Preview, Reason, RewindResult, Undo, UndoError};
use serde::Serialize;

use crate::{ServiceError, UserDirectories};

/// Start of the ids that undo gives to its own restores.
const RESTORE: &str = "rewind-";
/// Maximum size of a file whose content is compared, in bytes.
const COMPARED: usize = 1 << 20;

/// The undo stores that the sessions of this process have open. A store can be opened only once, so others must share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpenUndoStores(Arc<Mutex<HashMap<PathBuf, WeakUndo>>>);

impl OpenUndoStores {
    /// Opens a store for a session.
    pub(crate) fn open(&self, workspace: &Workspace, folder: &Path) -> Result<Undo, UndoError> {
        let undo = Undo::open(workspace, folder, UndoLimits::default())?;
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, undo| undo.upgrade().is_some());
        open.insert(folder.to_owned(), undo.downgrade());
        Ok(undo)
    }

    fn find(&self, folder: &Path) -> Option<Undo> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(folder)?.upgrade()
    }
}

/// The undo stores of a directory.
#[derive(Clone, Debug)]
pub struct UndoStores(Vec<Undo>);

/// A tool call that changed files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ChangedCall {
    /// The id of the tool call, with its loop if another loop has used the same id.
    pub call: String,
    /// The loop of the tool call; `None` if it is not known.
    #[serde(skip)]
    pub loop_id: Option<String>,
    /// The files, relative to the directory.
    pub paths: Vec<String>,
}

impl ChangedCall {
    /// Returns the id by which a journal names the change: see [`EventRecord::change_id`](lariat_core::event::EventRecord::change_id).
    pub fn change_id(&self) -> String {
        change_id(&self.call, self.loop_id.as_deref())
    }

    /// Returns whether it is one of these changes, as a journal names them. Of a call that an older version recorded, only the id is
    /// known.
    pub fn is_one_of(&self, changes: &HashSet<String>) -> bool {
        is_one_of(&self.call, self.loop_id.as_deref(), changes)
    }
}

fn is_one_of(call: &str, loop_id: Option<&str>, changes: &HashSet<String>) -> bool {
    if changes.contains(&change_id(call, loop_id)) || changes.contains(call) {
        return true;
    }
    let is_same_call = |change: &String| change.split_once('@').is_some_and(|(id, _)| id == call);
    loop_id.is_none() && changes.iter().any(is_same_call)
}

/// Returns the id by which a journal names a change that undo recorded under this id.
fn change_id(call: &str, loop_id: Option<&str>) -> String {
    match loop_id {
        Some(loop_id) if !call.ends_with(&format!("@{loop_id}")) => change_id_in_loop(call, loop_id),
        _ => call.to_owned(),
    }
}

/// What a restore would do to the files of one undo store.
#[derive(Debug)]
#[non_exhaustive]
pub struct RestorePreview<'a> {
    /// The store.
    pub undo: &'a Undo,
    /// What would change.
    pub preview: Preview,
    /// The changes that it undoes, oldest first, as journals name them.
    pub undone: Vec<String>,
    /// How many of them belong to other sessions.
    pub others: usize,
}

/// The content of a file before and after tool calls. A side is `None` where the file did not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChangedFile {
    /// The path, relative to the directory.
    pub path: String,
    /// What it was.
    pub before: Option<FileContent>,
    /// What it became.
    pub after: Option<FileContent>,
}

/// The content of a file, as far as undo has it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileContent {
    /// Text.
    Text(String),
    /// A binary file, a link or a directory, or content that is not stored any more.
    Other,
}

impl UndoStores {
    /// Opens the undo stores of a directory. Creates none.
    ///
    /// # Errors
    /// If the directory cannot be opened, or another process uses a store.
    pub fn open(folders: &UserDirectories, directory: &Path) -> Result<Self, ServiceError> {
        Self::open_shared(folders, directory, &OpenUndoStores::default())
    }

    /// Like [`UndoStores::open`], with the stores that this process has open.
    pub(crate) fn open_shared(
        folders: &UserDirectories,
        directory: &Path,
        open: &OpenUndoStores,
    ) -> Result<Self, ServiceError> {
        let workspace = Workspace::open(directory).map_err(|error| {
            ServiceError::directory(directory.to_owned(), std::io::Error::other(error.to_string()))
        })?;
        let main = folders.undo(workspace.path());
        let (Some(folder), Some(name)) = (main.parent(), main.file_name().and_then(|name| name.to_str()))
        else {
            return Ok(Self(Vec::new()));
        };
        let own = format!("{name}.");
        let mut names = names(folder);
        names.retain(|other| other == name || other.starts_with(&own));
        names.sort();
        let stores = names.iter().map(|name| {
            let folder = folder.join(name);
            open.find(&folder).map_or_else(|| Undo::open(&workspace, folder, UndoLimits::default()), Ok)
        });
        Ok(Self(stores.collect::<Result<_, UndoError>>()?))
    }

    /// The stores, the shared one of the directory first.
    pub fn stores(&self) -> &[Undo] {
        &self.0
    }

    /// Previews undoing the first of these changes and everything after it, for each store that has one of them.
    ///
    /// # Errors
    /// If a store cannot be read, or the directory cannot be scanned.
    pub fn previews(&self, calls: &HashSet<String>) -> Result<Vec<RestorePreview<'_>>, UndoError> {
        let mut previews = Vec::new();
        for undo in &self.0 {
            let later: Vec<RecordedCall> =
                recorded_calls(undo).skip_while(|call| !call.is_one_of(calls)).collect();
            let Some(first) = later.first() else { continue };
            let preview = undo.preview(&first.id)?;
            let is_other = |call: &&RecordedCall| !call.is_one_of(calls) && !call.id.starts_with(RESTORE);
            let others = later.iter().filter(is_other).count();
            let undone = later.iter().map(RecordedCall::change_id).collect();
            previews.push(RestorePreview { undo, preview, undone, others });
        }
        Ok(previews)
    }

    /// Returns whether a tool call that a store records is running in this process.
    pub(crate) fn has_running_call(&self) -> bool {
        self.0.iter().any(Undo::has_running_call)
    }

    /// Returns what these tool calls changed, as one change for each file, by path. Includes restores, so that a change that
    /// was undone does not appear.
    pub fn changed_files(&self, calls: &HashSet<String>) -> Vec<ChangedFile> {
        self.0.iter().flat_map(|undo| changed_files(undo, calls)).collect()
    }
}

/// The tool calls that changed files, oldest first.
pub fn changed_calls(undo: &Undo) -> Vec<ChangedCall> {
    recorded_calls(undo)
        .map(|RecordedCall { id: call, loop_id }| {
            let changes = undo.changes(&call).unwrap_or_default();
            let paths = changes.iter().map(|change| path_text(&change.path)).collect();
            ChangedCall { call, loop_id, paths }
        })
        .collect()
}

/// Restores what a preview showed. Files that something else than the agent has changed since stay as they are.
///
/// # Errors
/// If the store cannot be read or written, or a session uses it.
pub fn restore(undo: &Undo, preview: &Preview) -> Result<RewindResult, UndoError> {
    undo.rewind(preview, Conflicts::Keep)
}

/// The content of each file before and after a tool call, empty where it did not exist. Leaves out files whose content is not
/// stored any more, and files of more than 1 MiB.
pub fn contents(undo: &Undo, call: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
    let content = |state: &RecordedState| match state {
        Some((RecordedKind::File(Some(hash)), _)) => undo.content(hash),
        Some(_) => None,
        None => Some(Vec::new()),
    };
    let changes = undo.changes(call).unwrap_or_default().into_iter();
    let contents = changes.filter_map(|change| Some((content(&change.before)?, content(&change.after)?)));
    contents.filter(|(before, after)| before.len().max(after.len()) <= COMPARED).collect()
}

/// A tool call that changed files, as undo recorded it.
struct RecordedCall {
    id: String,
    loop_id: Option<String>,
}

impl RecordedCall {
    fn change_id(&self) -> String {
        change_id(&self.id, self.loop_id.as_deref())
    }

    fn is_one_of(&self, changes: &HashSet<String>) -> bool {
        is_one_of(&self.id, self.loop_id.as_deref(), changes)
    }
}

fn recorded_calls(undo: &Undo) -> impl Iterator<Item = RecordedCall> {
    let made = undo.list().into_iter().filter(|summary| summary.paths > 0);
    made.filter_map(|summary| match summary.by {
        ChangeAuthor::Call(id) => Some(RecordedCall { id, loop_id: summary.loop_id }),
        _ => None,
    })
}

type RecordedState = Option<(RecordedKind, u32)>;

fn changed_files(undo: &Undo, calls: &HashSet<String>) -> Vec<ChangedFile> {
    let mut files: BTreeMap<String, (RecordedState, RecordedState)> = BTreeMap::new();
    for call in recorded_calls(undo) {
        let (is_own, is_restore) = (call.is_one_of(calls), call.id.starts_with(RESTORE));
        if !is_own && !is_restore {
            continue;
        }
        for change in undo.changes(&call.id).unwrap_or_default() {
            let path = path_text(&change.path);
            match files.get_mut(&path) {
                Some((_, after)) => *after = change.after,
                None if is_own => drop(files.insert(path, (change.before, change.after))),
                None => {}
            }
        }
    }
    let is_folder =
        |state: &RecordedState| matches!(state, Some((kind, _)) if matches!(kind, RecordedKind::Folder));
    let changed = files.into_iter().filter(|(_, (before, after))| before != after);
    let changed = changed.filter(|(_, (before, after))| !is_folder(before) && !is_folder(after));
    changed
        .map(|(path, (before, after))| ChangedFile {
            before: before.map(|(kind, _)| content(undo, &kind)),
            after: after.map(|(kind, _)| content(undo, &kind)),
            path,
        })
        .collect()
}

fn content(undo: &Undo, kind: &RecordedKind) -> FileContent {
    let RecordedKind::File(Some(hash)) = kind else { return FileContent::Other };
    let bytes = undo.content(hash).filter(|bytes| bytes.len() <= COMPARED && !bytes.contains(&0));
    bytes.and_then(|bytes| String::from_utf8(bytes).ok()).map_or(FileContent::Other, FileContent::Text)
}

/// A path that undo recorded, as text.
pub fn path_text(path: &RelativePath) -> String {
    path.as_path().display().to_string()
}

/// Why a file was not restored, for the user.
pub const fn reason_text(reason: Reason) -> &'static str {
    match reason {
        Reason::ChangedByUser => "changed since by something other than the agent",
        Reason::NotKept => "the current content could not be saved first",
        Reason::Obstructed => "another file is in the way",
        Reason::ChangedSincePreview => "it changed after the preview",
        Reason::ChangedMeanwhile => "it changed during the undo",
        Reason::Refused => "the system refused access",
        _ => "it was kept",
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect()
}

#[cfg(test)]
#[path = "file_history_tests.rs"]
mod tests;
