//! [`Undo`]: records checkpoints around tool calls and restores earlier states.
//!
//! A lock serialises all scans and rewinds. A change that is found while a tool call is running belongs to that call
//! (of several, to the one that began last); a change that is found while none is running belongs to the user.

use std::collections::HashMap;
use std::path::{Component, Path};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use lariat_core::event::change_id_in_loop;

use super::entry::RelativePath;
use super::error::UndoError;
use super::handle::WorkspaceHandle;
use super::history::{Change, ChangeAuthor, Difference, History, Summary};
use super::plan::{Conflicts, Plan, Preview, Reason, RewindResult};
use super::scan::{ScanResult, Scanner};
use super::steps;
use crate::files::Workspace;

/// Limits of an undo store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UndoLimits {
    /// Maximum size of a file whose content is saved, in bytes.
    pub file: u64,
    /// Maximum size of the store on disk, in bytes. The oldest checkpoints are dropped first.
    pub total: u64,
    /// Maximum number of checkpoints.
    pub checkpoints: usize,
}

impl Default for UndoLimits {
    fn default() -> Self {
        Self { file: 10_000_000, total: 1_000_000_000, checkpoints: 10_000 }
    }
}

impl UndoLimits {
    /// Sets the maximum size of a file whose content is saved, in bytes.
    #[must_use]
    pub const fn with_file(mut self, bytes: u64) -> Self {
        self.file = bytes;
        self
    }

    /// Sets the maximum size of the store on disk, in bytes.
    #[must_use]
    pub const fn with_total(mut self, bytes: u64) -> Self {
        self.total = bytes;
        self
    }

    /// Sets the maximum number of checkpoints.
    #[must_use]
    pub const fn with_checkpoints(mut self, count: usize) -> Self {
        self.checkpoints = count;
        self
    }
}

/// Saves what files contained before tool calls changed them, and restores it. Clones share the store. All methods
/// block.
///
/// ```
/// use lariat_host::files::{Workspace, WriteCondition};
/// use lariat_host::undo::{Conflicts, Undo, UndoLimits};
///
/// # let base = std::env::temp_dir().join(format!("lariat-undo-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(base.join("ws")).unwrap();
/// let workspace = Workspace::open(base.join("ws"))?;
/// let undo = Undo::open(&workspace, base.join("undo"), UndoLimits::default())?;
/// undo.begin_call("call-1")?;
/// workspace.write("a.txt", b"new\n", &WriteCondition::Absent)?;
/// undo.end_call("call-1")?;
/// let preview = undo.preview("call-1")?;
/// assert_eq!(preview.items.len(), 1);
/// undo.rewind(&preview, Conflicts::Keep)?;
/// assert!(workspace.read("a.txt", 100).is_err());
/// # std::fs::remove_dir_all(&base).unwrap();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Undo {
    state: Arc<Mutex<HistoryState>>,
    scanner: Scanner,
    names: Arc<[std::path::PathBuf]>,
}

/// An [`Undo`] that does not keep its store open.
#[derive(Clone, Debug)]
pub struct WeakUndo {
    state: Weak<Mutex<HistoryState>>,
    scanner: Scanner,
    names: Arc<[std::path::PathBuf]>,
}

impl WeakUndo {
    /// Returns the store if something still keeps it open.
    pub fn upgrade(&self) -> Option<Undo> {
        let (scanner, names) = (self.scanner.clone(), Arc::clone(&self.names));
        Some(Undo { state: self.state.upgrade()?, scanner, names })
    }
}

#[derive(Debug)]
struct HistoryState {
    history: History,
    /// Running tool calls; the one that began last is at the end.
    running: Vec<String>,
    scans: u64,
}

