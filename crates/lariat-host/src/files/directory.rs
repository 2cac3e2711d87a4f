//! Lists directories, and removes and renames their entries.
//!
//! Invariant: before a file is removed, it is renamed to a random name and checked to be the expected one; otherwise it
//! gets its name back.

use std::ffi::{OsStr, OsString};

use lariat_core::file_access::FileUse;
use lariat_core::nearest::nearest;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, Stat, renameat_with, statat, unlinkat};
use rustix::io::Errno;

use super::error::FileError;
use super::judge::DirectoryCheck;
use super::memory::FileVersion;
use super::path::MappedPath;
use super::read::must_be_regular;
use super::resolve::{LinkHandling, MissingDirectories, ResolvedPath, has_type, open_beneath};
use super::stamp::Stamp;
use super::temporary;
use super::workspace::Workspace;
use super::write::WriteCondition;

/// How many names of a directory are compared to find a near name for a hint.
const HINT_NAMES: usize = 2_000;

/// One entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// The file name, without a path.
    pub name: OsString,
    /// The type of file.
    pub kind: EntryKind,
}

/// A file that was renamed to a random name in its directory, to be removed, moved or put back.
#[derive(Debug)]
#[must_use = "otherwise the file stays under its random name"]
pub struct AsideFile {
    path: String,
    place: ResolvedPath,
    aside: OsString,
    stamp: Stamp,
}

/// The type of file that a name refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link, whatever it points to.
    Link,
    /// A pipe, socket or device.
    Special,
}

impl Workspace {
    /// Returns at most `limit` entries of a directory, sorted, and whether there are more. Leaves out entries that the
    /// tool call may not read.
    ///
    /// # Errors
    /// If the path is not a directory beneath a root.
    pub fn list(&self, path: &str, limit: usize) -> Result<(Vec<Entry>, bool), FileError> {
        let handle = self.open_path(path, OFlags::RDONLY | OFlags::DIRECTORY)?;
        let check = self.judge.directory_check(path, &handle)?;
        entries(&handle, limit, &check).map_err(|errno| FileError::of(path, errno))
    }

    /// Returns what type of file a path leads to, following links.
    ///
    /// # Errors
    /// If the path does not exist, or is outside the roots.
    pub fn kind(&self, path: &str) -> Result<EntryKind, FileError> {
        let handle = self.open_path(path, OFlags::PATH)?;
        let stat = rustix::fs::fstat(&handle).map_err(|errno| FileError::of(path, errno))?;
        Ok(EntryKind::of(FileType::from_raw_mode(stat.st_mode)))
    }

