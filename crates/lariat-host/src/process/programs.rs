//! Decides which directories of `PATH` may provide programs by name.
//!
//! `PATH` may contain a directory of the project, for example of an active virtual environment, and the agent can write
//! there. A file that the agent writes must not run in place of git or a shell. So a directory is skipped if it is
//! relative, if every user may write to it, or if it or the program in it lies, after following links, inside an
//! untrusted directory.

use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// Directories from which programs are not started by name.
pub(super) struct UntrustedDirectories(Vec<PathBuf>);

impl UntrustedDirectories {
    /// Ignores the root of the file system, because it contains everything.
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

    /// Whether only trusted users can have put a file there.
    pub(super) fn trusts(&self, path: &Path) -> bool {
        let Ok(real) = path.canonicalize() else { return false };
        path.is_absolute()
            && !is_world_writable(path)
            && !self.0.iter().any(|directory| real.starts_with(directory))
    }

    /// Whether a path is in one of the directories, or could be once it exists.
    pub(super) fn contains(&self, path: &Path) -> bool {
        if path.is_relative() {
            return true;
        }
        let Some(existing) = path.ancestors().find(|part| part.symlink_metadata().is_ok()) else {
            return false;
        };
        // A link whose target is missing may lead anywhere.
        existing
            .canonicalize()
            .map_or(true, |real| self.0.iter().any(|directory| real.starts_with(directory)))
    }
}

pub(super) fn is_executable(path: &Path) -> bool {
    access(path, Access::EXEC_OK).is_ok() && !path.is_dir()
}

/// Whether every user may write to it.
fn is_world_writable(path: &Path) -> bool {
    rustix::fs::stat(path).is_ok_and(|found| found.st_mode & 0o002 != 0)
}