impl Undo {
    /// Opens the undo store of a workspace. A new store first saves the content of all files.
    ///
    /// # Errors
    /// If the directory is inside the workspace, is in use, or cannot be written.
    pub fn open(
        workspace: &Workspace,
        directory: impl AsRef<Path>,
        limits: UndoLimits,
    ) -> Result<Self, UndoError> {
        let directory = directory.as_ref();
        super::store::create_private_directory(directory).map_err(UndoError::store(directory))?;
        let canonical = std::fs::canonicalize(directory).map_err(UndoError::store(directory))?;
        if canonical.starts_with(workspace.path()) {
            return Err(UndoError::Inside(directory.display().to_string()));
        }
        let root = workspace.roots().first().ok_or_else(|| UndoError::Unknown(String::new()))?;
        let handle = rustix::io::fcntl_dupfd_cloexec(root.handle(), 0).map_err(UndoError::workspace)?;
        let scanner = Scanner { workspace: WorkspaceHandle::new(Arc::new(handle)) };
        let history = History::open(&canonical, limits)?;
        let is_new = history.is_new();
        let state = HistoryState { history, running: Vec::new(), scans: 0 };
        let names = vec![root.path().to_owned()].into();
        let undo = Self { state: Arc::new(Mutex::new(state)), scanner, names };
        if is_new {
            let mut state = undo.lock();
            let found = undo.scan_all(&mut state)?;
            state.history.add(ChangeAuthor::Base, true, found)?;
        }
        Ok(undo)
    }

    /// Returns a handle that does not keep the store open.
    pub fn downgrade(&self) -> WeakUndo {
        let (scanner, names) = (self.scanner.clone(), Arc::clone(&self.names));
        WeakUndo { state: Arc::downgrade(&self.state), scanner, names }
    }

