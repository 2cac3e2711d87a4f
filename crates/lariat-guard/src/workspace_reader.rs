//! The contract by which the guard reads the files of a workspace.

use std::path::Path;

/// Access to the files of a workspace. The host implements it relative to the workspace's own handle, so that no link leads
/// out of it.
pub trait WorkspaceReader {
    /// Returns the entries of a directory; empty if it does not exist.
    fn entries(&self, folder: &str) -> Result<Vec<Entry>, String>;

    /// Returns the bytes of a file, at most `limit`; `None` if it does not exist.
    fn read(&self, path: &str, limit: usize) -> Result<Option<Vec<u8>>, String>;

    /// The path of the workspace, to recognise absolute paths in it.
    fn top(&self) -> Option<&Path> {
        None
    }
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A directory with this name.
    Folder(String),
    /// A file with this name.
    File(String),
    /// A link with this name, and its target as written.
    Link(String, String),
    /// Something else, with this name: a socket, a device.
    Other(String),
}
