//! Writes whole files atomically.
//!
//! The steps, in order: create a nameless file in the same directory, write its content and permissions, sync it, then
//! give it its name with one link or rename. An existing file is exchanged with the new one and checked afterwards,
//! when no other program can reach it by name: if it is not the expected file, both are exchanged back.
//!
//! Invariants: a reader sees either the old content or the new; nothing that another program wrote is lost; hard links
//! are broken, never written through; no temporary file outlives the call. A file that replaces another has a temporary
//! name for the duration of a few system calls; on file systems without nameless files, for longer (see `temporary`).

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read, Write};

use lariat_core::file_access::FileUse;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{
    AtFlags, CWD, FileType, Gid, Mode, OFlags, RenameFlags, Stat, Uid, fchmod, fchown, fstat, linkat,
    renameat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;

use super::directory::reopen;
use super::error::FileError;
use super::memory::FileVersion;
use super::read::{CONTENT, must_be_regular, system_error};
use super::resolve::{LinkHandling, MissingDirectories, ResolvedPath, has_type, open_name};
use super::stamp::{FileId, Stamp, size};
use super::temporary;
use super::workspace::{Sync, Workspace};

/// What must exist at the path for a write to happen.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WriteCondition {
    /// The path must not exist.
    Absent,
    /// The file must still have this state.
    Unchanged(FileVersion),
    /// Anything; an existing file is replaced without a check.
    Any,
}

/// The result of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteResult {
    /// The new state of the file.
    pub known: FileVersion,
}

impl Workspace {
    /// Writes a whole file; if the path ends in a link, writes its target. Creates missing directories for a new file.
    ///
    /// # Errors
    /// If the existing file is not the expected one or not a regular file; then nothing was changed.
    pub fn write(
        &self,
        path: &str,
        bytes: &[u8],
        expected: &WriteCondition,
    ) -> Result<WriteResult, FileError> {
        let refused = |errno| FileError::of(path, errno);
        let missing = match expected {
            WriteCondition::Unchanged(_) => MissingDirectories::Refuse,
            WriteCondition::Absent | WriteCondition::Any => MissingDirectories::Create,
        };
        let place = self.resolve_for_change(path, missing, LinkHandling::Follow, FileUse::Write)?;
        let old = match statat(&place.directory, &place.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Some(stat),
            Err(Errno::NOENT) => None,
            Err(errno) => return Err(refused(errno)),
        };
        if let Some(old) = &old {
            must_be_regular(path, old)?;
        }
        let change = match (expected, &old) {
            (WriteCondition::Absent, Some(_)) => return Err(FileError::Exists(path.to_owned())),
            (WriteCondition::Unchanged(_), None) => return Err(FileError::Changed(path.to_owned())),
            (WriteCondition::Unchanged(known), Some(old)) => {
                Placement::Exchange(self.refresh_known(path, &place, old, known)?)
            }
            (WriteCondition::Any, Some(_)) => Placement::Replace,
            (_, None) => Placement::Add,
        };
        let mut temporary = Temporary::create(&place, old.as_ref()).map_err(refused)?;
        temporary.file.write_all(bytes).map_err(|error| system_error(path, &error))?;
        if let Some(old) = &old {
            temporary.copy_permissions(&place, old).map_err(refused)?;
        }
        if self.shared.sync == Sync::Durable {
            rustix::fs::fdatasync(&temporary.file).map_err(refused)?;
        }
        temporary.put_in_place(path, &place, &change)?;
        self.sync_directory(path, &place.directory)?;
        let stamp = Stamp::of(&fstat(&temporary.file).map_err(refused)?);
        Ok(WriteResult { known: FileVersion::of(stamp, bytes) })
    }

    /// Updates the known state to the current state if the content is still the same; fails if it changed.
    pub(super) fn refresh_known(
        &self,
        path: &str,
        place: &ResolvedPath,
        stat: &Stat,
        known: &FileVersion,
    ) -> Result<FileVersion, FileError> {
        let stamp = Stamp::of(stat);
        if stamp == known.stamp {
            return Ok(known.clone());
        }
        let changed = || FileError::Changed(path.to_owned());
        let hash = known.hash.filter(|_| stamp.size() == known.stamp.size()).ok_or_else(changed)?;
        match hash_of(&place.directory, &place.name) {
            Ok((now, found)) if found == hash => Ok(FileVersion { stamp: now, hash: Some(hash) }),
            Ok(_) => Err(changed()),
            Err(error) => Err(system_error(path, &error)),
        }
    }

