//! The files beside the socket: its private directory, and locks that the kernel releases when a process ends.
//!
//! Invariants: locks are never deleted, because a process could hold the lock of a deleted file while another locks its
//! successor; only a process that holds the lock of the host changes the socket.

use std::ffi::OsString;
use std::fs::DirBuilder;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;

/// The identity of a file: two names with the same identity name the same file.
pub(crate) type FileIdentity = (u64, u64);

/// What is at a path where a socket should be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FoundFile {
    Nothing,
    Socket(FileIdentity),
    Other,
}

pub(crate) fn find(path: &Path) -> io::Result<FoundFile> {
    match std::fs::symlink_metadata(path) {
        Ok(data) if data.file_type().is_socket() => Ok(FoundFile::Socket((data.dev(), data.ino()))),
        Ok(_) => Ok(FoundFile::Other),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(FoundFile::Nothing),
        Err(error) => Err(error),
    }
}

pub(crate) fn remove(path: &Path) -> io::Result<()> {
    Ok(rustix::fs::unlink(path)?)
}

/// Makes a file readable and writable for its owner only.
pub(crate) fn make_private(path: &Path) -> io::Result<()> {
    Ok(rustix::fs::chmod(path, Mode::RUSR | Mode::WUSR)?)
}

/// Creates the directory with the mode 0700 if it is missing. Returns whether it belongs to this user alone.
pub(crate) fn private_directory(path: &Path) -> io::Result<bool> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    let data = std::fs::symlink_metadata(path)?;
    Ok(data.is_dir() && data.uid() == own_uid() && data.mode() & 0o077 == 0)
}

/// Returns the id of the user that runs this process.
pub(crate) fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Returns the path of a file beside the socket.
pub(crate) fn beside(socket: &Path, suffix: &str) -> PathBuf {
    let mut path = OsString::from(socket);
    path.push(suffix);
    path.into()
}

/// A file that one process at a time can lock. Dropping it, or the end of the process, releases the lock.
#[derive(Debug)]
pub(crate) struct LockFile(OwnedFd);

impl LockFile {
    /// Opens the file, or creates it.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        Ok(Self(rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?))
    }

    /// Locks the file. Returns false if it is locked already.
    pub(crate) fn try_lock(&self) -> io::Result<bool> {
        match rustix::fs::flock(&self.0, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(true),
            Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
