//! Where an agent works: open directories.
//!
//! Owns the roots and their settings. Cloning shares the handles. A root that is moved or replaced after it was opened
//! stays the directory that it was.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lariat_core::file_judge::FileJudge;
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, fstat};

use super::error::FileError;
#[cfg(feature = "planted")]
use super::hole::Hole;
use super::judged::Judge;
use super::stamp::FileId;

/// Where an agent works. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Workspace {
    pub(super) shared: Arc<Shared>,
    /// Whether who asks for what does not exist is told of the nearest name.
    pub(super) hints: bool,
    pub(super) judge: Judge,
}

#[derive(Clone, Debug)]
pub(super) struct Shared {
    pub(super) roots: Vec<Root>,
    pub(super) sync: Sync,
    #[cfg(feature = "planted")]
    pub(super) hole: Option<Hole>,
}

/// A directory beneath which files are reached.
#[derive(Clone, Debug)]
pub struct Root {
    pub(super) handle: Arc<OwnedFd>,
    pub(super) id: FileId,
    given: PathBuf,
    canonical: PathBuf,
    access: Access,
}

/// What may be done beneath a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reading.
    ReadOnly,
    /// Reading and changing.
    ReadWrite,
}

/// When a write counts as done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sync {
    /// When it survives a power cut.
    #[default]
    Durable,
    /// When every process sees it.
    Fast,
}

impl Workspace {
    /// Opens a directory to read and write in.
    ///
    /// # Errors
    /// When it is not a directory that can be opened.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let roots = vec![Root::open(path.as_ref(), Access::ReadWrite)?];
        Ok(Self {
            shared: Arc::new(Shared {
                roots,
                sync: Sync::default(),
                #[cfg(feature = "planted")]
                hole: None,
            }),
            hints: true,
            judge: Judge::default(),
        })
    }

    /// Adds a directory beneath which absolute paths, and links to it, are reached.
    ///
    /// # Errors
    /// When it is not a directory that can be opened.
    pub fn with_root(mut self, path: impl AsRef<Path>, access: Access) -> Result<Self, FileError> {
        let root = Root::open(path.as_ref(), access)?;
        Arc::make_mut(&mut self.shared).roots.push(root);
        Ok(self)
    }

    /// Chooses when a write counts as done.
    #[must_use]
    pub fn with_sync(mut self, sync: Sync) -> Self {
        Arc::make_mut(&mut self.shared).sync = sync;
        self
    }

    /// When a write counts as done.
    pub fn sync(&self) -> Sync {
        self.shared.sync
    }

    /// The directories, the one that relative paths belong to first.
    pub fn roots(&self) -> &[Root] {
        &self.shared.roots
    }

    /// The same, for who asks for what is often not there: no directory is read to find the nearest name.
    #[must_use]
    pub fn without_hints(mut self) -> Self {
        self.hints = false;
        self
    }

    /// The same, for one call: every file that is opened is judged by the path that its handle really has, and not used if
    /// the judge refuses. See [`FileJudge`].
    #[must_use]
    pub fn judged_by(mut self, judge: Arc<dyn FileJudge>) -> Self {
        self.judge = Judge::by(judge);
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

    /// Its canonical path when it was opened.
    pub fn path(&self) -> &Path {
        &self.canonical
    }

    /// The handle, open for resolving beneath it.
    pub fn handle(&self) -> &OwnedFd {
        &self.handle
    }

    /// What may be done beneath it.
    pub const fn access(&self) -> Access {
        self.access
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &Path> {
        [self.given.as_path(), self.canonical.as_path()].into_iter()
    }
}
