//! [`Undo`]: checkpoints around calls, and going back.
//!
//! Owns the order and the lock: one look or one way back at a time. What is found while a call is under way is that
//! call's (of several, the one that began last); what is found while none is, is the user's.

use std::collections::HashMap;
use std::path::{Component, Path};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::entry::RelativePath;
use super::error::UndoError;
use super::history::{By, Change, Difference, History, Summary};
use super::plan::{Conflicts, Plan, Preview, Reason, Rewound};
use super::reach::Reach;
use super::steps;
use super::walk::{Eye, Found};
use crate::files::Workspace;

/// What may be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UndoLimits {
    /// Bytes of a file whose content is kept.
    pub file: u64,
    /// Bytes of everything on the disk. The oldest checkpoints go first.
    pub total: u64,
    /// Checkpoints.
    pub checkpoints: usize,
}

impl Default for UndoLimits {
    fn default() -> Self {
        Self { file: 10_000_000, total: 1_000_000_000, checkpoints: 10_000 }
    }
}

impl UndoLimits {
    /// Sets the bytes of a file whose content is kept.
    #[must_use]
    pub const fn with_file(mut self, bytes: u64) -> Self {
        self.file = bytes;
        self
    }

    /// Sets the bytes of everything on the disk.
    #[must_use]
    pub const fn with_total(mut self, bytes: u64) -> Self {
        self.total = bytes;
        self
    }

    /// Sets how many checkpoints are kept.
    #[must_use]
    pub const fn with_checkpoints(mut self, count: usize) -> Self {
        self.checkpoints = count;
        self
    }
}

/// What files looked like before calls changed them, and the way back. Cloning shares. Every method blocks.
///
/// ```
/// use lariat_host::files::{Expected, Workspace};
/// use lariat_host::undo::{Conflicts, Undo, UndoLimits};
///
/// # let base = std::env::temp_dir().join(format!("lariat-undo-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(base.join("ws")).unwrap();
/// let workspace = Workspace::open(base.join("ws"))?;
/// let undo = Undo::open(&workspace, base.join("undo"), UndoLimits::default())?;
/// undo.before("call-1")?;
/// workspace.write("a.txt", b"new\n", &Expected::Absent)?;
/// undo.after("call-1")?;
/// let preview = undo.preview("call-1")?;
/// assert_eq!(preview.items.len(), 1);
/// undo.rewind(&preview, Conflicts::Keep)?;
/// assert!(workspace.read("a.txt", 100).is_err());
/// # std::fs::remove_dir_all(&base).unwrap();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Undo {
    state: Arc<Mutex<State>>,
    eye: Eye,
    names: Arc<[std::path::PathBuf]>,
}

#[derive(Debug)]
struct State {
    history: History,
    /// Calls that are under way, the one that began last at the end.
    under_way: Vec<String>,
    looks: u64,
}

impl Undo {
    /// Opens the undo store of a workspace; a new one first keeps everything that is there.
    ///
    /// # Errors
    /// When the directory lies in the workspace, is in use, or cannot be written.
    pub fn open(
        workspace: &Workspace,
        directory: impl AsRef<Path>,
        limits: UndoLimits,
    ) -> Result<Self, UndoError> {
        Self::open_with(workspace, directory.as_ref(), limits, |_| {})
    }

    /// Opens an undo store that makes a mistake.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    #[cfg(feature = "planted")]
    pub fn open_flawed(
        workspace: &Workspace,
        directory: impl AsRef<Path>,
        limits: UndoLimits,
        flaw: super::Flaw,
    ) -> Result<Self, UndoError> {
        Self::open_with(workspace, directory.as_ref(), limits, |eye| eye.flaw = Some(flaw))
    }

