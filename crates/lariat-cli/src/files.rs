//! Files that this program reads and writes by itself: what a person names on the command line, and files of the person's own.
//!
//! The one door to the file system of this crate. Errors are told with their file.

#![expect(clippy::disallowed_methods, reason = "this is the binary")]

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use crate::exit::Exit;
use crate::problem::Problem;

/// What happened to a file.
pub(crate) fn problem(path: &Path, doing: &str, error: &io::Error) -> Problem {
    Problem::new(Exit::Failed, format!("it cannot be {doing}: {error}"))
        .at(path.display().to_string())
        .next("look whether the name is right, and whether you may do this there")
}

/// The bytes of a file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Problem> {
    std::fs::read(path).map_err(|error| problem(path, "read", &error))
}

/// The text of a file; none when there is no such file or it is no text.
pub(crate) fn text(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// A file to read from.
pub(crate) fn open(path: &Path) -> Result<File, Problem> {
    File::open(path).map_err(|error| problem(path, "read", &error))
}

/// A new file to write to; one that is there is not overwritten.
pub(crate) fn create(path: &Path) -> Result<File, Problem> {
    let new = OpenOptions::new().write(true).create_new(true).open(path);
    new.map_err(|error| {
        let problem = problem(path, "written", &error);
        match error.kind() {
            io::ErrorKind::AlreadyExists => problem.next("name another file, or move this one away"),
            _ => problem,
        }
    })
}

/// Writes a new file as a whole.
pub(crate) fn write_new(path: &Path, text: &str) -> Result<(), Problem> {
    create(path)?.write_all(text.as_bytes()).map_err(|error| problem(path, "written", &error))
}

/// Writes a file whether it is there or not.
pub(crate) fn overwrite(path: &Path, bytes: &[u8]) -> Result<(), Problem> {
    std::fs::write(path, bytes).map_err(|error| problem(path, "written", &error))
}

/// Makes a directory, with those above it, that only the person can enter.
pub(crate) fn make_private(folder: &Path) -> Result<(), Problem> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| problem(folder, "made", &error))
}

/// Makes a directory, with those above it.
pub(crate) fn make(folder: &Path) -> Result<(), Problem> {
    std::fs::create_dir_all(folder).map_err(|error| problem(folder, "made", &error))
}

/// The text of a file that nobody else may read; none when there is no such file.
pub(crate) fn read_private(path: &Path) -> Result<Option<String>, Problem> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(problem(path, "read", &error)),
    };
    // Of the open file, so that what is checked is what is read.
    let state = file.metadata().map_err(|error| problem(path, "read", &error))?;
    let mode = state.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(Problem::new(
            Exit::Setup,
            format!("others can read this file of keys (its mode is {mode:03o}), so it is not used"),
        )
        .at(path.display().to_string())
        .next(format!("`chmod 600 '{}'`, and consider the keys in it known to others", path.display())));
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(|error| problem(path, "read", &error))?;
    Ok(Some(text))
}

/// Writes a file that only the person can read. It appears as a whole, or not at all.
pub(crate) fn write_private(path: &Path, text: &str) -> Result<(), Problem> {
    if let Some(folder) = path.parent() {
        make_private(folder)?;
    }
    let new = path.with_extension(format!("{}.new", std::process::id()));
    let write = || {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&new, path)
    };
    write().map_err(|error| {
        let _ = std::fs::remove_file(&new);
        problem(path, "written", &error)
    })
}

/// Replaces the text of a file, or makes it; through a link, the file that it leads to. One that is not `shared` only the
/// person can read.
pub(crate) fn replace(path: &Path, text: &str, shared: bool) -> Result<(), Problem> {
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if shared { overwrite(&target, text.as_bytes()) } else { write_private(&target, text) }
}

/// The names in a directory; none when it cannot be read.
pub(crate) fn names(folder: &Path) -> Vec<std::ffi::OsString> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.file_name())).collect()
}
