//! The private `/tmp` of a session's sandboxed commands.
//!
//! Each session has a directory that its commands see as `/tmp`. It outlives commands and processes, so that a resumed session
//! finds its files again, and it is removed with the session or after a month without use.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::private;
use crate::user_directories::UserDirectories;

/// A directory that no process opened for this long is removed.
const UNUSED: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Creates the directory of a session, and removes directories that were not used for a month.
#[expect(clippy::disallowed_methods, reason = "the age of Lariat's own directories")]
pub(crate) fn directory(folders: &UserDirectories, session: &str) -> io::Result<PathBuf> {
    let own = folders.temporary(session);
    private::directory(&own)?;
    let now = SystemTime::now();
    std::fs::File::open(&own)?.set_modified(now)?;
    if let Some(all) = own.parent() {
        remove_unused(all, now)?;
    }
    Ok(own)
}

/// Removes the snapshots of a loop, if there are any.
pub(crate) fn remove_loop_snapshots(folders: &UserDirectories, session: &str) -> io::Result<()> {
    remove_all([folders.loop_snapshots(session)])
}

/// Removes the directory of a session, and the snapshots and copies of its loop or race, if there are any.
pub(crate) fn remove(folders: &UserDirectories, session: &str) -> io::Result<()> {
    remove_all([folders.temporary(session), folders.loop_snapshots(session), folders.race_copies(session)])
}

#[expect(clippy::disallowed_methods, reason = "Lariat's own directories")]
fn remove_all(directories: impl IntoIterator<Item = PathBuf>) -> io::Result<()> {
    for directory in directories {
        match std::fs::remove_dir_all(directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => other?,
        }
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "Lariat's own directories")]
fn remove_unused(all: &Path, now: SystemTime) -> io::Result<()> {
    for entry in all.read_dir()? {
        let path = entry?.path();
        let used = path.symlink_metadata().and_then(|state| state.modified());
        if used.is_ok_and(|used| now.duration_since(used).is_ok_and(|age| age > UNUSED)) {
            // Another process may remove it at the same time.
            let _ = std::fs::remove_dir_all(&path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    //! Tests of the private `/tmp` directories.
    #![expect(clippy::disallowed_methods, reason = "the tests use real directories")]

    use super::*;

    fn folders(name: &str) -> UserDirectories {
        let base = std::env::temp_dir().join(format!("lariat-temporary-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&base);
        UserDirectories { home: base.clone(), config: base.join("config"), state: base.join("state") }
    }

    #[test]
    fn keeps_files_until_the_session_is_deleted() {
        let folders = folders("keep");
        let own = directory(&folders, "a/b").unwrap();
        std::fs::write(own.join("x"), "1").unwrap();
        assert_eq!(directory(&folders, "a/b").unwrap(), own);
        assert!(own.join("x").exists());
        remove(&folders, "a/b").unwrap();
        assert!(!own.exists());
        remove(&folders, "a/b").unwrap();
        std::fs::remove_dir_all(&folders.home).unwrap();
    }

    #[test]
    fn removes_directories_unused_for_a_month() {
        let folders = folders("unused");
        let old = directory(&folders, "old").unwrap();
        let recent = directory(&folders, "recent").unwrap();
        let age = |path: &Path, days: u64| {
            let time = SystemTime::now() - Duration::from_secs(days * 24 * 60 * 60);
            std::fs::File::open(path).unwrap().set_modified(time).unwrap();
        };
        age(&old, 31);
        age(&recent, 29);
        directory(&folders, "new").unwrap();
        assert!(!old.exists() && recent.exists());
        std::fs::remove_dir_all(&folders.home).unwrap();
    }
}
