//! The contract for checking the real path of a file that a tool call opened.
//!
//! The permission check of a tool call looks at the paths that the call names. Between that check and the
//! opening of a file, another process can replace a directory with a symbolic link. So after the host opens a
//! file for a tool call, it checks the real path of the open handle again with a [`FileAccessCheck`]. The gate
//! implements it; the host calls it for every file it opens.

use std::path::Path;

/// How a tool call uses a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileUse {
    /// Reads the file, or lists it if it is a directory.
    Read,
    /// Creates, changes, moves or removes the file.
    Write,
    /// Creates a directory, or removes an empty one.
    Folder,
}

/// Decides whether a tool call may use a file that it opened.
pub trait FileAccessCheck: Send + Sync {
    /// Decides whether the tool call may use the file whose real path is `path`.
    ///
    /// # Errors
    /// The reason for the denial, as text for the model.
    fn judge(&self, path: &Path, used: FileUse) -> Result<(), String>;

    /// Returns true if every file below `directory` may be read, so that a directory walk need not check each
    /// file.
    fn reads_everything_in(&self, directory: &Path) -> bool {
        let _ = directory;
        false
    }
}
