//! Opened files, judged by the path that their handles really have.
//!
//! Owns the question that follows every opening for a call. A path is text that was judged before; other processes can put
//! links in place of its directories meanwhile. The kernel knows where a handle really is, and that path is judged again.
//!
//! Invariant: with a judge, no handle leaves `resolve` or `folder` that the judge did not let through. A path that the kernel
//! does not tell is refused.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lariat_core::file_judge::{FileJudge, FileUse};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{fstat, stat};

use super::error::FileError;
use super::stamp::FileId;

/// Who judges opened files; none by default.
#[derive(Clone, Default)]
pub(super) struct Judge(Option<Arc<dyn FileJudge>>);

/// A directory and who judges what is in it. Nothing when everything in it may be read.
#[derive(Debug)]
pub(super) struct Walked(Option<(Judge, PathBuf)>);

impl Judge {
    pub(super) fn by(judge: Arc<dyn FileJudge>) -> Self {
        Self(Some(judge))
    }

    /// Judges what a handle is open for.
    pub(super) fn handle(&self, named: &str, handle: &OwnedFd, used: FileUse) -> Result<(), FileError> {
        if self.0.is_none() {
            return Ok(());
        }
        let real = real_path(handle).ok_or_else(|| FileError::Unsteady(named.to_owned()))?;
        self.path(named, &real, used)
    }

    /// Judges a name of an open directory.
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
        let real = real_path(directory).ok_or_else(|| FileError::Unsteady(named.to_owned()))?;
        self.path(named, &real.join(name), used)
    }

    /// What is asked of the names of an open directory.
    pub(super) fn walked(&self, named: &str, directory: &OwnedFd) -> Result<Walked, FileError> {
        let Some(judge) = &self.0 else { return Ok(Walked(None)) };
        let real = real_path(directory).ok_or_else(|| FileError::Unsteady(named.to_owned()))?;
        if judge.reads_everything_in(&real) {
            return Ok(Walked(None));
        }
        Ok(Walked(Some((self.clone(), real))))
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

impl Walked {
    /// Whether a name of the directory may be read.
    pub(super) fn has(&self, name: &OsStr) -> bool {
        let Some((judge, path)) = &self.0 else { return true };
        judge.path("", &path.join(name), FileUse::Read).is_ok()
    }

    /// The same for a directory of it. Its path is where this one was when it was opened: a handle that is moved meanwhile
    /// holds what was judged.
    pub(super) fn enter(&self, name: &OsStr) -> Self {
        Self(self.0.as_ref().map(|(judge, path)| (judge.clone(), path.join(name))))
    }
}

impl std::fmt::Debug for Judge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "judged" } else { "not judged" })
    }
}

/// Where a handle really is; nothing when it has no path any more, or the kernel does not say.
fn real_path(handle: &OwnedFd) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt as _;

    let own = format!("/proc/self/fd/{}", handle.as_raw_fd());
    let target = rustix::fs::readlink(own, Vec::new()).ok()?.into_bytes();
    let is_marked = target.ends_with(b" (deleted)");
    let path = PathBuf::from(std::ffi::OsString::from_vec(target));
    // So the kernel marks what has no name any more; a file can be named so, too.
    let is_there = || {
        let (Ok(held), Ok(there)) = (fstat(handle), stat(&path)) else { return false };
        FileId::of(&held) == FileId::of(&there)
    };
    (path.is_absolute() && (!is_marked || is_there())).then_some(path)
}
