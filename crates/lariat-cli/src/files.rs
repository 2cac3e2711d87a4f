//! Reads and writes files: those that the user names on the command line, and the user's own settings and keys.
//!
//! The only module of this crate that touches the file system. Every error names its file.

#![expect(clippy::disallowed_methods, reason = "this is the binary")]

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::exit::Exit;
use crate::problem::Problem;

/// An I/O error at a path. `doing` completes "could not …".
pub(crate) fn problem(path: &Path, doing: &str, error: &io::Error) -> Problem {
    Problem::new(Exit::Failed, format!("could not {doing}: {error}"))
        .at(path.display().to_string())
        .hint("check the path and its permissions")
}

pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Problem> {
    std::fs::read(path).map_err(|error| problem(path, "read the file", &error))
}

/// Returns the text of a file, or `None` if it cannot be read or is not UTF-8.
pub(crate) fn text(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// Returns the start of a regular file, or `None` if it cannot be read or is not UTF-8.
pub(crate) fn start(path: &Path, most: u64) -> Option<String> {
    if !path.is_file() {
        return None;
    }
    let mut text = String::new();
    File::open(path).ok()?.take(most).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Returns when a file was written, or `None` if that cannot be read.
pub(crate) fn modified(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|state| state.modified()).ok()
}

/// Removes a file, if it exists.
pub(crate) fn remove(path: &Path) {
    let _ = std::fs::remove_file(path);
}

/// Removes the files of a folder that nothing wrote to for this long.
pub(crate) fn remove_older(folder: &Path, age: Duration) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let written = entry.metadata().and_then(|state| state.modified()).ok();
        let is_old = written.and_then(|written| written.elapsed().ok()).is_some_and(|since| since > age);
        if is_old && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            remove(&entry.path());
        }
    }
}

pub(crate) fn open(path: &Path) -> Result<File, Problem> {
    File::open(path).map_err(|error| problem(path, "read the file", &error))
}

/// Creates a file. Fails if it exists.
pub(crate) fn create(path: &Path) -> Result<File, Problem> {
    let new = OpenOptions::new().write(true).create_new(true).open(path);
    new.map_err(|error| {
        let problem = problem(path, "write the file", &error);
        match error.kind() {
            io::ErrorKind::AlreadyExists => {
                problem.hint("choose another file name, or move the existing file")
            }
            _ => problem,
        }
    })
}

/// Creates a file with this text. Fails if it exists.
pub(crate) fn write_new(path: &Path, text: &str) -> Result<(), Problem> {
    create(path)?.write_all(text.as_bytes()).map_err(|error| problem(path, "write the file", &error))
}

/// Writes a file, replacing one that exists.
pub(crate) fn overwrite(path: &Path, bytes: &[u8]) -> Result<(), Problem> {
    std::fs::write(path, bytes).map_err(|error| problem(path, "write the file", &error))
}

/// Creates a directory and its parents with mode 0700.
pub(crate) fn make_private(folder: &Path) -> Result<(), Problem> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| problem(folder, "create the directory", &error))
}

/// Creates a directory and its parents.
pub(crate) fn make(folder: &Path) -> Result<(), Problem> {
    std::fs::create_dir_all(folder).map_err(|error| problem(folder, "create the directory", &error))
}

/// Reads a key file, or returns `None` if it does not exist. Fails if other users can read it.
pub(crate) fn read_private(path: &Path) -> Result<Option<String>, Problem> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(problem(path, "read the file", &error)),
    };
    // Checks the open file, so that the file checked is the file read.
    let state = file.metadata().map_err(|error| problem(path, "read the file", &error))?;
    let mode = state.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(Problem::new(
            Exit::Setup,
            format!("refused to read the key file: other users can read it (mode {mode:03o})"),
        )
        .at(path.display().to_string())
        .hint(format!(
            "run `chmod 600 '{}'`, and replace the keys in it: others may have read them",
            path.display()
        )));
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(|error| problem(path, "read the file", &error))?;
    Ok(Some(text))
}

/// Writes a file with mode 0600, atomically: it appears complete or not at all.
pub(crate) fn write_private(path: &Path, content: impl AsRef<[u8]>) -> Result<(), Problem> {
    if let Some(folder) = path.parent() {
        make_private(folder)?;
    }
    let new = path.with_extension(format!("{}.new", std::process::id()));
    let write = || {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        file.write_all(content.as_ref())?;
        file.sync_all()?;
        std::fs::rename(&new, path)
    };
    write().map_err(|error| {
        let _ = std::fs::remove_file(&new);
        problem(path, "write the file", &error)
    })
}

/// Replaces the text of a file, or creates it. Follows a symbolic link. Without `shared`, only the user can read the file.
pub(crate) fn replace(path: &Path, text: &str, shared: bool) -> Result<(), Problem> {
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if shared { overwrite(&target, text.as_bytes()) } else { write_private(&target, text) }
}