    fn open_with(
        workspace: &Workspace,
        directory: &Path,
        limits: UndoLimits,
        set: impl FnOnce(&mut Eye),
    ) -> Result<Self, UndoError> {
        super::store::make_folder(directory).map_err(UndoError::store(directory))?;
        let canonical = std::fs::canonicalize(directory).map_err(UndoError::store(directory))?;
        if canonical.starts_with(workspace.path()) {
            return Err(UndoError::Inside(directory.display().to_string()));
        }
        let root = workspace.roots().first().ok_or_else(|| UndoError::Unknown(String::new()))?;
        let handle = rustix::io::fcntl_dupfd_cloexec(root.handle(), 0).map_err(UndoError::workspace)?;
        let mut eye = Eye {
            reach: Reach::new(Arc::new(handle)),
            #[cfg(feature = "planted")]
            flaw: None,
        };
        set(&mut eye);
        let history = History::open(&canonical, limits)?;
        let is_new = history.is_new();
        let state = State { history, under_way: Vec::new(), looks: 0 };
        let names = vec![root.path().to_owned()].into();
        let undo = Self { state: Arc::new(Mutex::new(state)), eye, names };
        if is_new {
            let mut state = undo.lock();
            let found = undo.everything(&mut state)?;
            state.history.add(By::Base, true, found)?;
        }
        Ok(undo)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn everything(&self, state: &mut State) -> Result<Found, UndoError> {
        state.looks += 1;
        let number = state.looks;
        self.eye.everything(&mut state.history, number)
    }

    fn look(&self, state: &mut State, paths: Option<&[RelativePath]>) -> Result<Found, UndoError> {
        match paths {
            None => self.everything(state),
            Some(paths) => {
                state.looks += 1;
                let number = state.looks;
                self.eye.at(&mut state.history, number, paths)
            }
        }
    }

    /// Records what is there before a call that may change anything.
    ///
    /// # Errors
    /// When it cannot be kept; the call should not be made then.
    pub fn before(&self, call: &str) -> Result<(), UndoError> {
        self.begin(call, None)
    }

    /// Records what is there before a call that changes these files only.
    ///
    /// # Errors
    /// As [`before`](Self::before).
    pub fn before_paths(&self, call: &str, paths: &[&str]) -> Result<(), UndoError> {
        self.begin(call, self.plain(paths).as_deref())
    }

    fn begin(&self, call: &str, paths: Option<&[RelativePath]>) -> Result<(), UndoError> {
        let state = &mut *self.lock();
        let found = self.look(state, paths)?;
        let whole = paths.is_none();
        state.history.add(state.others(), whole, found)?;
        state.history.add(By::Begin(call.to_owned()), whole, Vec::new())?;
        state.under_way.push(call.to_owned());
        Ok(())
    }

    /// Records what a call changed.
    ///
    /// # Errors
    /// When it cannot be kept. What the call changed counts as the user's then.
    pub fn after(&self, call: &str) -> Result<(), UndoError> {
        self.end(call, None)
    }

    /// Records what a call changed of these files.
    ///
    /// # Errors
    /// As [`after`](Self::after).
    pub fn after_paths(&self, call: &str, paths: &[&str]) -> Result<(), UndoError> {
        self.end(call, self.plain(paths).as_deref())
    }

    fn end(&self, call: &str, paths: Option<&[RelativePath]>) -> Result<(), UndoError> {
        let state = &mut *self.lock();
        state.under_way.retain(|name| name != call);
        let found = self.look(state, paths)?;
        state.history.add(By::Call(call.to_owned()), paths.is_none(), found)
    }

    /// A call of which nobody will tell that it ended. What it changed counts as the user's.
    pub fn abandon(&self, call: &str) {
        self.lock().under_way.retain(|name| name != call);
    }

    /// Every checkpoint, the oldest first.
    pub fn list(&self) -> Vec<Summary> {
        let state = self.lock();
        let summary = |checkpoint: &super::history::Checkpoint| Summary {
            by: checkpoint.by.clone(),
            paths: checkpoint.changes.len(),
        };
        state.history.checkpoints.iter().map(summary).collect()
    }

    /// What a call changed.
    ///
    /// # Errors
    /// When nothing is remembered of it.
    pub fn changes(&self, call: &str) -> Result<Vec<Change>, UndoError> {
        let state = self.lock();
        state.history.begin(call).ok_or_else(|| UndoError::Unknown(call.to_owned()))?;
        let of_call = state.history.checkpoints.iter();
        let of_call = of_call.filter(|checkpoint| matches!(&checkpoint.by, By::Call(name) if name == call));
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

    /// The content of a file that a change names by its hash ([`Look::File`]); `None` when it is not kept any more.
    ///
    /// [`Look::File`]: super::Look::File
    pub fn content(&self, hash: &str) -> Option<Vec<u8>> {
        self.lock().history.store.read(hash)
    }

    /// What going back to the state before a call would do. Changes nothing in the workspace.
    ///
    /// # Errors
    /// When nothing is remembered of the call, or the workspace cannot be looked at.
    pub fn preview(&self, to: &str) -> Result<Preview, UndoError> {
        let state = &mut *self.lock();
        Ok(self.plan(state, to)?.preview(to))
    }

    /// Goes back to the state that a preview showed. The present is recorded first, so that this can be undone, too: by
    /// going back to before [`Rewound::id`]. What is not as the preview showed it is kept in any case.
    ///
    /// # Errors
    /// When nothing is remembered of the call, or the present cannot be kept; nothing was changed then.
    pub fn rewind(&self, preview: &Preview, conflicts: Conflicts) -> Result<Rewound, UndoError> {
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
        state.history.add(By::Begin(id.clone()), true, Vec::new())?;
        let manifest = &state.history.manifest;
        let mode_of = |path: &RelativePath| manifest.get(path).map(|slot| slot.entry.mode);
        let done = steps::perform(&self.eye.reach, &state.history.store, &wanted, &mode_of);
        kept.extend(done.kept);
        let touched: Vec<_> = wanted.into_iter().map(|step| step.path).collect();
        let found = self.look(state, Some(&touched))?;
        state.history.add(By::Call(id.clone()), false, found)?;
        Ok(Rewound { id, restored: done.restored, kept, not_restorable: plan.not_restorable })
    }

    /// Records the present and finds the way back.
    fn plan(&self, state: &mut State, to: &str) -> Result<Plan, UndoError> {
        let found = self.everything(state)?;
        state.history.add(state.others(), true, found)?;
        #[allow(unused_mut, reason = "a planted mistake changes it")]
        let mut plan = Plan::to(&state.history, to)?;
        #[cfg(feature = "planted")]
        if self.eye.flaw == Some(super::Flaw::OverwritesUsers) {
            plan.steps.iter_mut().for_each(|step| step.conflict = None);
        }
        Ok(plan)
    }

    /// Bytes on the disk.
    pub fn bytes(&self) -> u64 {
        self.lock().history.bytes()
    }

    /// Paths beneath the root without links and dots on their way; `None` when everything must be looked at instead.
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
            // What is not there yet has no links.
            if let Ok(stat) = self.eye.reach.stat(&plain)
                && rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Symlink
            {
                return None;
            }
        }
        (!plain.as_path().as_os_str().as_bytes().is_empty()).then_some(plain)
    }
}

impl State {
    /// Whose a change is that is found between calls.
    fn others(&self) -> By {
        self.under_way.last().map_or(By::User, |call| By::Call(call.clone()))
    }

    fn rewinds(&self) -> u64 {
        let number = |by: &By| match by {
            By::Begin(call) => call.strip_prefix("rewind-")?.parse().ok(),
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
