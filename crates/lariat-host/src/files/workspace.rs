//! Holds the open directories that an agent works in.
//!
//! Clones share the handles. A root that is moved or replaced after it was opened still refers to the same directory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lariat_core::file_access::FileAccessCheck;
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, fstat};

use super::error::FileError;
use super::judge::Judge;
use super::stamp::FileId;

/// The directories that an agent works in. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Workspace {
    pub(super) shared: Arc<WorkspaceShared>,
    /// Whether errors for missing files name the nearest existing name.
    pub(super) hints: bool,
    pub(super) judge: Judge,
}

#[derive(Clone, Debug)]
pub(super) struct WorkspaceShared {
    pub(super) roots: Vec<Root>,
    pub(super) sync: Sync,
}

/// An open directory. Files are accessed only beneath roots.
#[derive(Clone, Debug)]
pub struct Root {
    pub(super) handle: Arc<OwnedFd>,
    pub(super) id: FileId,
    given: PathBuf,
    canonical: PathBuf,
    access: Access,
}

/// What is allowed beneath a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads only.
    ReadOnly,
    /// Reads and changes.
    ReadWrite,
}

/// When a write returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sync {
    /// After it survives a power failure.
    #[default]
    Durable,
    /// After every process sees it.
    Fast,
}

impl Workspace {
    /// Opens a directory for reading and writing.
    ///
    /// # Errors
    /// If the path is not a directory or cannot be opened.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let roots = vec![Root::open(path.as_ref(), Access::ReadWrite)?];
        Ok(Self {
            shared: Arc::new(WorkspaceShared { roots, sync: Sync::default() }),
            hints: true,
            judge: Judge::default(),
        })
    }

    /// Adds a directory; absolute paths and links may lead beneath it.
    ///
    /// # Errors
    /// If the path is not a directory or cannot be opened.
    pub fn with_root(mut self, path: impl AsRef<Path>, access: Access) -> Result<Self, FileError> {
        let root = Root::open(path.as_ref(), access)?;
        Arc::make_mut(&mut self.shared).roots.push(root);
        Ok(self)
    }

    /// Sets when a write returns.
    #[must_use]
    pub fn with_sync(mut self, sync: Sync) -> Self {
        Arc::make_mut(&mut self.shared).sync = sync;
        self
    }

    /// When a write returns.
    pub fn sync(&self) -> Sync {
        self.shared.sync
    }

    /// The directories; relative paths belong to the first one.
    pub fn roots(&self) -> &[Root] {
        &self.shared.roots
    }

    /// Disables hints, for callers that often look up missing files: no directory is read to find the nearest name.
    #[must_use]
    pub fn without_hints(mut self) -> Self {
        self.hints = false;
        self
    }

    /// Restricts the workspace to what one tool call may use: after every open, the judge checks the real path of the
    /// handle and may deny access. See [`FileAccessCheck`].
    #[must_use]
    pub fn with_access_check(mut self, judge: Arc<dyn FileAccessCheck>) -> Self {
        self.judge = Judge::new(judge);
        self
    }

    /// Canonical path of the first root.
    pub fn path(&self) -> &Path {
        self.shared.roots.first().map_or(Path::new("/"), Root::path)
    }
}

impl Root {
    fn open(path: &Path, access: Access) -> Result<Self, FileError> {
        let shown = path.display().to_string();
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let refused = |errno| FileError::of(&shown, errno);
        let handle = rustix::fs::open(path, flags, Mode::empty()).map_err(refused)?;
        let id = FileId::of(&fstat(&handle).map_err(refused)?);
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let canonical = std::fs::canonicalize(path).unwrap_or_else(|_| absolute.clone());
        Ok(Self { handle: Arc::new(handle), id, given: absolute, canonical, access })
    }

    /// The canonical path that it had when it was opened.
    pub fn path(&self) -> &Path {
        &self.canonical
    }

    /// The handle, opened for resolving paths beneath it.
    pub fn handle(&self) -> &OwnedFd {
        &self.handle
    }

    /// What is allowed beneath it.
    pub const fn access(&self) -> Access {
        self.access
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &Path> {
        [self.given.as_path(), self.canonical.as_path()].into_iter()
    }
}