    /// Syncs a directory so that its names survive a power failure, unless [`Sync::Fast`] is set.
    pub(super) fn sync_directory(&self, path: &str, directory: &OwnedFd) -> Result<(), FileError> {
        if self.shared.sync == Sync::Fast {
            return Ok(());
        }
        let synced = reopen(directory).and_then(rustix::fs::fsync);
        match synced {
            // Some file systems cannot sync a directory; they preserve names in other ways.
            Ok(()) | Err(Errno::INVAL | Errno::OPNOTSUPP | Errno::ROFS) => Ok(()),
            Err(errno) => Err(FileError::of(path, errno)),
        }
    }
}

/// How the new file gets its final name.
enum Placement {
    Add,
    Replace,
    Exchange(FileVersion),
}

/// Maximum size of an extended attribute in bytes; the kernel's limit.
const MAX_ATTRIBUTE: usize = 64 * 1024;
/// All mode bits except set-user-id and set-group-id.
pub(crate) const PLAIN_MODE: u32 = 0o1777;
/// Bytes to hash at once.
const CHUNK: u64 = 64 * 1024;

/// A file that does not have its final name yet. Dropping it removes its temporary name, if it has one.
struct Temporary<'a> {
    directory: &'a OwnedFd,
    name: Option<OsString>,
    file: File,
    /// Held while the file has a temporary name.
    lock: Option<OwnedFd>,
}

