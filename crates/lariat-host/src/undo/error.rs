//! Defines why an undo operation failed.

use rustix::io::Errno;

/// Why an undo operation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UndoError {
    /// The undo store could not be read or written.
    #[error("could not access the undo store at `{path}`: {source}")]
    Store {
        /// The file or directory.
        path: String,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// The workspace could not be scanned.
    #[error("could not scan the workspace: {0}")]
    Workspace(std::io::Error),
    /// Another process uses the store.
    #[error("the undo store at `{0}` is in use by another process")]
    Busy(String),
    /// The store would be inside the workspace that it records.
    #[error("the undo store at `{0}` is inside the workspace; choose a directory outside it")]
    Inside(String),
    /// The tool call has no checkpoint, or its checkpoint was dropped.
    #[error(
        "no checkpoint for tool call `{0}`: it changed no files here, or the checkpoint was dropped as too old"
    )]
    Unknown(String),
}

impl UndoError {
    pub(super) fn store(path: &std::path::Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.display().to_string();
        move |source| Self::Store { path, source }
    }

    pub(super) fn workspace(errno: Errno) -> Self {
        Self::Workspace(errno.into())
    }

    /// Whether the same operation may succeed later without changes.
    pub const fn is_retryable(&self) -> bool {
        matches!(self, Self::Busy(_))
    }
}