    /// Removes a file, or a link itself (not its target).
    ///
    /// # Errors
    /// If it does not exist, is a directory, or is not the expected file.
    pub fn remove(&self, path: &str, expected: &WriteCondition) -> Result<(), FileError> {
        let refused = |errno| FileError::of(path, errno);
        let place =
            self.resolve_for_change(path, MissingDirectories::Refuse, LinkHandling::Keep, FileUse::Write)?;
        let gone = match expected {
            WriteCondition::Unchanged(known) => self.rename_aside(path, &place, known)?,
            WriteCondition::Any => {
                let stat = self.stat_of(path, &place)?;
                if !has_type(&stat, FileType::Symlink) {
                    must_be_regular(path, &stat)?;
                }
                place.name.clone()
            }
            WriteCondition::Absent => return Err(FileError::Exists(path.to_owned())),
        };
        unlinkat(&place.directory, &gone, AtFlags::empty()).map_err(refused)?;
        self.sync_directory(path, &place.directory)
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// If it does not exist, is not a directory, or is not empty.
    pub fn remove_folder(&self, path: &str) -> Result<(), FileError> {
        let place =
            self.resolve_for_change(path, MissingDirectories::Refuse, LinkHandling::Keep, FileUse::Folder)?;
        let removed = unlinkat(&place.directory, &place.name, AtFlags::REMOVEDIR);
        removed.map_err(|errno| FileError::of(path, errno))?;
        self.sync_directory(path, &place.directory)
    }

    /// Renames a file, or a link itself, to a random name in its directory, so that no other program finds it.
    ///
    /// # Errors
    /// If it does not exist, is a directory, or is not the expected file.
    pub fn set_aside(&self, path: &str, known: &FileVersion) -> Result<AsideFile, FileError> {
        let place =
            self.resolve_for_change(path, MissingDirectories::Refuse, LinkHandling::Keep, FileUse::Write)?;
        let aside = self.rename_aside(path, &place, known)?;
        let stat = statat(&place.directory, &aside, AtFlags::SYMLINK_NOFOLLOW);
        let stamp = Stamp::of(&stat.map_err(|errno| FileError::of(path, errno))?);
        Ok(AsideFile { path: path.to_owned(), place, aside, stamp })
    }

    /// Removes a file that [`set_aside`](Self::set_aside) renamed.
    ///
    /// # Errors
    /// If another program that has it open changed it meanwhile; then it stays under its random name.
    pub fn discard(&self, file: AsideFile) -> Result<(), FileError> {
        let AsideFile { path, place, aside, stamp } = file;
        let stat = statat(&place.directory, &aside, AtFlags::SYMLINK_NOFOLLOW);
        let stat = stat.map_err(|errno| FileError::of(&path, errno))?;
        if !stamp.same_content(&Stamp::of(&stat)) {
            return Err(FileError::MovedAside { path, kept: aside.to_string_lossy().into_owned() });
        }
        let removed = unlinkat(&place.directory, &aside, AtFlags::empty());
        removed.map_err(|errno| FileError::of(&path, errno))?;
        self.sync_directory(&path, &place.directory)
    }

    /// Gives a file that was set aside its old name again. Never replaces an existing file.
    ///
    /// # Errors
    /// If another file has that name by now.
    pub fn put_back(&self, file: AsideFile) -> Result<(), FileError> {
        let AsideFile { path, place, aside, .. } = &file;
        rename_within(&place.directory, aside, &place.name).map_err(|errno| FileError::of(path, errno))?;
        self.sync_directory(path, &place.directory)
    }

    /// Moves a file that was set aside to another path and creates missing directories. Never replaces an existing
    /// file; if the move fails, the file gets its old name again.
    ///
    /// # Errors
    /// If the new path exists, or the old name could not be restored.
    pub fn move_aside(&self, file: AsideFile, to: &str) -> Result<(), FileError> {
        let moved = self
            .resolve_for_change(to, MissingDirectories::Create, LinkHandling::Keep, FileUse::Write)
            .and_then(|target| {
                rename_to(&file.place.directory, &file.aside, &target, to)?;
                self.sync_directory(&file.path, &file.place.directory)?;
                self.sync_directory(to, &target.directory)
            });
        moved.map_err(|error| self.put_back(file).err().unwrap_or(error))
    }

    /// Renames a file to a random name; restores its name if it is not the expected file.
    fn rename_aside(
        &self,
        path: &str,
        place: &ResolvedPath,
        known: &FileVersion,
    ) -> Result<OsString, FileError> {
        let refused = |errno| FileError::of(path, errno);
        let stat = self.stat_of(path, place)?;
        let aside = temporary::aside_name().map_err(refused)?;
        if has_type(&stat, FileType::Symlink) {
            // The link's target is not touched.
            rename_within(&place.directory, &place.name, &aside).map_err(refused)?;
            return Ok(aside);
        }
        must_be_regular(path, &stat)?;
        let known = self.refresh_known(path, place, &stat, known)?;
        rename_within(&place.directory, &place.name, &aside).map_err(refused)?;
        let taken = statat(&place.directory, &aside, AtFlags::SYMLINK_NOFOLLOW).map_err(refused)?;
        if known.stamp.same_content(&Stamp::of(&taken)) {
            return Ok(aside);
        }
        Err(match rename_within(&place.directory, &aside, &place.name) {
            Ok(()) => FileError::Changed(path.to_owned()),
            Err(_) => {
                FileError::MovedAside { path: path.to_owned(), kept: aside.to_string_lossy().into_owned() }
            }
        })
    }

    fn stat_of(&self, path: &str, place: &ResolvedPath) -> Result<Stat, FileError> {
        statat(&place.directory, &place.name, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|errno| FileError::of(path, errno))
    }

    /// Renames a file and creates missing directories. Never replaces an existing file.
    ///
    /// # Errors
    /// If `from` does not exist, or `to` exists.
    pub fn rename(&self, from: &str, to: &str) -> Result<(), FileError> {
        let source =
            self.resolve_for_change(from, MissingDirectories::Refuse, LinkHandling::Keep, FileUse::Write)?;
        let target =
            self.resolve_for_change(to, MissingDirectories::Create, LinkHandling::Keep, FileUse::Write)?;
        rename_to(&source.directory, &source.name, &target, to)?;
        self.sync_directory(from, &source.directory)?;
        self.sync_directory(to, &target.directory)
    }

    /// A sentence that names the nearest existing name, or the first part of the path that does not exist.
    pub(super) fn hint(&self, mapped: &MappedPath) -> String {
        let mut wanted = mapped.relative.as_path();
        while let (Some(parent), Some(name)) = (wanted.parent(), wanted.file_name()) {
            let above = MappedPath { root: mapped.root, relative: parent.to_owned() };
            let flags = OFlags::RDONLY | OFlags::DIRECTORY;
            let Ok(handle) = open_beneath(self.roots(), &above, flags) else {
                wanted = parent;
                continue;
            };
            let shown = if parent.as_os_str().is_empty() { ".".into() } else { parent.to_string_lossy() };
            let Ok(check) = self.judge.directory_check("", &handle) else { break };
            if self.judge.handle("", &handle, FileUse::Read).is_err() {
                break;
            }
            let Ok((entries, _)) = entries(&handle, HINT_NAMES, &check) else { break };
            let names: Vec<_> = entries.iter().map(|entry| entry.name.to_string_lossy()).collect();
            let near = nearest(&name.to_string_lossy(), names.iter().map(AsRef::as_ref));
            return match near {
                Some(near) => format!(" Did you mean `{}`?", parent.join(near).display()),
                None if wanted == mapped.relative => {
                    format!(" There is no `{}` in `{shown}`.", name.to_string_lossy())
                }
                None => format!(" The directory `{}` does not exist.", wanted.display()),
            };
        }
        String::new()
    }
}

impl EntryKind {
    const fn of(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Directory,
            FileType::Symlink => Self::Link,
            _ => Self::Special,
        }
    }
}

