//! Why something could not be remembered or brought back.

use rustix::io::Errno;

/// Why something could not be remembered or brought back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UndoError {
    /// The undo store could not be read or written.
    #[error("the undo store at `{path}` failed: {source}")]
    Store {
        /// The file or directory.
        path: String,
        /// The system's words.
        source: std::io::Error,
    },
    /// The workspace could not be looked at.
    #[error("the workspace could not be looked at: {0}")]
    Workspace(std::io::Error),
    /// Somebody else uses the store.
    #[error("the undo store at `{0}` is in use by another process")]
    Busy(String),
    /// The store would lie in what it remembers.
    #[error("the undo store at `{0}` lies in the workspace; choose a directory outside of it")]
    Inside(String),
    /// No such call is remembered, or it is so old that it was dropped.
    #[error("nothing is remembered of the call `{0}`: it changed nothing here, or was dropped as too old")]
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

    /// True when the same call may succeed later without being changed.
    pub const fn is_retryable(&self) -> bool {
        matches!(self, Self::Busy(_))
    }
}
