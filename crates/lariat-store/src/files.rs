//! The one door to the file system of this crate, and the lock that keeps a session's second writer out.
//!
//! Owns what makes a change of files durable: data is synced, then the name is put in place, then the folder is
//! synced. Invariant: a session's lock is held by at most one living process, and by none when its holder died.

#![expect(clippy::disallowed_methods, reason = "this is the store's door to its own files")]

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt};
use std::path::{Path, PathBuf};

/// Opens a file for reading.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Opens a file for reading and writing, creating it if needed. Nothing of it is cut.
pub(crate) fn open_to_write(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
}

/// Makes a folder and those above it, durable: each is synced before there is something in it. One that is there is
/// synced again, for whoever made it may have died before.
pub(crate) fn make_folder(path: &Path) -> io::Result<()> {
    let Some(parent) = path.parent() else { return Ok(()) };
    if path.is_dir() {
        return match sync_folder(parent) {
            // A folder above that is none of our business.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
            synced => synced,
        };
    }
    make_folder(parent)?;
    match private_folder().create(path) {
        // Somebody else was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
        made => made?,
    }
    sync_folder(parent)
}

/// Makes a folder and those above it, for what may be lost in a power loss.
pub(crate) fn make_cache_folder(path: &Path) -> io::Result<()> {
    private_folder().recursive(true).create(path)
}

/// What is in a store is for its owner alone.
fn private_folder() -> std::fs::DirBuilder {
    let mut builder = std::fs::DirBuilder::new();
    builder.mode(0o700);
    builder
}

/// Makes the names in a folder durable.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    File::open(path)?.sync_all()
}

/// Puts a whole file in place: others see the old one or the new one, and after this returned the new one, also after
/// a power loss.
pub(crate) fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    put_by(path, |file| {
        file.write_all(bytes)?;
        file.sync_data()
    })?;
    path.parent().map_or(Ok(()), sync_folder)
}

/// Puts a whole file in place that may be lost in a power loss, the old one included: for what can be made again.
pub(crate) fn put_cache(path: &Path, bytes: &[u8]) -> io::Result<()> {
    put_by(path, |file| file.write_all(bytes))
}

fn put_by(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let temporary = temporary(path);
    let written = create(&temporary)
        .and_then(|mut file| write(&mut file))
        .and_then(|()| std::fs::rename(&temporary, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    written
}

/// A name beside a file that nothing else has. Names with a dot in front are never a finished file.
pub(crate) fn temporary(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}", uuid::Uuid::new_v4().simple()))
}

/// Makes a file that was not there.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).open(path)
}

/// Opens a file that is there for reading and writing.
pub(crate) fn open_again(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open(path)
}

/// Gives a file a second name; where that is not possible, a copy.
pub(crate) fn keep_as(path: &Path, kept: &Path) -> io::Result<()> {
    if std::fs::hard_link(path, kept).is_err() {
        let mut copy = create(kept)?;
        io::copy(&mut open(path)?, &mut copy)?;
        copy.sync_data()?;
    }
    kept.parent().map_or(Ok(()), sync_folder)
}

/// Makes a file durable that somebody else put in place, and young again.
pub(crate) fn settle(path: &Path, level: Settled) -> io::Result<()> {
    let file = open_again(path)?;
    file.set_modified(std::time::SystemTime::now())?;
    if level == Settled::Durable {
        file.sync_all()?;
        path.parent().map_or(Ok(()), sync_folder)?;
    }
    Ok(())
}

/// Whether a power loss may take a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    /// It may.
    Cache,
    /// It may not.
    Durable,
}

/// What tells one state of a file from another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    /// Length in bytes.
    pub(crate) length: u64,
    /// Time of the last change, in nanoseconds.
    pub(crate) changed: i64,
    /// Number of the file in its file system: another one after it was replaced.
    pub(crate) inode: u64,
}

/// The state of a file; `None` when there is none.
pub(crate) fn state(path: &Path) -> io::Result<Option<State>> {
    match std::fs::metadata(path) {
        Ok(data) => Ok(Some(State {
            length: data.len(),
            changed: data.mtime().wrapping_mul(1_000_000_000).wrapping_add(data.mtime_nsec()),
            inode: data.ino(),
        })),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// How long ago a file was changed; zero when there is none or the clock went backwards.
pub(crate) fn age(path: &Path) -> std::time::Duration {
    let changed = std::fs::metadata(path).and_then(|data| data.modified());
    changed.ok().and_then(|changed| changed.elapsed().ok()).unwrap_or_default()
}

/// The whole of a file; `None` when there is none.
pub(crate) fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Removes a file; it is no error when there is none.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Gives a file another name in the same folder, durable.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::rename(from, to)?;
    to.parent().map_or(Ok(()), sync_folder)
}

/// The files of a folder; none when there is no folder.
pub(crate) fn list(path: &Path) -> io::Result<Vec<PathBuf>> {
    match std::fs::read_dir(path) {
        Ok(entries) => entries.map(|entry| entry.map(|entry| entry.path())).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Which file it is, whatever its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
}

/// Which file has this name. Does not open it.
pub(crate) fn identity(path: &Path) -> io::Result<Identity> {
    let metadata = std::fs::metadata(path)?;
    Ok(Identity { device: metadata.dev(), inode: metadata.ino() })
}

/// The right to write, among all processes of this machine. Ends when dropped, and with the process.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    file: File,
}

/// Why a lock was not given.
#[derive(Debug)]
pub(crate) enum Locked {
    /// Somebody has it: what they wrote about themselves.
    By(String),
    /// It could not be tried.
    Failed(io::Error),
}

impl Lock {
    /// Takes the lock or says who has it. Does not wait: the lock of a process that died is free at once.
    pub(crate) fn take(path: &Path) -> Result<Self, Locked> {
        loop {
            let mut file = open_to_write(path).map_err(Locked::Failed)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let mut holder = String::new();
                    let _ = file.read_to_string(&mut holder);
                    return Err(Locked::By(holder.trim().to_owned()));
                }
                Err(TryLockError::Error(error)) => return Err(Locked::Failed(error)),
            }
            // The holder before removed the file between our opening and locking it: this lock excludes nobody.
            let ours = file.metadata().map_err(Locked::Failed)?;
            if !std::fs::metadata(path)
                .is_ok_and(|there| there.ino() == ours.ino() && there.dev() == ours.dev())
            {
                continue;
            }
            let about = format!("process {}\n", std::process::id());
            // For people only: a lock that cannot say whose it is still is a lock.
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
        // Removed while it is still held, so that whoever opened it finds that out.
        let _ = std::fs::remove_file(&self.path);
        let _ = self.file.unlock();
    }
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
