//! Files that a call has opened, judged by the path that each really has.
//!
//! The gate decides about a call by the paths it names. Between that decision and the opening of a file, another process
//! can put a link in the place of a directory. So whoever opens files for a call asks again, with the path of the handle
//! that it holds: [`FileJudge`] is that question. The gate answers it, the host asks it for every file it opens.

use std::path::Path;

/// What a call does with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileUse {
    /// Reads it, or its names if it is a directory.
    Read,
    /// Creates, changes, moves or removes it.
    Write,
    /// Creates a directory, or removes it while it is empty.
    Folder,
}

/// Judges the files that a call has opened.
pub trait FileJudge: Send + Sync {
    /// Decides whether the call may use the file that really has this path.
    ///
    /// # Errors
    /// Why not, as words for the model.
    fn judge(&self, path: &Path, used: FileUse) -> Result<(), String>;

    /// True when every file beneath a directory may be read, so that a walk need not ask for each.
    fn reads_everything_in(&self, directory: &Path) -> bool {
        let _ = directory;
        false
    }
}
