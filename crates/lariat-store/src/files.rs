//! Contains every file system access of this crate, and the lock that keeps a second writer out of a session.
//!
//! A durable change happens in three steps: sync the data, rename the file into place, sync the directory. Invariant: at
//! most one living process holds a session's lock, and a lock becomes free when its holder dies.

#![expect(clippy::disallowed_methods, reason = "the store accesses its own files only here")]

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt};
use std::path::{Path, PathBuf};

pub(crate) fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Opens a file for reading and writing. Creates it if needed and never truncates it.
pub(crate) fn open_to_write(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
}

/// Writes the bytes of a file again, at the same places, and syncs them. The caller makes sure that nothing else writes it.
#[cfg(feature = "sqlite")]
pub(crate) fn rewrite(path: &Path) -> io::Result<()> {
    let mut file = open_to_write(path)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    file.rewind()?;
    file.write_all(&bytes)?;
    file.sync_data()
}

/// Creates a directory and its parents durably: syncs each parent before it creates anything in the new directory. Syncs
/// the parent of an existing directory too, because the process that created it may have died before its sync.
pub(crate) fn create_dir_durably(path: &Path) -> io::Result<()> {
    let Some(parent) = path.parent() else { return Ok(()) };
    if path.is_dir() {
        return match sync_dir(parent) {
            // The parent is outside the store and belongs to another user.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
            synced => synced,
        };
    }
    create_dir_durably(parent)?;
    match private_dir_builder().create(path) {
        // Another process created it first.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
        made => made?,
    }
    sync_dir(parent)
}

/// Creates a directory and its parents for data that a power loss may destroy.
pub(crate) fn create_cache_dir(path: &Path) -> io::Result<()> {
    private_dir_builder().recursive(true).create(path)
}

/// Only the owner may read a store.
fn private_dir_builder() -> std::fs::DirBuilder {
    let mut builder = std::fs::DirBuilder::new();
    builder.mode(0o700);
    builder
}

/// Makes the entries of a directory durable.
pub(crate) fn sync_dir(path: &Path) -> io::Result<()> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    File::open(path)?.sync_all()
}

/// Replaces a whole file durably: others see the old content or the new one, and after this function returns the new
/// content survives a power loss.
pub(crate) fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_and_rename(path, |file| {
        file.write_all(bytes)?;
        file.sync_data()
    })?;
    path.parent().map_or(Ok(()), sync_dir)
}

/// Replaces a whole file without a sync: a power loss may destroy the old content too. For data that can be rebuilt.
pub(crate) fn put_cache(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_and_rename(path, |file| file.write_all(bytes))
}

fn write_and_rename(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let temporary = temporary(path);
    let written = create(&temporary)
        .and_then(|mut file| write(&mut file))
        .and_then(|()| std::fs::rename(&temporary, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    written
}

/// Returns an unused name next to a file. A name with a leading dot never belongs to a finished file.
pub(crate) fn temporary(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}", uuid::Uuid::new_v4().simple()))
}

/// Creates a file, and fails if it exists.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).open(path)
}

/// Opens an existing file for reading and writing.
pub(crate) fn open_existing(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open(path)
}

/// Gives a file a second name with a hard link. Copies the file where the file system has no hard links.
pub(crate) fn link_or_copy(path: &Path, kept: &Path) -> io::Result<()> {
    if std::fs::hard_link(path, kept).is_err() {
        let mut copy = create(kept)?;
        io::copy(&mut open(path)?, &mut copy)?;
        copy.sync_data()?;
    }
    kept.parent().map_or(Ok(()), sync_dir)
}

/// Makes an existing file, which another process may have put in place, durable and updates its modification time.
pub(crate) fn refresh(path: &Path, level: FileDurability) -> io::Result<()> {
    let file = open_existing(path)?;
    file.set_modified(std::time::SystemTime::now())?;
    if level == FileDurability::Durable {
        file.sync_all()?;
        path.parent().map_or(Ok(()), sync_dir)?;
    }
    Ok(())
}

/// Whether a file must survive a power loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileDurability {
    /// A power loss may destroy it.
    Cache,
    /// It survives a power loss.
    Durable,
}

/// File metadata that changes whenever the file changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileState {
    /// Length in bytes.
    pub(crate) length: u64,
    /// Time of the last modification, in nanoseconds.
    pub(crate) changed: i64,
    /// The inode number, which changes when the file is replaced.
    pub(crate) inode: u64,
}

/// Returns the state of a file, or `None` if it does not exist.
pub(crate) fn state(path: &Path) -> io::Result<Option<FileState>> {
    match std::fs::metadata(path) {
        Ok(data) => Ok(Some(FileState {
            length: data.len(),
            changed: data.mtime().wrapping_mul(1_000_000_000).wrapping_add(data.mtime_nsec()),
            inode: data.ino(),
        })),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the time since a file was modified, or zero if it does not exist or the clock went backwards.
pub(crate) fn age(path: &Path) -> std::time::Duration {
    let changed = std::fs::metadata(path).and_then(|data| data.modified());
    changed.ok().and_then(|changed| changed.elapsed().ok()).unwrap_or_default()
}

/// Returns the content of a file, or `None` if it does not exist.
pub(crate) fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Removes a file. Succeeds if it does not exist.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Renames a file within its directory, durably.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::rename(from, to)?;
    to.parent().map_or(Ok(()), sync_dir)
}

/// Returns the paths in a directory, or none if the directory does not exist.
pub(crate) fn list(path: &Path) -> io::Result<Vec<PathBuf>> {
    match std::fs::read_dir(path) {
        Ok(entries) => entries.map(|entry| entry.map(|entry| entry.path())).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// An exclusive lock among all processes of this machine. Released when dropped and when the process ends.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    file: File,
}

/// Why a lock could not be taken.
#[derive(Debug)]
pub(crate) enum LockError {
    /// Another process holds it. Contains the description that the holder wrote.
    HeldBy(String),
    /// The lock file could not be opened or locked.
    Io(io::Error),
}

impl Lock {
    /// Takes the lock or reports its holder. Does not wait: the lock of a dead process is free at once.
    pub(crate) fn take(path: &Path) -> Result<Self, LockError> {
        loop {
            let mut file = open_to_write(path).map_err(LockError::Io)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let mut holder = String::new();
                    let _ = file.read_to_string(&mut holder);
                    return Err(LockError::HeldBy(holder.trim().to_owned()));
                }
                Err(TryLockError::Error(error)) => return Err(LockError::Io(error)),
            }
            // The previous holder removed the file after we opened it and before we locked it: this lock excludes no one.
            let ours = file.metadata().map_err(LockError::Io)?;
            if !std::fs::metadata(path)
                .is_ok_and(|there| there.ino() == ours.ino() && there.dev() == ours.dev())
            {
                continue;
            }
            let about = format!("process {}\n", std::process::id());
            // Only informs users: a lock that cannot describe its holder is still a lock.
            let _ = file
                .set_len(0)
                .and_then(|()| file.seek(SeekFrom::Start(0)))
                .and_then(|_| file.write_all(about.as_bytes()));
            return Ok(Self { path: path.to_owned(), file });
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Remove the file while holding the lock, so that a process that already opened it notices the removal.
        let _ = std::fs::remove_file(&self.path);
        let _ = self.file.unlock();
    }
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
