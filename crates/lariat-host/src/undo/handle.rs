//! Accesses single paths of the workspace by handle, for undo and for applying snapshots.
//!
//! All their file access goes through here. Invariant: a directory is opened beneath the root without following any
//! link; from there each step uses one name and does not follow it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::sync::Arc;

use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RenameFlags, ResolveFlags, Stat, fstat, openat2, renameat_with, statat,
    unlinkat,
};
use rustix::io::Errno;

use super::entry::{Entry, RecordedStamp, RelativePath};
use crate::files::temporary;

const PLAIN: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS).union(ResolveFlags::NO_SYMLINKS);
/// How often to retry a path while other processes rename directories.
const ATTEMPTS: usize = 64;

/// The root directory of a workspace.
#[derive(Clone, Debug)]
pub(crate) struct WorkspaceHandle {
    root: Arc<OwnedFd>,
}

/// What to create under a name.
pub(crate) enum NewEntry<'a> {
    File(&'a [u8], u32),
    Link(&'a OsStr),
}

/// Why a step was not done.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum StepError {
    /// The current state is not the recorded one.
    Changed,
    /// The operating system returned an error.
    Refused(Errno),
}

impl From<Errno> for StepError {
    fn from(errno: Errno) -> Self {
        match errno {
            // The path disappeared, was replaced or is not empty: another process changed it first.
            Errno::NOENT | Errno::EXIST | Errno::NOTDIR | Errno::LOOP | Errno::NOTEMPTY | Errno::ISDIR => {
                Self::Changed
            }
            errno => Self::Refused(errno),
        }
    }
}

impl WorkspaceHandle {
    pub(crate) fn new(root: Arc<OwnedFd>) -> Self {
        Self { root }
    }

    /// Opens a directory beneath the root, as a path-only handle.
    pub(crate) fn folder(&self, path: &[u8]) -> Result<OwnedFd, Errno> {
        use std::os::unix::ffi::OsStrExt;
        let path = if path.is_empty() { OsStr::new(".") } else { OsStr::from_bytes(path) };
        open(&self.root, path, OFlags::PATH | OFlags::DIRECTORY)
    }

    /// The state of the entry at a path; of a link, its own.
    pub(crate) fn stat(&self, path: &RelativePath) -> Result<Stat, Errno> {
        let (parent, name) = path.split();
        statat(self.folder(parent)?, name, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Replaces the expected entry with a file or a link.
    pub(crate) fn put(
        &self,
        path: &RelativePath,
        new: &NewEntry<'_>,
        expected: Option<&Entry>,
    ) -> Result<(), StepError> {
        let (parent, name) = path.split();
        let folder = self.folder(parent)?;
        let _lock = temporary::lock_shared(&folder);
        let draft = create(&folder, new)?;
        let placed = match expected {
            None => {
                renameat_with(&folder, &draft, &folder, name, RenameFlags::NOREPLACE).map_err(StepError::from)
            }
            Some(expected) => replace(&folder, &draft, name, expected),
        };
        if placed.is_err() {
            temporary::discard(&folder, &draft);
        }
        placed
    }

    /// Removes a file, a link or an empty directory.
    pub(crate) fn remove(&self, path: &RelativePath, expected: &RecordedStamp) -> Result<(), StepError> {
        let (parent, name) = path.split();
        let folder = self.folder(parent)?;
        let stat = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            return Ok(unlinkat(&folder, name, AtFlags::REMOVEDIR)?);
        }
        if !expected.same_content(&RecordedStamp::of(&stat)) {
            return Err(StepError::Changed);
        }
        Ok(unlinkat(&folder, name, AtFlags::empty())?)
    }

    /// Creates a directory.
    pub(crate) fn create_folder(&self, path: &RelativePath) -> Result<(), StepError> {
        let (parent, name) = path.split();
        Ok(rustix::fs::mkdirat(self.folder(parent)?, name, Mode::from_raw_mode(0o700))?)
    }

    /// Sets the mode of a file or directory. Uses a path-only handle, so that unreadable files can be changed, and its
    /// link in `/proc`, because `fchmod` does not accept such a handle.
    pub(crate) fn set_mode(&self, path: &RelativePath, mode: u32) -> Result<(), StepError> {
        let (parent, name) = path.split();
        let handle = open(&self.folder(parent)?, name, OFlags::PATH | OFlags::NOFOLLOW)?;
        if FileType::from_raw_mode(fstat(&handle)?.st_mode) == FileType::Symlink {
            return Err(StepError::Changed);
        }
        let own = format!("/proc/self/fd/{}", handle.as_raw_fd());
        Ok(rustix::fs::chmod(own, Mode::from_raw_mode(mode))?)
    }
}

/// Exchanges the new file with an existing one and removes that, if it is the expected one.
fn replace(folder: &OwnedFd, draft: &OsStr, name: &OsStr, expected: &Entry) -> Result<(), StepError> {
    let is_expected = |name: &OsStr| {
        statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| {
            FileType::from_raw_mode(stat.st_mode) != FileType::Directory
                && expected.seen.same_content(&RecordedStamp::of(&stat))
        })
    };
    if !is_expected(name) {
        return Err(StepError::Changed);
    }
    let content = expected.content().and_then(|hash| blake3::Hash::from_hex(hash).ok());
    let made = statat(folder, draft, AtFlags::SYMLINK_NOFOLLOW)?;
    let temporary = temporary::exchange_name(&made, content)?;
    renameat_with(folder, draft, folder, &temporary, RenameFlags::empty())?;
    let placed = exchange(folder, &temporary, name, is_expected);
    if placed.is_err() {
        temporary::discard(folder, &temporary);
    }
    placed
}

fn exchange(
    folder: &OwnedFd,
    temporary: &OsStr,
    name: &OsStr,
    is_expected: impl Fn(&OsStr) -> bool,
) -> Result<(), StepError> {
    match renameat_with(folder, temporary, folder, name, RenameFlags::EXCHANGE) {
        Ok(()) => {}
        // Not every file system supports exchanging.
        Err(Errno::INVAL | Errno::NOSYS) => {
            return Ok(rustix::fs::renameat(folder, temporary, folder, name)?);
        }
        Err(errno) => return Err(errno.into()),
    }
    if is_expected(temporary) {
        return Ok(unlinkat(folder, temporary, AtFlags::empty())?);
    }
    renameat_with(folder, temporary, folder, name, RenameFlags::EXCHANGE)?;
    Err(StepError::Changed)
}

fn create(folder: &OwnedFd, new: &NewEntry<'_>) -> Result<OsString, Errno> {
    let name = temporary::draft_name()?;
    match new {
        NewEntry::Link(target) => rustix::fs::symlinkat(*target, folder, &name)?,
        NewEntry::File(bytes, mode) => {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let handle = rustix::fs::openat(folder, &name, flags, Mode::from_raw_mode(0o600))?;
            let mut file = File::from(handle);
            let written = file
                .write_all(bytes)
                .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
                .and_then(|()| rustix::fs::fchmod(&file, Mode::from_raw_mode(*mode)));
            if let Err(errno) = written {
                let _ = unlinkat(folder, &name, AtFlags::empty());
                return Err(errno);
            }
        }
    }
    Ok(name)
}

/// Opens a path beneath a directory without following any link.
pub(super) fn open(at: impl AsFd, path: &OsStr, flags: OFlags) -> Result<OwnedFd, Errno> {
    for _ in 0..ATTEMPTS {
        match openat2(at.as_fd(), path, flags | OFlags::CLOEXEC, Mode::empty(), PLAIN) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            opened => return opened,
        }
    }
    Err(Errno::AGAIN)
}
