//! Checks opened files against the permissions of a tool call, by the real path of their handles.
//!
//! The guard checked the text of the path before. Other processes can replace directories of the path with links
//! meanwhile, so after every open this module asks the kernel for the handle's real path and checks that path again.
//!
//! Invariant: with a judge, no handle leaves `resolve` or `folder` unless the judge allowed it. If the kernel cannot
//! name the real path, access is denied.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lariat_core::file_access::{FileAccessCheck, FileUse};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{fstat, stat};

use super::error::FileError;
use super::stamp::FileId;

/// Checks opened files; allows everything by default.
#[derive(Clone, Default)]
pub(super) struct Judge(Option<Arc<dyn FileAccessCheck>>);

/// An open directory and the check for its entries. `None` if every entry may be read.
#[derive(Debug)]
pub(super) struct DirectoryCheck(Option<(Judge, PathBuf)>);

impl Judge {
    pub(super) fn new(judge: Arc<dyn FileAccessCheck>) -> Self {
        Self(Some(judge))
    }

    /// Checks whether the handle's file may be used this way.
    pub(super) fn handle(&self, named: &str, handle: &OwnedFd, used: FileUse) -> Result<(), FileError> {
        if self.0.is_none() {
            return Ok(());
        }
        let real = real_path(handle).ok_or_else(|| FileError::Unstable(named.to_owned()))?;
        self.path(named, &real, used)
    }

    /// Checks whether an entry of an open directory may be used this way.
    pub(super) fn name(
        &self,
        named: &str,
        directory: &OwnedFd,
        name: &OsStr,
        used: FileUse,
    ) -> Result<(), FileError> {
        if self.0.is_none() {
            return Ok(());
        }
        let real = real_path(directory).ok_or_else(|| FileError::Unstable(named.to_owned()))?;
        self.path(named, &real.join(name), used)
    }

    /// Returns the check for the entries of an open directory.
    pub(super) fn directory_check(
        &self,
        named: &str,
        directory: &OwnedFd,
    ) -> Result<DirectoryCheck, FileError> {
        let Some(judge) = &self.0 else { return Ok(DirectoryCheck(None)) };
        let real = real_path(directory).ok_or_else(|| FileError::Unstable(named.to_owned()))?;
        if judge.reads_everything_in(&real) {
            return Ok(DirectoryCheck(None));
        }
        Ok(DirectoryCheck(Some((self.clone(), real))))
    }

    fn path(&self, named: &str, real: &Path, used: FileUse) -> Result<(), FileError> {
        let Some(judge) = &self.0 else { return Ok(()) };
        judge.judge(real, used).map_err(|reason| FileError::Refused {
            path: named.to_owned(),
            real: real.display().to_string(),
            reason,
        })
    }
}

impl DirectoryCheck {
    /// Whether an entry of the directory may be read.
    pub(super) fn has(&self, name: &OsStr) -> bool {
        let Some((judge, path)) = &self.0 else { return true };
        judge.path("", &path.join(name), FileUse::Read).is_ok()
    }

    /// The same check for a subdirectory. Uses the path that this directory had when it was opened: if a handle is
    /// moved meanwhile, its content is still what was checked.
    pub(super) fn enter(&self, name: &OsStr) -> Self {
        Self(self.0.as_ref().map(|(judge, path)| (judge.clone(), path.join(name))))
    }
}

impl std::fmt::Debug for Judge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "judged" } else { "not judged" })
    }
}

/// The real path of a handle; `None` if the file has no path any more or the kernel does not name it.
pub(super) fn real_path(handle: &OwnedFd) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt as _;

    let own = format!("/proc/self/fd/{}", handle.as_raw_fd());
    let target = rustix::fs::readlink(own, Vec::new()).ok()?.into_bytes();
    let is_marked = target.ends_with(b" (deleted)");
    let path = PathBuf::from(std::ffi::OsString::from_vec(target));
    // The kernel appends this to the path of a deleted file, but a file can also really be called so.
    let is_there = || {
        let (Ok(held), Ok(there)) = (fstat(handle), stat(&path)) else { return false };
        FileId::of(&held) == FileId::of(&there)
    };
    (path.is_absolute() && (!is_marked || is_there())).then_some(path)
}
