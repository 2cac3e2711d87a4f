//! Which directories programs are taken from by their names.
//!
//! `PATH` is made for people: it may name a folder of the project, such as that of an active virtual environment, and the
//! agent can write there. What it writes must not run in place of git or of a shell. Owns the check: a directory is passed
//! over when it is relative, when everybody may write in it, or when it or the program in it lies, links followed, in a
//! directory that is distrusted.

use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// Directories that programs are not taken from.
pub(super) struct Distrusted(Vec<PathBuf>);

impl Distrusted {
    /// The root of the file system is passed over: everything lies in it.
    pub(super) fn new<'a>(directories: impl Iterator<Item = &'a Path>) -> Self {
        let real = directories.filter_map(|directory| directory.canonicalize().ok());
        Self(real.filter(|directory| directory.parent().is_some()).collect())
    }

    /// The program of that name in a directory, if it may be started.
    pub(super) fn program(&self, directory: &Path, name: &Path) -> Option<PathBuf> {
        let found = directory.join(name);
        if !is_executable(&found) {
            return None;
        }
        (self.trusts(directory) && self.trusts(&found)).then_some(found)
    }

    /// Whether only people who may do everything can have put something there.
    pub(super) fn trusts(&self, path: &Path) -> bool {
        let Ok(real) = path.canonicalize() else { return false };
        path.is_absolute() && !is_open(path) && !self.0.iter().any(|directory| real.starts_with(directory))
    }
}

pub(super) fn is_executable(path: &Path) -> bool {
    access(path, Access::EXEC_OK).is_ok() && !path.is_dir()
}

/// Whether everybody may write it.
fn is_open(path: &Path) -> bool {
    rustix::fs::stat(path).is_ok_and(|found| found.st_mode & 0o002 != 0)
}
