//! Stores one value in a small file of the user, outside every workspace: trust, approvals, the memory of a project.
//!
//! This is the only module of the crate that uses the file system. Only the user can read the file. An update takes a lock,
//! so that two processes do not lose each other's changes, and replaces the file atomically.

#![expect(clippy::disallowed_methods, reason = "the guard's own files, outside every workspace")]

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Maximum bytes that are read; no file of the guard is larger.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// A file that contains one value.
#[derive(Clone, Debug)]
pub struct StateFile {
    path: PathBuf,
    /// Whether a change survives a power cut.
    is_synced: bool,
}

/// Shows other processes that its owner lives. Ends when dropped and when the process ends.
#[derive(Debug)]
pub(crate) struct PresenceLock {
    path: PathBuf,
    _locked: File,
}

impl PresenceLock {
    /// Announces the owner by a lock on the file at `path`.
    pub(crate) fn announce(path: PathBuf) -> io::Result<Self> {
        make_private(path.parent().unwrap_or(Path::new(".")))?;
        let file = open_private(&path)?;
        // Another process holds the lock for a moment, while it checks.
        file.lock()?;
        Ok(Self { path, _locked: file })
    }

    /// Returns whether a living owner announced itself at `path`. Removes the file of an owner that ended.
    pub(crate) fn is_at(path: &Path) -> bool {
        let Ok(file) = File::open(path) else { return false };
        let is_present = matches!(file.try_lock_shared(), Err(std::fs::TryLockError::WouldBlock));
        if !is_present {
            let _ = std::fs::remove_file(path);
        }
        is_present
    }
}

impl Drop for PresenceLock {
    fn drop(&mut self) {
        // If this fails, the next process that checks removes the file.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// A file of the user could not be used. The caller continues as if it were empty, or stops.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateFileError {
    /// The file could not be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Other users can write the file, so its content may be theirs.
    #[error("other users can write {path} (mode {mode:03o}); the file is ignored. hint: chmod 600 {path}")]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The file is not valid. It is left unchanged.
    #[error("{path} is damaged ({problem}). hint: move it away to start with an empty one")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The error of the parser.
        problem: String,
    },
}

impl StateFile {
    /// Uses the file at `path`, which need not exist yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), is_synced: true }
    }

    /// Does not wait for the disk after a change: for values that need not survive a power cut.
    pub(crate) const fn unsynced(mut self) -> Self {
        self.is_synced = false;
        self
    }

    /// Reads the value; the default if there is no file.
    ///
    /// # Errors
    /// If it cannot be read, is not valid, or other users can write it.
    pub fn load<T: DeserializeOwned + Default>(&self) -> Result<T, StateFileError> {
        let mut text = Vec::new();
        match File::open(&self.path) {
            Ok(file) => {
                let size = self.check(&file)?;
                text.reserve_exact(
                    usize::try_from(size.min(MAX_BYTES)).unwrap_or_default().saturating_add(1),
                );
                file.take(MAX_BYTES).read_to_end(&mut text).map_err(|source| self.error(source))?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(T::default()),
            Err(error) => return Err(self.error(error)),
        }
        serde_json::from_slice(&text).map_err(|problem| StateFileError::Damaged {
            path: self.path.clone(),
            problem: problem.to_string(),
        })
    }

    /// Makes a file private that others can read; rejects one that others can write. Returns its size.
    #[cfg(unix)]
    fn check(&self, file: &File) -> Result<u64, StateFileError> {
        use std::os::unix::fs::PermissionsExt as _;
        let metadata = file.metadata().map_err(|source| self.error(source))?;
        let mode = metadata.permissions().mode() & 0o777;
        if mode & 0o022 != 0 {
            return Err(StateFileError::Exposed { path: self.path.clone(), mode });
        }
        if mode & 0o077 != 0 {
            // If this fails, the file belongs to another user who keeps it readable; nothing in it is secret.
            let _ = file.set_permissions(Permissions::from_mode(0o600));
        }
        Ok(metadata.len())
    }

    #[cfg(not(unix))]
    fn check(&self, file: &File) -> Result<u64, StateFileError> {
        Ok(file.metadata().map_err(|source| self.error(source))?.len())
    }

    /// Changes the value. Waits while another process changes it.
    ///
    /// # Errors
    /// If the file cannot be read or written.
    pub fn update<T, R>(&self, change: impl FnOnce(&mut T) -> R) -> Result<R, StateFileError>
    where
        T: DeserializeOwned + Serialize + Default,
    {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        make_private(folder).map_err(|source| self.error(source))?;
        let lock = open_private(&self.path.with_extension("lock")).map_err(|source| self.error(source))?;
        lock.lock().map_err(|source| self.error(source))?;
        let mut value: T = self.load()?;
        let result = change(&mut value);
        self.replace(folder, &value).map_err(|source| self.error(source))?;
        Ok(result)
    }

    fn replace<T: Serialize>(&self, folder: &Path, value: &T) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(value).map_err(io::Error::other)?;
        // The lock is held, so no other process uses this name.
        let new = self.path.with_extension("new");
        match std::fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = open_private(&new)?;
        file.write_all(&text)?;
        if !self.is_synced {
            return std::fs::rename(&new, &self.path);
        }
        file.sync_all()?;
        std::fs::rename(&new, &self.path)?;
        File::open(folder)?.sync_all()
    }

    fn error(&self, source: io::Error) -> StateFileError {
        StateFileError::File { path: self.path.clone(), source }
    }
}

/// Creates a directory that only the user can enter, and missing parents.
fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Opens a file that only the user can read; creates it if it is missing.
fn open_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    #[cfg(unix)]
    file.set_permissions(<Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o600))?;
    Ok(file)
}
