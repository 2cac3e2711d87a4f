//! Files and folders that only the person may read: made so, and closed where they are open.
//!
//! Invariant: a session's journal is not written to a file that other users can read.

use std::fs::{DirBuilder, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// What other users can do with a file.
const OTHERS: u32 = 0o077;

/// Whether something had to be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Was {
    /// Only the person could read it.
    Private,
    /// Others could, until now.
    Open,
}

/// A folder that only the person can enter, made with those above it if they are missing.
pub(crate) fn folder(path: &Path) -> io::Result<Was> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    close(path, 0o700)
}

/// A folder that the person chose, which may be shared: made private if it is missing, and left as it is otherwise.
pub(crate) fn chosen_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// The files of a database: the file itself is made if it is missing, so that it never has another mode; what the
/// database makes beside it has the same mode.
pub(crate) fn database(path: &Path) -> io::Result<Was> {
    create(path)?;
    let mut was = close(path, 0o600)?;
    for end in ["-wal", "-shm", ".lock"] {
        let mut beside = path.as_os_str().to_owned();
        beside.push(end);
        let beside = PathBuf::from(beside);
        if beside.symlink_metadata().is_ok_and(|state| state.is_file()) && close(&beside, 0o600)? == Was::Open
        {
            was = Was::Open;
        }
    }
    Ok(was)
}

#[expect(clippy::disallowed_methods, reason = "the database of sessions, in a folder of the person's")]
fn create(path: &Path) -> io::Result<()> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path).map(drop)
}

fn close(path: &Path, mode: u32) -> io::Result<Was> {
    let state = path.metadata()?;
    if state.mode() & OTHERS == 0 {
        return Ok(Was::Private);
    }
    std::fs::set_permissions(path, Permissions::from_mode(mode))?;
    Ok(Was::Open)
}

#[cfg(test)]
#[path = "private_tests.rs"]
mod tests;
