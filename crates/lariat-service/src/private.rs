//! Creates files and directories that only the user can read, and restricts those that others can read.
//!
//! A session's journal is never written to a file that other users can read.

use std::fs::{DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// The permission bits of other users.
const OTHERS: u32 = 0o077;

/// Whether other users had access before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PriorAccess {
    /// Only the user had access.
    Private,
    /// Others had access until now.
    Open,
}

/// Makes a directory private, creating it and its parents if missing.
pub(crate) fn directory(path: &Path) -> io::Result<PriorAccess> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    restrict(path, 0o700)
}

/// Creates a directory that the user chose, private if it is missing. Leaves an existing one unchanged, because it may be shared.
pub(crate) fn user_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Makes the files of a database private. Creates the main file if missing, so that it never has another mode; the database
/// creates its other files with the same mode.
pub(crate) fn database(path: &Path) -> io::Result<PriorAccess> {
    create(path)?;
    let mut prior = restrict(path, 0o600)?;
    for end in ["-wal", "-shm", ".lock"] {
        let mut beside = path.as_os_str().to_owned();
        beside.push(end);
        let beside = PathBuf::from(beside);
        if beside.symlink_metadata().is_ok_and(|state| state.is_file())
            && restrict(&beside, 0o600)? == PriorAccess::Open
        {
            prior = PriorAccess::Open;
        }
    }
    Ok(prior)
}

#[expect(clippy::disallowed_methods, reason = "the session database, in a directory of the user")]
fn create(path: &Path) -> io::Result<()> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path).map(drop)
}

/// Writes a file that only the user can read; one that others could read is restricted first.
#[expect(clippy::disallowed_methods, reason = "a file of Lariat, in a directory of the user")]
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    restrict(path, 0o600)?;
    file.write_all(bytes)
}

fn restrict(path: &Path, mode: u32) -> io::Result<PriorAccess> {
    let state = path.metadata()?;
    if state.mode() & OTHERS == 0 {
        return Ok(PriorAccess::Private);
    }
    std::fs::set_permissions(path, Permissions::from_mode(mode))?;
    Ok(PriorAccess::Open)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "a test's own directory")]

    use super::*;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().mode() & 0o777
    }

    #[test]
    fn restricts_open_files_and_reports_it() {
        let root = std::env::temp_dir().join(format!("lariat-private-{}", std::process::id()));
        let state = root.join("a/state");
        assert_eq!(directory(&state).unwrap(), PriorAccess::Private);
        assert_eq!((mode(&state), mode(&root)), (0o700, 0o700));
        std::fs::set_permissions(&state, Permissions::from_mode(0o755)).unwrap();
        assert_eq!(
            (directory(&state).unwrap(), directory(&state).unwrap()),
            (PriorAccess::Open, PriorAccess::Private)
        );
        let file = state.join("sessions.db");
        assert_eq!((database(&file).unwrap(), mode(&file)), (PriorAccess::Private, 0o600));
        for open in [file.clone(), state.join("sessions.db-wal")] {
            std::fs::write(&open, "").unwrap();
            std::fs::set_permissions(&open, Permissions::from_mode(0o644)).unwrap();
            assert_eq!((database(&file).unwrap(), mode(&open)), (PriorAccess::Open, 0o600), "{open:?}");
        }
        std::fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn written_file_is_private_even_if_it_was_open() {
        let root = std::env::temp_dir().join(format!("lariat-private-file-{}", std::process::id()));
        directory(&root).unwrap();
        let file = root.join("server.log");
        write(&file, b"one").unwrap();
        assert_eq!(mode(&file), 0o600);
        std::fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        write(&file, b"two").unwrap();
        assert_eq!((mode(&file), std::fs::read(&file).unwrap()), (0o600, b"two".to_vec()));
        std::fs::remove_dir_all(&root).unwrap();
    }
}
