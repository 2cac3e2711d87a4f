//! The directories with the snapshots of loops and races, and those that a killed process left behind.
//!
//! A directory exists before the journal records its loop or race, so a process that is killed in between leaves one that no journal
//! names. Each directory names the store of its session and is locked while a process uses it. When a loop or a race starts, it removes
//! the directories that no process uses and whose store has no such session, and those of loops that ended.
//!
//! Invariant: removes nothing that another process uses, and nothing whose store is not the one at hand.

use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lariat_core::id::SessionId;

use super::{LOOP_TAG, LoopRecord};
use crate::{LocalService, private};

/// The file that names the store and the session, one on each line.
const OWNER: &str = "lariat-session";
/// How often to try to lock a directory that another process is removing, and the pause between two attempts: two seconds together.
const ATTEMPTS: u32 = 100;
const PAUSE: Duration = Duration::from_millis(20);

/// A directory of snapshots that this process uses, until this is dropped.
#[derive(Debug)]
pub(crate) struct SnapshotDirectory {
    pub(crate) path: PathBuf,
    _lock: File,
}

impl SnapshotDirectory {
    /// Creates the directory of a session, or opens it, and keeps other processes from removing it.
    pub(crate) async fn open(service: &LocalService, session: &SessionId) -> io::Result<Self> {
        let path = service.folders().loop_snapshots(session.as_str());
        let lock = lock(&path).await?;
        let owner = path.join(OWNER);
        if let Some(store) = service.store_name()
            && owner.symlink_metadata().is_err()
        {
            private::write(&owner, format!("{store}\n{session}\n").as_bytes())?;
        }
        Ok(Self { path, _lock: lock })
    }
}

/// Creates a directory and locks it. Another process may remove it in between, because no session names it.
#[expect(clippy::disallowed_methods, reason = "a directory of Lariat")]
async fn lock(path: &Path) -> io::Result<File> {
    for _ in 0..ATTEMPTS {
        private::directory(path)?;
        match File::open(path) {
            Ok(file) => match file.try_lock_shared() {
                Ok(()) if is_at(&file, path) => return Ok(file),
                Ok(()) | Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        tokio::time::sleep(PAUSE).await;
    }
    Err(io::Error::new(io::ErrorKind::ResourceBusy, "another process is removing it"))
}

/// Whether the path still leads to an open directory.
fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(open), Ok(found)) = (file.metadata(), path.symlink_metadata()) else { return false };
    (open.dev(), open.ino()) == (found.dev(), found.ino())
}

/// Removes the directories that killed processes left behind. What cannot be read or removed stays.
pub(crate) async fn remove_leftovers(service: &LocalService) {
    let Some(store) = service.store_name() else { return };
    let all = service.folders().state.join("loops");
    let entries = all.read_dir().into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        let Some(_lock) = lock_if_unused(&path) else { continue };
        let (owner, session) = match owner(&path) {
            Ok(found) => found,
            Err(error) => {
                // Its process was killed before it wrote anything: removes an empty directory, and no other.
                if error.kind() == io::ErrorKind::NotFound {
                    let _ = std::fs::remove_dir(&path);
                }
                continue;
            }
        };
        if owner == store && is_leftover(service, &session).await {
            remove(service, &path, &session);
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "directories of Lariat")]
fn remove(service: &LocalService, path: &Path, session: &SessionId) {
    let _ = std::fs::remove_dir_all(path);
    let _ = std::fs::remove_dir_all(service.folders().race_copies(session.as_str()));
}

/// Locks a directory that no process uses, so that none begins to use it. Processes release their locks when they end, however they
/// end.
#[expect(clippy::disallowed_methods, reason = "a directory of Lariat")]
fn lock_if_unused(path: &Path) -> Option<File> {
    let file = File::open(path).ok()?;
    (file.metadata().ok()?.is_dir() && file.try_lock().is_ok() && is_at(&file, path)).then_some(file)
}

/// The store and the session of a directory.
#[expect(clippy::disallowed_methods, reason = "a file of Lariat")]
fn owner(path: &Path) -> io::Result<(String, SessionId)> {
    let text = std::fs::read_to_string(path.join(OWNER))?;
    let mut lines = text.lines();
    match (lines.next(), lines.next()) {
        (Some(store), Some(session)) => Ok((store.to_owned(), SessionId::from(session))),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Whether a session does not exist, or is a loop that ended. The snapshots of a race stay until the race is deleted.
async fn is_leftover(service: &LocalService, session: &SessionId) -> bool {
    let archive = service.archive();
    match archive.head(session).await {
        Ok(0) => return true,
        Ok(_) => {}
        Err(_) => return false,
    }
    let is_loop = match archive.summary(session).await {
        Ok(summary) => summary.tags.iter().any(|tag| tag == LOOP_TAG),
        Err(_) => return false,
    };
    let events = if is_loop { service.events(session).await.unwrap_or_default() } else { Vec::new() };
    LoopRecord::of(events.iter().map(|event| &**event)).end.is_some()
}
