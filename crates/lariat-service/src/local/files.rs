//! The files of a workspace, as the trust check reads them.

use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use lariat_guard::trust::{Entry, Identity, WorkspaceReader};
use lariat_host::files::{EntryKind, FileError, Workspace};

use super::{FileOwnership, Owner};

/// Maximum entries of a directory; the guard refuses fewer already.
const MAX_ENTRIES: usize = 10_000;

/// The files of a workspace, accessed through its own handle, so that no link leads out of it.
#[derive(Clone, Copy, Debug)]
pub struct WorkspaceFiles<'a>(pub &'a Workspace);

impl WorkspaceFiles<'_> {
    /// The identity of the directory.
    ///
    /// # Errors
    /// If the system does not report it.
    pub fn identity(&self) -> std::io::Result<Identity> {
        let root = self.0.roots().first().ok_or(std::io::ErrorKind::NotFound)?;
        let state = std::fs::File::from(root.handle().try_clone()?).metadata()?;
        let path = self.0.path().canonicalize()?.display().to_string();
        Ok(Identity { path, device: state.dev(), inode: state.ino() })
    }
}

/// The files of a project, without the user's own files inside it, which are not part of the project's configuration.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProjectFiles<'a> {
    pub(super) files: WorkspaceFiles<'a>,
    pub(super) territory: &'a FileOwnership,
}

impl ProjectFiles<'_> {
    fn is_user_file(&self, path: &str) -> bool {
        self.territory.owner(&self.files.0.path().join(path)) == Owner::User
    }
}

impl WorkspaceReader for ProjectFiles<'_> {
    fn top(&self) -> Option<&Path> {
        self.files.top()
    }

    fn entries(&self, folder: &str) -> Result<Vec<Entry>, String> {
        if self.is_user_file(folder) { Ok(Vec::new()) } else { self.files.entries(folder) }
    }

    fn read(&self, path: &str, limit: usize) -> Result<Option<Vec<u8>>, String> {
        if self.is_user_file(path) { Ok(None) } else { self.files.read(path, limit) }
    }
}

impl WorkspaceReader for WorkspaceFiles<'_> {
    fn top(&self) -> Option<&Path> {
        Some(self.0.path())
    }

    fn entries(&self, folder: &str) -> Result<Vec<Entry>, String> {
        let (names, more) = match self.0.list(folder, MAX_ENTRIES) {
            Ok(listed) => listed,
            Err(FileError::NotFound { .. } | FileError::NotADirectory(_)) => return Ok(Vec::new()),
            Err(error) => return Err(error.to_string()),
        };
        if more {
            return Err(format!("it has more than {MAX_ENTRIES} entries"));
        }
        let entry = |entry: lariat_host::files::Entry| {
            let name = entry.name.into_string().map_err(|name| format!("{name:?} is not UTF-8"))?;
            Ok(match entry.kind {
                EntryKind::File => Entry::File(name),
                EntryKind::Directory => Entry::Folder(name),
                EntryKind::Link => {
                    let target = self.0.path().join(folder).join(&name).read_link();
                    let target = target.map_err(|error| error.to_string())?;
                    Entry::Link(name, target.display().to_string())
                }
                _ => Entry::Other(name),
            })
        };
        names.into_iter().map(entry).collect()
    }

    fn read(&self, path: &str, limit: usize) -> Result<Option<Vec<u8>>, String> {
        let file = match self.0.file(path) {
            Ok((file, _)) => file,
            Err(FileError::NotFound { .. } | FileError::IsDirectory(_) | FileError::NotADirectory(_)) => {
                return Ok(None);
            }
            Err(error) => return Err(error.to_string()),
        };
        let mut bytes = Vec::new();
        file.take(limit as u64).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
        Ok(Some(bytes))
    }
}