    /// Returns whether a tool call that this store records is running.
    pub fn has_running_call(&self) -> bool {
        !self.lock().running.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, HistoryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn scan_all(&self, state: &mut HistoryState) -> Result<ScanResult, UndoError> {
        state.scans += 1;
        let number = state.scans;
        self.scanner.scan_all(&mut state.history, number)
    }

    fn scan(
        &self,
        state: &mut HistoryState,
        paths: Option<&[RelativePath]>,
    ) -> Result<ScanResult, UndoError> {
        match paths {
            None => self.scan_all(state),
            Some(paths) => {
                state.scans += 1;
                let number = state.scans;
                self.scanner.scan_paths(&mut state.history, number, paths)
            }
        }
    }

    /// Records the current state before a tool call that may change any file.
    ///
    /// # Errors
    /// If the state cannot be saved; then the tool call should not run.
    pub fn begin_call(&self, call: &str) -> Result<(), UndoError> {
        self.begin(call, None, None).map(drop)
    }

    /// Records the current state before a tool call that changes only these files.
    ///
    /// # Errors
    /// The same as those of [`begin_call`](Self::begin_call).
    pub fn begin_call_on_paths(&self, call: &str, paths: &[&str]) -> Result<(), UndoError> {
        self.begin(call, None, self.plain(paths).as_deref()).map(drop)
    }

    /// Records the current state before a tool call of a loop that changes only these files, or any file. Two loops may have tool
    /// calls with the same id, so this returns the id under which the store has this one: that of the tool call, or one with the
    /// loop if another loop has used it.
    ///
    /// # Errors
    /// The same as those of [`begin_call`](Self::begin_call).
    pub fn begin_call_of_loop(
        &self,
        call: &str,
        loop_id: &str,
        paths: Option<&[&str]>,
    ) -> Result<String, UndoError> {
        let paths = paths.and_then(|paths| self.plain(paths));
        self.begin(call, Some(loop_id).filter(|id| !id.is_empty()), paths.as_deref())
    }

    fn begin(
        &self,
        call: &str,
        loop_id: Option<&str>,
        paths: Option<&[RelativePath]>,
    ) -> Result<String, UndoError> {
        let state = &mut *self.lock();
        let found = self.scan(state, paths)?;
        let whole = paths.is_none();
        state.history.add(state.author(), whole, found)?;
        let id = match loop_id {
            Some(loop_id) if state.history.has_call_of_another_loop(call, loop_id) => {
                change_id_in_loop(call, loop_id)
            }
            _ => call.to_owned(),
        };
        state.history.add_begin(id.clone(), loop_id, whole)?;
        state.running.push(id.clone());
        Ok(id)
    }

    /// Records what a tool call changed.
    ///
    /// # Errors
    /// If the changes cannot be saved. Then they are treated as the user's.
    pub fn end_call(&self, call: &str) -> Result<(), UndoError> {
        self.end(call, None)
    }

    /// Records what a tool call changed in these files.
    ///
    /// # Errors
    /// The same as those of [`end_call`](Self::end_call).
    pub fn end_call_on_paths(&self, call: &str, paths: &[&str]) -> Result<(), UndoError> {
        self.end(call, self.plain(paths).as_deref())
    }

    fn end(&self, call: &str, paths: Option<&[RelativePath]>) -> Result<(), UndoError> {
        let state = &mut *self.lock();
        state.running.retain(|name| name != call);
        let found = self.scan(state, paths)?;
        state.history.add(ChangeAuthor::Call(call.to_owned()), paths.is_none(), found)
    }

    /// Forgets a running tool call whose end will never be reported. Its changes are treated as the user's.
    pub fn abandon(&self, call: &str) {
        self.lock().running.retain(|name| name != call);
    }

    /// Lists all checkpoints, oldest first.
    pub fn list(&self) -> Vec<Summary> {
        let state = self.lock();
        let mut loops: HashMap<&str, &str> = HashMap::new();
        let mut summaries = Vec::with_capacity(state.history.checkpoints.len());
        for checkpoint in &state.history.checkpoints {
            let call = match &checkpoint.by {
                ChangeAuthor::Begin(call) | ChangeAuthor::Call(call) => Some(call.as_str()),
                _ => None,
            };
            if let (Some(call), Some(loop_id)) = (call, &checkpoint.loop_id) {
                loops.insert(call, loop_id);
            }
            let loop_id = call.and_then(|call| loops.get(call)).map(|id| (*id).to_owned());
            summaries.push(Summary { by: checkpoint.by.clone(), loop_id, paths: checkpoint.changes.len() });
        }
        summaries
    }

    /// Returns what a tool call changed.
    ///
    /// # Errors
    /// If the tool call has no checkpoint.
    pub fn changes(&self, call: &str) -> Result<Vec<Change>, UndoError> {
        let state = self.lock();
        state.history.begin(call).ok_or_else(|| UndoError::Unknown(call.to_owned()))?;
        let of_call = state.history.checkpoints.iter();
        let of_call =
            of_call.filter(|checkpoint| matches!(&checkpoint.by, ChangeAuthor::Call(name) if name == call));
        let shown = |entry: &Option<super::entry::Entry>| {
            entry.as_ref().map(|entry| (entry.look.clone(), entry.mode))
        };
        let change = |change: &Difference| Change {
            path: change.path.clone(),
            before: shown(&change.before),
            after: shown(&change.after),
        };
        Ok(of_call.flat_map(|checkpoint| checkpoint.changes.iter().map(change)).collect())
    }

    /// Returns the content with the hash that a change names ([`RecordedKind::File`]); `None` if it is no longer stored.
    ///
    /// [`RecordedKind::File`]: super::RecordedKind::File
    pub fn content(&self, hash: &str) -> Option<Vec<u8>> {
        self.lock().history.store.read(hash)
    }

    /// Returns what a rewind to the state before a tool call would do. Changes nothing in the workspace.
    ///
    /// # Errors
    /// If the tool call has no checkpoint, or the workspace cannot be scanned.
    pub fn preview(&self, to: &str) -> Result<Preview, UndoError> {
        let state = &mut *self.lock();
        Ok(self.plan(state, to)?.preview(to))
    }

    /// Restores the state that a preview showed. Records the current state first, so that the rewind can itself be
    /// undone by rewinding to before [`RewindResult::id`]. Paths that changed since the preview are always kept.
    ///
    /// # Errors
    /// If the tool call has no checkpoint, or the current state cannot be saved; then nothing was changed.
    pub fn rewind(&self, preview: &Preview, conflicts: Conflicts) -> Result<RewindResult, UndoError> {
        let state = &mut *self.lock();
        let plan = self.plan(state, &preview.to)?;
        let now = plan.preview(&preview.to);
        let mut kept = Vec::new();
        let mut wanted = Vec::new();
        let shown: HashMap<_, _> = preview.items.iter().map(|item| (&item.path, item)).collect();
        for (step, item) in plan.steps.into_iter().zip(now.items) {
            let shown = shown.get(&item.path) == Some(&&item);
            match step.conflict {
                _ if !shown => kept.push((step.path, Reason::ChangedSincePreview)),
                Some(reason) if conflicts == Conflicts::Keep => kept.push((step.path, reason)),
                _ => wanted.push(step),
            }
        }
        let id = format!("rewind-{}", state.rewinds() + 1);
        state.history.add(ChangeAuthor::Begin(id.clone()), true, Vec::new())?;
        let manifest = &state.history.manifest;
        let mode_of = |path: &RelativePath| manifest.get(path).map(|slot| slot.entry.mode);
        let done = steps::perform(&self.scanner.workspace, &state.history.store, &wanted, &mode_of);
        kept.extend(done.kept);
        let touched: Vec<_> = wanted.into_iter().map(|step| step.path).collect();
        let found = self.scan(state, Some(&touched))?;
        state.history.add(ChangeAuthor::Call(id.clone()), false, found)?;
        Ok(RewindResult { id, restored: done.restored, kept, not_restorable: plan.not_restorable })
    }

    /// Records the current state and plans the rewind.
    fn plan(&self, state: &mut HistoryState, to: &str) -> Result<Plan, UndoError> {
        let found = self.scan_all(state)?;
        state.history.add(state.author(), true, found)?;
        Plan::rewind_to(&state.history, to)
    }

    /// Size of the store on disk, in bytes.
    pub fn bytes(&self) -> u64 {
        self.lock().history.bytes()
    }

    /// Converts paths to paths beneath the root without links and dots; `None` if a full scan is needed instead.
    fn plain(&self, paths: &[&str]) -> Option<Vec<RelativePath>> {
        paths.iter().map(|path| self.plain_path(Path::new(path))).collect()
    }

    fn plain_path(&self, path: &Path) -> Option<RelativePath> {
        use std::os::unix::ffi::OsStrExt;

        let path = match path.is_absolute() {
            true => self.names.iter().find_map(|name| path.strip_prefix(name).ok())?,
            false => path,
        };
        let names = path.components().filter(|part| *part != Component::CurDir);
        let mut plain = RelativePath::new("");
        for name in names {
            let Component::Normal(name) = name else { return None };
            plain = plain.join(name);
            // A path that does not exist yet contains no link.
            if let Ok(stat) = self.scanner.workspace.stat(&plain)
                && rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Symlink
            {
                return None;
            }
        }
        (!plain.as_path().as_os_str().as_bytes().is_empty()).then_some(plain)
    }
}

impl HistoryState {
    /// Who is responsible for a change that is found between the begin and end of other tool calls.
    fn author(&self) -> ChangeAuthor {
        self.running.last().map_or(ChangeAuthor::User, |call| ChangeAuthor::Call(call.clone()))
    }

    fn rewinds(&self) -> u64 {
        let number = |by: &ChangeAuthor| match by {
            ChangeAuthor::Begin(call) => call.strip_prefix("rewind-")?.parse().ok(),
            _ => None,
        };
        self.history
            .checkpoints
            .iter()
            .rev()
            .find_map(|checkpoint| number(&checkpoint.by))
            .unwrap_or_default()
    }
}
