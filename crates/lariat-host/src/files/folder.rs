//! Walking by handle: a directory that is open, and what its names lead to without links.
//!
//! Owns the steps of a walk. A folder is reached by a path once; from there each step is one name, opened without
//! following links from the handle of the folder that has it. So a walk stays where it began, whatever other processes
//! do to the directories meanwhile.

use std::ffi::OsStr;
use std::fs::File;

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, openat, statat};
use rustix::io::Errno;

use super::directory::{Entry, entries};
use super::error::FileError;
use super::judged::Walked;
use super::read::CONTENT;
use super::stamp::Stamp;
use super::workspace::Workspace;

/// An open directory.
#[derive(Debug)]
pub struct Folder {
    handle: OwnedFd,
    walked: Walked,
}

impl Workspace {
    /// Opens a directory to walk from.
    ///
    /// # Errors
    /// When it is not a directory beneath a root.
    pub fn folder(&self, path: &str) -> Result<Folder, FileError> {
        let handle = self.open_path(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC)?;
        let walked = self.judge.walked(path, &handle)?;
        Ok(Folder { handle, walked })
    }

    /// Opens a regular file for reading parts of it.
    ///
    /// # Errors
    /// When the path leads to anything else.
    pub fn file(&self, path: &str) -> Result<(File, Stamp), FileError> {
        let (file, stat) = self.open_content(path)?;
        Ok((file, Stamp::of(&stat)))
    }
}

impl Folder {
    /// At most `limit` of its names, sorted, and whether there are more. Names that the call may not read are left out.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn names(&self, limit: usize) -> std::io::Result<(Vec<Entry>, bool)> {
        Ok(entries(&self.handle, limit, &self.walked)?)
    }

    /// Opens a directory of it.
    ///
    /// # Errors
    /// What the kernel says; a link is refused.
    pub fn folder(&self, name: &OsStr) -> std::io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = openat(&self.handle, self.readable(name)?, flags, Mode::empty())?;
        Ok(Self { handle, walked: self.walked.enter(name) })
    }

    /// Opens a regular file of it.
    ///
    /// # Errors
    /// What the kernel says; links and everything else that is no regular file are refused.
    pub fn file(&self, name: &OsStr) -> std::io::Result<(File, Stamp)> {
        let handle = openat(&self.handle, self.readable(name)?, CONTENT | OFlags::NOFOLLOW, Mode::empty())?;
        let stat = fstat(&handle)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(Errno::INVAL.into());
        }
        Ok((File::from(handle), Stamp::of(&stat)))
    }

    /// Refuses what is more than one name, and what the call may not read.
    fn readable<'a>(&self, name: &'a OsStr) -> Result<&'a OsStr, Errno> {
        let name = single(name)?;
        if self.walked.has(name) { Ok(name) } else { Err(Errno::ACCESS) }
    }

    /// The state of what a name stands for; of a link, its own.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn stamp(&self, name: &OsStr) -> std::io::Result<Stamp> {
        Ok(Stamp::of(&statat(&self.handle, single(name)?, AtFlags::SYMLINK_NOFOLLOW)?))
    }
}

/// Refuses what is more than one name, or leads up.
fn single(name: &OsStr) -> Result<&OsStr, Errno> {
    let plain = !name.is_empty() && name != ".." && name != "." && !name.as_encoded_bytes().contains(&b'/');
    if plain { Ok(name) } else { Err(Errno::INVAL) }
}

#[cfg(test)]
#[path = "folder_tests.rs"]
mod tests;