impl<'a> Temporary<'a> {
    /// A new file gets the default permissions (umask, the directory's default ACL). A file that replaces another is
    /// private to this user until it has the old file's permissions.
    fn create(place: &'a ResolvedPath, old: Option<&Stat>) -> Result<Self, Errno> {
        let mode = Mode::from_raw_mode(if old.is_some() { 0o600 } else { 0o666 });
        let directory = &place.directory;
        let nameless = OFlags::RDWR | OFlags::TMPFILE;
        match open_name(directory, OsStr::new("."), nameless, mode) {
            Ok(handle) => Ok(Self { directory, name: None, file: File::from(handle), lock: None }),
            // Not every file system supports nameless files.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOSYS) => {
                let (lock, name) = (temporary::lock_shared(directory), temporary::draft_name()?);
                let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
                let handle = open_name(directory, &name, flags, mode)?;
                Ok(Self { directory, name: Some(name), file: File::from(handle), lock })
            }
            Err(errno) => Err(errno),
        }
    }

    /// Gives the file a name under which it can replace a file with this hash.
    fn rename(&mut self, replaced: Option<blake3::Hash>) -> Result<OsString, Errno> {
        let name = temporary::exchange_name(&fstat(&self.file)?, replaced)?;
        match &self.name {
            Some(draft) => renameat(self.directory, draft, self.directory, &name)?,
            None => {
                self.lock = temporary::lock_shared(self.directory);
                self.link(&name)?;
            }
        }
        self.name = Some(name.clone());
        Ok(name)
    }

    /// Gives the nameless file its first name; fails if the name exists.
    fn link(&self, name: &OsStr) -> Result<(), Errno> {
        // Linking a nameless file this way needs no privileges.
        let own = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        linkat(CWD, own, self.directory, name, AtFlags::SYMLINK_FOLLOW)
    }

    /// Copies owner, group, mode and extended attributes, as far as this process may set them. Does not copy
    /// set-user-id, set-group-id and capabilities: the content is new, and no user granted it those rights.
    fn copy_permissions(&self, place: &ResolvedPath, old: &Stat) -> Result<(), Errno> {
        let now = fstat(&self.file)?;
        if (now.st_uid, now.st_gid) != (old.st_uid, old.st_gid) {
            let (owner, group) = (Uid::from_raw(old.st_uid), Gid::from_raw(old.st_gid));
            if fchown(&self.file, Some(owner), Some(group)).is_err() {
                // Only root can change the owner; the group may still be one of this user's groups.
                let _ = fchown(&self.file, None, Some(group));
            }
        }
        self.copy_attributes(place);
        fchmod(&self.file, Mode::from_raw_mode(old.st_mode & PLAIN_MODE))
    }

    fn copy_attributes(&self, place: &ResolvedPath) {
        let Ok(old) = open_name(&place.directory, &place.name, CONTENT, Mode::empty()) else { return };
        // Most files have none; asking for the length first is cheap.
        let Ok(length @ 1..) = rustix::fs::flistxattr(&old, [0_u8; 0].as_mut_slice()) else { return };
        let mut names = vec![0; length];
        let Ok(length) = rustix::fs::flistxattr(&old, names.as_mut_slice()) else { return };
        let mut value = vec![0; MAX_ATTRIBUTE];
        for name in names.get(..length).unwrap_or_default().split(|byte| *byte == 0) {
            if name.is_empty() || name == b"security.capability" {
                continue;
            }
            if let Ok(length) = rustix::fs::fgetxattr(&old, name, value.as_mut_slice()) {
                let value = value.get(..length).unwrap_or_default();
                let _ = rustix::fs::fsetxattr(&self.file, name, value, rustix::fs::XattrFlags::empty());
            }
        }
    }

    fn put_in_place(
        &mut self,
        path: &str,
        place: &ResolvedPath,
        change: &Placement,
    ) -> Result<(), FileError> {
        let refused = |errno| FileError::of(path, errno);
        let changed = || FileError::Changed(path.to_owned());
        let directory = self.directory;
        let rename = |name: &OsStr, flags| renameat_with(directory, name, directory, &place.name, flags);
        let plain = |name: &OsStr| renameat(directory, name, directory, &place.name);
        let answer = match (change, &self.name) {
            (Placement::Add, None) => self.link(&place.name),
            (Placement::Add, Some(draft)) => match rename(draft, RenameFlags::NOREPLACE) {
                Err(Errno::INVAL | Errno::NOSYS) if !exists(place) => plain(draft),
                Err(Errno::INVAL | Errno::NOSYS) => Err(Errno::EXIST),
                answer => answer,
            },
            (Placement::Replace, _) => self.rename(None).and_then(|name| plain(&name)),
            (Placement::Exchange(known), _) => {
                let name = self.rename(known.hash).map_err(refused)?;
                match rename(&name, RenameFlags::EXCHANGE) {
                    Ok(()) => return self.finish_exchange(path, place, known),
                    Err(Errno::INVAL | Errno::NOSYS) => {
                        let stat = statat(directory, &place.name, AtFlags::SYMLINK_NOFOLLOW);
                        match stat {
                            Ok(stat) if known.stamp == Stamp::of(&stat) => plain(&name),
                            _ => return Err(changed()),
                        }
                    }
                    Err(Errno::NOENT) => return Err(changed()),
                    answer => answer,
                }
            }
        };
        answer.map_err(refused)?;
        self.name = None;
        Ok(())
    }

    /// After the exchange the old file has the temporary name. Removes it if it is the expected file, else exchanges
    /// back.
    fn finish_exchange(
        &mut self,
        path: &str,
        place: &ResolvedPath,
        known: &FileVersion,
    ) -> Result<(), FileError> {
        let name = self.name.take().unwrap_or_default();
        if self.is_expected(&name, known) {
            return unlinkat(self.directory, &name, AtFlags::empty())
                .map_err(|errno| FileError::of(path, errno));
        }
        let back = renameat_with(self.directory, &name, self.directory, &place.name, RenameFlags::EXCHANGE);
        let own = fstat(&self.file).map(|stat| FileId::of(&stat));
        let there = statat(self.directory, &name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| FileId::of(&stat));
        if back.is_ok() && own.is_ok() && own == there {
            self.name = Some(name);
            return Err(FileError::Changed(path.to_owned()));
        }
        Err(FileError::MovedAside { path: path.to_owned(), kept: name.to_string_lossy().into_owned() })
    }

    fn is_expected(&self, name: &OsStr, known: &FileVersion) -> bool {
        let (Ok(stat), Ok(own)) =
            (statat(self.directory, name, AtFlags::SYMLINK_NOFOLLOW), fstat(&self.file))
        else {
            return false;
        };
        let stamp = Stamp::of(&stat);
        if !has_type(&stat, FileType::RegularFile) || !known.stamp.same_content(&stamp) {
            return false;
        }
        // If the modification time is almost now, a second change may have the same timestamp.
        match known.hash {
            Some(hash) if stamp.is_recent(&Stamp::of(&own)) => {
                hash_of(self.directory, name).is_ok_and(|(_, found)| found == hash)
            }
            _ => true,
        }
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = unlinkat(self.directory, name, AtFlags::empty());
        }
    }
}

fn exists(place: &ResolvedPath) -> bool {
    !matches!(statat(&place.directory, &place.name, AtFlags::SYMLINK_NOFOLLOW), Err(Errno::NOENT))
}

/// State and hash of a file in a directory.
pub(super) fn hash_of(directory: &OwnedFd, name: &OsStr) -> std::io::Result<(Stamp, blake3::Hash)> {
    let mut file = File::from(open_name(directory, name, CONTENT, Mode::empty())?);
    let stat = fstat(&file)?;
    if !has_type(&stat, FileType::RegularFile) {
        return Err(Errno::INVAL.into());
    }
    let mut hasher = blake3::Hasher::new();
    let mut chunk = vec![0; usize::try_from(size(&stat).clamp(1, CHUNK)).unwrap_or(1)];
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok((Stamp::of(&stat), hasher.finalize())),
            length => drop(hasher.update(chunk.get(..length).unwrap_or_default())),
        }
    }
}
