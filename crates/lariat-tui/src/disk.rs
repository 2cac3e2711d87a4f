//! Reads and writes the user's own small files: history and drafts. Only the user may read them.
//!
//! The only module of this crate that touches file contents. A replaced file is the old one or the new one, never a
//! part of one.

#![expect(clippy::disallowed_methods, reason = "the only module of this crate that touches file contents")]

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Reads a file of at most `most` bytes from its end, or returns `None` if there is none.
pub(crate) fn read_end(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(most)))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Replaces a file. A reader, or a crash, sees the old content or the new one.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    make_parent(path)?;
    let new = beside(path, &format!("{}.new", std::process::id()));
    let written =
        create(&new).and_then(|mut file| file.write_all(bytes)).and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written
}

/// Removes a file if it is there.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Appends a line, on a line of its own even if the one before it was cut off by a crash.
pub(crate) fn append_line(path: &Path, line: &str) -> io::Result<()> {
    make_parent(path)?;
    let mut file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
    let mut last = [b'\n'];
    if file.metadata()?.len() > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    let start = if last == [b'\n'] { "" } else { "\n" };
    file.write_all(format!("{start}{line}\n").as_bytes())
}

/// Keeps other programs that lock the same path out until the result is dropped.
pub(crate) fn lock(path: &Path) -> io::Result<File> {
    make_parent(path)?;
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(false).mode(0o600).open(beside(path, "lock"))?;
    file.lock()?;
    Ok(file)
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

fn make_parent(path: &Path) -> io::Result<()> {
    match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => DirBuilder::new().recursive(true).mode(0o700).create(parent),
        None => Ok(()),
    }
}

/// The path with another ending after its own.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    PathBuf::from(name)
}
