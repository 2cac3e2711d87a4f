//! Walks directories by handle, without following links.
//!
//! The caller opens the first directory by path. From there each step opens one name, without following links, from the
//! handle of the directory that contains it. So a walk never leaves the directory where it began, even if other
//! processes move or replace directories meanwhile.

use std::ffi::OsStr;
use std::fs::File;

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, openat, statat};
use rustix::io::Errno;

use super::directory::{Entry, entries};
use super::error::FileError;
use super::judge::DirectoryCheck;
use super::read::CONTENT;
use super::stamp::Stamp;
use super::workspace::Workspace;

/// An open directory to walk from.
#[derive(Debug)]
pub struct Folder {
    handle: OwnedFd,
    check: DirectoryCheck,
}

impl Workspace {
    /// Opens a directory to walk from.
    ///
    /// # Errors
    /// If the path is not a directory beneath a root.
    pub fn folder(&self, path: &str) -> Result<Folder, FileError> {
        let handle = self.open_path(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC)?;
        let check = self.judge.directory_check(path, &handle)?;
        Ok(Folder { handle, check })
    }

    /// Opens a regular file, to read parts of it.
    ///
    /// # Errors
    /// If the path does not lead to a regular file.
    pub fn file(&self, path: &str) -> Result<(File, Stamp), FileError> {
        let (file, stat) = self.open_content(path)?;
        Ok((file, Stamp::of(&stat)))
    }
}

impl Folder {
    /// Returns at most `limit` entries, sorted, and whether there are more. Leaves out entries that the tool call may
    /// not read.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn names(&self, limit: usize) -> std::io::Result<(Vec<Entry>, bool)> {
        Ok(entries(&self.handle, limit, &self.check)?)
    }

    /// Opens a subdirectory.
    ///
    /// # Errors
    /// The kernel's error; also if `name` is a link.
    pub fn folder(&self, name: &OsStr) -> std::io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = openat(&self.handle, self.check_readable(name)?, flags, Mode::empty())?;
        Ok(Self { handle, check: self.check.enter(name) })
    }

    /// Opens a regular file in this directory.
    ///
    /// # Errors
    /// The kernel's error; also if `name` is a link or another type of file.
    pub fn file(&self, name: &OsStr) -> std::io::Result<(File, Stamp)> {
        let handle =
            openat(&self.handle, self.check_readable(name)?, CONTENT | OFlags::NOFOLLOW, Mode::empty())?;
        let stat = fstat(&handle)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(Errno::INVAL.into());
        }
        Ok((File::from(handle), Stamp::of(&stat)))
    }

    /// Rejects a path of several names, and a name that the tool call may not read.
    fn check_readable<'a>(&self, name: &'a OsStr) -> Result<&'a OsStr, Errno> {
        let name = single_name(name)?;
        if self.check.has(name) { Ok(name) } else { Err(Errno::ACCESS) }
    }

    /// Returns the state of an entry; for a link, the state of the link itself.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn stamp(&self, name: &OsStr) -> std::io::Result<Stamp> {
        Ok(Stamp::of(&statat(&self.handle, single_name(name)?, AtFlags::SYMLINK_NOFOLLOW)?))
    }
}

/// Rejects anything that is not exactly one name of this directory.
fn single_name(name: &OsStr) -> Result<&OsStr, Errno> {
    let plain = !name.is_empty() && name != ".." && name != "." && !name.as_encoded_bytes().contains(&b'/');
    if plain { Ok(name) } else { Err(Errno::INVAL) }
}

#[cfg(test)]
mod tests {
    //! A walk stays in the directory where it began.

    use std::ffi::OsStr;
    use std::io::Read;
    use std::os::unix::fs::symlink;

    use crate::files::Workspace;

    #[test]
    fn walk_opens_names_from_handle_and_follows_no_links() {
        let base = std::env::temp_dir().join(format!("lariat-folder-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&base);
        std::fs::create_dir_all(base.join("ws/inner")).unwrap();
        std::fs::create_dir_all(base.join("out")).unwrap();
        std::fs::write(base.join("ws/inner/a"), "inside").unwrap();
        std::fs::write(base.join("out/a"), "outside").unwrap();
        symlink(base.join("out"), base.join("ws/link")).unwrap();
        symlink("inner/a", base.join("ws/file-link")).unwrap();
        let top = Workspace::open(base.join("ws")).unwrap().folder(".").unwrap();
        let name = OsStr::new;
        assert!(top.folder(name("link")).is_err());
        assert!(top.file(name("file-link")).is_err());
        for hostile in ["..", ".", "", "inner/a", "../out"] {
            assert!(top.folder(name(hostile)).is_err(), "{hostile}");
            assert!(top.file(name(hostile)).is_err(), "{hostile}");
            assert!(top.stamp(name(hostile)).is_err(), "{hostile}");
        }
        let inner = top.folder(name("inner")).unwrap();
        // Replace the directory with a link; the open handle still refers to the old directory.
        std::fs::rename(base.join("ws/inner"), base.join("ws/moved")).unwrap();
        symlink(base.join("out"), base.join("ws/inner")).unwrap();
        let (mut file, stamp) = inner.file(name("a")).unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!((text.as_str(), stamp.size()), ("inside", 6));
        assert_eq!(inner.names(10).unwrap().0.len(), 1);
        std::fs::remove_dir_all(base).unwrap();
    }
}
