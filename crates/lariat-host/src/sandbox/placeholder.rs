//! Protected paths that do not exist.
//!
//! A mount needs something to lie on. So a protected path that is missing is made, empty and without permissions,
//! before a command starts, and taken away when no command needs it any more. Commands of other processes may need it,
//! too: everyone who does holds a shared lock on the directory it is in, and only who gets that lock alone takes it
//! away. What a crash left behind is recognised by its mode and emptiness.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, FlockOperation, Mode, OFlags};

/// Nobody but root gives a directory or a file such modes by chance and leaves it empty.
const DIRECTORY: Mode = Mode::from_raw_mode(0o500);
const FILE: Mode = Mode::from_raw_mode(0o400);

/// Placeholders of one command; dropping lets go of them.
#[derive(Debug, Default)]
pub(crate) struct Placeholders {
    /// Directories with their locks, and what is held in each.
    held: BTreeMap<PathBuf, (OwnedFd, Vec<PathBuf>)>,
}

impl Placeholders {
    /// Makes those of `paths` that are missing and whose directory is there.
    pub(super) fn make(paths: &[PathBuf]) -> io::Result<Self> {
        let mut made = Self::default();
        for path in paths {
            let Some(parent) = path.parent() else { continue };
            let held = match made.held.entry(parent.to_owned()) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => {
                    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
                    let Ok(directory) = rustix::fs::open(parent, flags, Mode::empty()) else { continue };
                    // Held before looking, so that nobody takes away what is found.
                    rustix::fs::flock(&directory, FlockOperation::LockShared)?;
                    entry.insert((directory, Vec::new()))
                }
            };
            let exists = rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).is_ok();
            if exists && !is_placeholder(path) {
                continue;
            }
            if !exists {
                create(path)?;
            }
            held.1.push(path.clone());
        }
        Ok(made)
    }
}

/// A name with an extension is a file's.
fn create(path: &Path) -> io::Result<()> {
    let made = if path.extension().is_some() {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        rustix::fs::openat(CWD, path, flags, FILE).map(drop)
    } else {
        rustix::fs::mkdirat(CWD, path, DIRECTORY)
    };
    match made {
        // Somebody else made one just now.
        Err(rustix::io::Errno::EXIST) => Ok(()),
        made => made.map_err(io::Error::from),
    }
}

fn is_placeholder(path: &Path) -> bool {
    let Ok(found) = rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW) else { return false };
    let mode = Mode::from_raw_mode(found.st_mode & 0o7777);
    match FileType::from_raw_mode(found.st_mode) {
        // One that is not empty is not removed: the kernel refuses.
        FileType::Directory => mode == DIRECTORY,
        FileType::RegularFile => mode == FILE && found.st_size == 0,
        _ => false,
    }
}

impl Drop for Placeholders {
    fn drop(&mut self) {
        for (directory, paths) in self.held.values() {
            if rustix::fs::flock(directory, FlockOperation::NonBlockingLockExclusive).is_err() {
                continue;
            }
            for path in paths.iter().filter(|path| is_placeholder(path)) {
                let flags = if path.extension().is_some() { AtFlags::empty() } else { AtFlags::REMOVEDIR };
                let _ = rustix::fs::unlinkat(CWD, path, flags);
            }
        }
    }
}

#[cfg(test)]
#[path = "placeholder_tests.rs"]
mod tests;