/// Renames an entry of a directory to `target`, which must not exist.
fn rename_to(directory: &OwnedFd, name: &OsStr, target: &ResolvedPath, to: &str) -> Result<(), FileError> {
    let flags = RenameFlags::NOREPLACE;
    match renameat_with(directory, name, &target.directory, &target.name, flags) {
        Ok(()) => Ok(()),
        Err(Errno::EXIST) => Err(FileError::Exists(to.to_owned())),
        Err(errno) => Err(FileError::of(to, errno)),
    }
}

/// Renames an entry within its directory; the new name must not exist.
fn rename_within(directory: &OwnedFd, from: &OsStr, to: &OsStr) -> Result<(), Errno> {
    match renameat_with(directory, from, directory, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS) => {
            match statat(directory, to, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(_) => return Err(Errno::EXIST),
                Err(Errno::NOENT) => {}
                Err(errno) => return Err(errno),
            }
            rustix::fs::renameat(directory, from, directory, to)
        }
        renamed => renamed,
    }
}

/// Returns the entries of an open directory that may be read. Moves the handle's read position.
pub(super) fn entries(
    handle: &OwnedFd,
    limit: usize,
    check: &DirectoryCheck,
) -> Result<(Vec<Entry>, bool), Errno> {
    use std::os::unix::ffi::OsStrExt;

    let mut found = Vec::new();
    for entry in Dir::read_from(handle)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." || !check.has(name) {
            continue;
        }
        if found.len() == limit {
            found.sort();
            return Ok((found, true));
        }
        let kind = match entry.file_type() {
            FileType::Unknown => match statat(handle, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                Err(_) => continue,
            },
            kind => kind,
        };
        found.push(Entry { name: name.to_owned(), kind: EntryKind::of(kind) });
    }
    found.sort();
    Ok((found, false))
}

/// Opens a directory again for reading, because a path-only handle cannot be synced or listed.
pub(super) fn reopen(directory: &OwnedFd) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(directory, ".", flags, Mode::empty())
}
