//! A small file of the guard's own: what it was told to remember.
//!
//! Owns the one door to the file system in this crate. Only the user can read the file; a change takes a lock, so that
//! two programs do not lose each other's; it appears as a whole or not at all.

#![expect(clippy::disallowed_methods, reason = "the guard's own files, outside of every workspace")]

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// More than this is not ours.
const LARGEST: u64 = 64 * 1024 * 1024;

/// A file that holds one value.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    path: PathBuf,
}

/// Why the guard's memory could not be used. Whoever sees this goes on as if nothing were remembered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeptError {
    /// The file could not be read or written.
    #[error("{path}: {source}")]
    File {
        /// Which file.
        path: PathBuf,
        /// What happened.
        source: io::Error,
    },
    /// Other users can write the file, so what it says may be theirs.
    #[error("{path} can be written by other users (its mode is {mode:03o}), so it is not used")]
    Exposed {
        /// Which file.
        path: PathBuf,
        /// Who may do what with it.
        mode: u32,
    },
    /// The file is not what was written. It is left as it is.
    #[error("{path} is damaged ({problem}); move it away to start anew")]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// Where it stops making sense.
        problem: String,
    },
}

impl Kept {
    pub(crate) fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// What is remembered; the default when there is no file.
    pub(crate) fn load<T: DeserializeOwned + Default>(&self) -> Result<T, KeptError> {
        let mut text = Vec::new();
        match File::open(&self.path) {
            Ok(file) => {
                self.check(&file)?;
                file.take(LARGEST).read_to_end(&mut text).map_err(|source| self.error(source))?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(T::default()),
            Err(error) => return Err(self.error(error)),
        }
        serde_json::from_slice(&text)
            .map_err(|problem| KeptError::Damaged { path: self.path.clone(), problem: problem.to_string() })
    }

    /// Closes a file that others could read; one that others could write is not believed.
    #[cfg(unix)]
    fn check(&self, file: &File) -> Result<(), KeptError> {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = file.metadata().map_err(|source| self.error(source))?.permissions().mode() & 0o777;
        if mode & 0o022 != 0 {
            return Err(KeptError::Exposed { path: self.path.clone(), mode });
        }
        if mode & 0o077 != 0 {
            // Where it cannot be closed, it belongs to someone else who keeps it open; nothing secret is in it.
            let _ = file.set_permissions(Permissions::from_mode(0o600));
        }
        Ok(())
    }

    #[cfg(not(unix))]
    fn check(&self, _: &File) -> Result<(), KeptError> {
        Ok(())
    }

    /// Changes what is remembered. Waits for others who do.
    pub(crate) fn update<T, R>(&self, change: impl FnOnce(&mut T) -> R) -> Result<R, KeptError>
    where
        T: DeserializeOwned + Serialize + Default,
    {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        make_private(folder).map_err(|source| self.error(source))?;
        let lock = private(&self.path.with_extension("lock")).map_err(|source| self.error(source))?;
        lock.lock().map_err(|source| self.error(source))?;
        let mut value: T = self.load()?;
        let result = change(&mut value);
        self.replace(folder, &value).map_err(|source| self.error(source))?;
        Ok(result)
    }

    fn replace<T: Serialize>(&self, folder: &Path, value: &T) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(value).map_err(io::Error::other)?;
        // Under the lock, so the name is ours.
        let new = self.path.with_extension("new");
        match std::fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = private(&new)?;
        file.write_all(&text)?;
        file.sync_all()?;
        std::fs::rename(&new, &self.path)?;
        File::open(folder)?.sync_all()
    }

    fn error(&self, source: io::Error) -> KeptError {
        KeptError::File { path: self.path.clone(), source }
    }
}

/// A directory that only the user can enter, made with those above it if they are missing.
fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// A file that only the user can read, made if it is missing.
fn private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    #[cfg(unix)]
    file.set_permissions(<Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o600))?;
    Ok(file)
}
