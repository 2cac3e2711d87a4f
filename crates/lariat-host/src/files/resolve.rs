//! Opens a handle for a mapped path, resolved by the kernel.
//!
//! Every open of the file operations goes through here. `openat2` opens a path beneath its root. If the kernel answers
//! that a link leaves the root, this module walks the path itself, one handle at a time, because an absolute link may
//! lead back beneath a root. The path that the walk finds is then opened beneath a root like any other.
//!
//! Invariant: a handle that leaves this module was opened with `RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS` from a root's
//! handle, or by one name without following links from such a handle. If the tool call has a judge, the judge also
//! allowed the handle's real path.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use lariat_core::file_access::FileUse;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, fstatfs, openat2, statat};
use rustix::io::Errno;

use super::error::{FileError, shorten};
use super::path::{MappedPath, map, map_absolute, root_names};
use super::stamp::FileId;
use super::workspace::{Access, Root, Workspace};

/// Maximum number of links in one path, as in the kernel.
const MAX_LINKS: usize = 40;
/// How often to retry a path that other processes change while it is resolved.
const ATTEMPTS: usize = 64;
/// Maximum number of parent directories to check; paths in the kernel have at most 2,048 names.
const MAX_PARENTS: usize = 2_048;

const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS);

/// A name in an open directory. The entry with that name is not a link, or does not exist.
#[derive(Debug)]
pub(super) struct ResolvedPath {
    pub(super) directory: OwnedFd,
    pub(super) name: OsString,
    pub(super) root: usize,
}

/// What to do if directories of the path are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MissingDirectories {
    Refuse,
    Create,
}

/// What to do if the path ends in a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinkHandling {
    /// Use the link's target.
    Follow,
    /// Use the link itself.
    Keep,
}

impl Workspace {
    /// Opens the file that a path leads to, if the tool call may read it.
    pub(super) fn open_path(&self, path: &str, flags: OFlags) -> Result<OwnedFd, FileError> {
        let handle = self.open_unchecked(path, flags)?;
        self.judge.handle(path, &handle, FileUse::Read)?;
        Ok(handle)
    }

    /// Opens the file that a path leads to without a permission check, only to check its type.
    pub(super) fn open_unchecked(&self, path: &str, flags: OFlags) -> Result<OwnedFd, FileError> {
        let roots = self.roots();
        let mapped = map(roots, path)?;
        match open_beneath(roots, &mapped, flags) {
            Ok(handle) => return Ok(handle),
            Err(Errno::XDEV) => {}
            Err(errno) => return Err(self.explain(path, &mapped, errno)),
        }
        for _ in 0..ATTEMPTS {
            let plain = self.follow(path, &mapped)?;
            match open_beneath(roots, &plain, flags) {
                Ok(handle) => return Ok(handle),
                Err(Errno::XDEV) => {}
                Err(errno) => return Err(self.explain(path, &mapped, errno)),
            }
        }
        Err(FileError::Unstable(path.to_owned()))
    }

    /// Resolves a path to an open directory and a name in it. The name need not exist.
    fn resolve(
        &self,
        path: &str,
        missing: MissingDirectories,
        link: LinkHandling,
    ) -> Result<ResolvedPath, FileError> {
        let roots = self.roots();
        let mapped = map(roots, path)?;
        if names_a_directory(path) {
            return Err(FileError::IsDirectory(path.to_owned()));
        }
        let mut plain = mapped.clone();
        for _ in 0..ATTEMPTS {
            let Some((parent, name)) = split(&plain.relative) else {
                return Err(FileError::IsDirectory(path.to_owned()));
            };
            let above = MappedPath { root: plain.root, relative: parent.to_owned() };
            let flags = OFlags::PATH | OFlags::DIRECTORY;
            let directory = match open_beneath(roots, &above, flags) {
                Ok(directory) => directory,
                Err(Errno::XDEV) => {
                    plain = self.follow(path, &mapped)?;
                    continue;
                }
                Err(Errno::NOENT) if missing == MissingDirectories::Create => {
                    self.create_directories(path, &above)?;
                    continue;
                }
                Err(errno) => return Err(self.explain(path, &plain, errno)),
            };
            match statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) if has_type(&stat, FileType::Symlink) && link == LinkHandling::Follow => {
                    plain = self.follow(path, &mapped)?
                }
                Ok(_) | Err(Errno::NOENT) => {
                    return Ok(ResolvedPath { directory, name: name.to_owned(), root: plain.root });
                }
                Err(errno) => return Err(FileError::of(path, errno)),
            }
        }
        Err(FileError::Unstable(path.to_owned()))
    }

    /// Like [`resolve`](Self::resolve), for changing the entry, if the tool call may do so.
    pub(super) fn resolve_for_change(
        &self,
        path: &str,
        missing: MissingDirectories,
        link: LinkHandling,
        used: FileUse,
    ) -> Result<ResolvedPath, FileError> {
        let place = self.resolve(path, missing, link)?;
        self.must_be_writable(path, place.root, &place.directory)?;
        self.judge.name(path, &place.directory, &place.name, used)?;
        Ok(place)
    }

    /// Fails if the directory was reached through a read-only root, or is inside one.
    fn must_be_writable(&self, path: &str, root: usize, directory: &OwnedFd) -> Result<(), FileError> {
        if self.roots().get(root).is_some_and(Root::is_writable) && !self.is_in_read_only_root(directory) {
            return Ok(());
        }
        Err(FileError::ReadOnly(path.to_owned()))
    }

    /// Whether a read-only root lies between a directory and the writable root through which it was reached.
    fn is_in_read_only_root(&self, directory: &OwnedFd) -> bool {
        let closed: Vec<FileId> =
            self.roots().iter().filter(|root| !root.is_writable()).map(|root| root.id).collect();
        if closed.is_empty() {
            return false;
        }
        let open: Vec<FileId> =
            self.roots().iter().filter(|root| root.is_writable()).map(|root| root.id).collect();
        let mut above = None;
        for _ in 0..MAX_PARENTS {
            let here = above.as_ref().unwrap_or(directory);
            let Ok(stat) = fstat(here) else { return true };
            let id = FileId::of(&stat);
            if closed.contains(&id) {
                return true;
            }
            if open.contains(&id) {
                return false;
            }
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            match rustix::fs::openat(here, "..", flags, Mode::empty()) {
                Ok(parent) => above = Some(parent),
                Err(_) => return true,
            }
        }
        true
    }

    /// Creates the missing directories of a mapped path, each beneath its root.
    fn create_directories(&self, path: &str, mapped: &MappedPath) -> Result<(), FileError> {
        let plain = self.follow(path, mapped)?;
        let roots = self.roots();
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let mut next = MappedPath { root: plain.root, relative: PathBuf::new() };
        let open = |next: &MappedPath| open_beneath(roots, next, flags);
        let mut here = open(&next).map_err(|errno| FileError::of(path, errno))?;
        for name in plain.relative.iter() {
            next.relative.push(name);
            let mut opened = open(&next);
            if matches!(opened, Err(Errno::NOENT)) {
                self.must_be_writable(path, plain.root, &here)?;
                self.judge.name(path, &here, name, FileUse::Folder)?;
                match rustix::fs::mkdirat(&here, name, Mode::from_raw_mode(0o777)) {
                    Ok(()) | Err(Errno::EXIST) => opened = open(&next),
                    Err(errno) => return Err(FileError::of(path, errno)),
                }
            }
            here = opened.map_err(|errno| self.explain(path, &next, errno))?;
        }
        Ok(())
    }

    /// Follows a path name by name, by handle, and returns a root and a path without links and dots. Keeps names that
    /// do not exist as they are.
    fn follow(&self, path: &str, mapped: &MappedPath) -> Result<MappedPath, FileError> {
        let roots = self.roots();
        let mut links = 0;
        let mut walk = PathWalk::new(mapped.clone());
        while let Some(name) = walk.remaining.pop_front() {
            if name == ".." {
                if walk.names.pop().is_some() {
                    walk.handles.pop();
                    continue;
                }
                // Above a root: the rest of the path may lead back beneath one.
                let root = roots.get(walk.root).ok_or_else(|| self.outside_error(path))?;
                let mut target = root.path().parent().ok_or_else(|| self.outside_error(path))?.to_owned();
                target.extend(walk.remaining.iter());
                links += 1;
                walk = self.continue_at(path, &target, links)?;
                continue;
            }
            let root = roots.get(walk.root).ok_or_else(|| self.outside_error(path))?;
            let here = walk
                .handles
                .last()
                .map_or_else(|| Some(root.handle.as_fd()), |handle| handle.as_ref().map(AsFd::as_fd));
            let Some(here) = here else {
                walk.enter(name, None);
                continue;
            };
            let handle = match openat2(here, name.as_os_str(), STEP, Mode::empty(), BENEATH) {
                Ok(handle) => handle,
                Err(Errno::NOENT) => {
                    walk.enter(name, None);
                    continue;
                }
                Err(errno) => return Err(FileError::of(path, errno)),
            };
            let stat = fstat(&handle).map_err(|errno| FileError::of(path, errno))?;
            if !has_type(&stat, FileType::Symlink) {
                walk.enter(name, Some(handle));
                continue;
            }
            links += 1;
            if links > MAX_LINKS || is_kernel_link(&handle) {
                return Err(FileError::Links(path.to_owned()));
            }
            let target = rustix::fs::readlinkat(&handle, c"", Vec::new())
                .map_err(|errno| FileError::of(path, errno))?;
            let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
            if target.is_absolute() {
                let whole = target.join(walk.remaining.iter().collect::<PathBuf>());
                walk = self.continue_at(path, &whole, links)?;
            } else {
                walk.push_front_path(&target);
            }
        }
        Ok(MappedPath { root: walk.root, relative: walk.names.iter().collect() })
    }

    /// Continues a walk at an absolute path, if it is beneath a root.
    fn continue_at(&self, path: &str, target: &Path, links: usize) -> Result<PathWalk, FileError> {
        if links > MAX_LINKS {
            return Err(FileError::Links(path.to_owned()));
        }
        map_absolute(self.roots(), target).map(PathWalk::new).ok_or_else(|| self.outside_error(path))
    }

    pub(super) fn outside_error(&self, path: &str) -> FileError {
        FileError::Outside { path: shorten(path), roots: root_names(self.roots()) }
    }

    /// Translates the kernel's error for a path; if the path does not exist, adds a hint with the nearest name.
    pub(super) fn explain(&self, path: &str, mapped: &MappedPath, errno: Errno) -> FileError {
        match errno {
            Errno::XDEV => self.outside_error(path),
            Errno::NOENT => {
                let hint = if self.hints { self.hint(mapped) } else { String::new() };
                FileError::NotFound { path: path.to_owned(), hint }
            }
            errno => FileError::of(path, errno),
        }
    }
}

/// Flags for one step of a walk: a handle to the entry itself, even if it is a link.
const STEP: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The progress of a walk.
struct PathWalk {
    root: usize,
    names: Vec<OsString>,
    /// One per name; `None` from the first name on that does not exist.
    handles: Vec<Option<OwnedFd>>,
    remaining: VecDeque<OsString>,
}

impl PathWalk {
    fn new(mapped: MappedPath) -> Self {
        let mut walk =
            Self { root: mapped.root, names: Vec::new(), handles: Vec::new(), remaining: VecDeque::new() };
        walk.push_front_path(&mapped.relative);
        walk
    }

    fn push_front_path(&mut self, path: &Path) {
        for component in path.components().rev() {
            match component {
                Component::Normal(name) => self.remaining.push_front(name.to_owned()),
                Component::ParentDir => self.remaining.push_front(OsString::from("..")),
                Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
            }
        }
    }

    fn enter(&mut self, name: OsString, handle: Option<OwnedFd>) {
        self.names.push(name);
        self.handles.push(handle);
    }
}

impl Root {
    fn is_writable(&self) -> bool {
        self.access() == Access::ReadWrite
    }
}

pub(super) fn has_type(stat: &Stat, kind: FileType) -> bool {
    FileType::from_raw_mode(stat.st_mode) == kind
}

/// Whether a link belongs to `/proc`, where the text of a link is not its real target.
fn is_kernel_link(link: &OwnedFd) -> bool {
    const PROC: u64 = 0x9FA0;
    fstatfs(link).is_ok_and(|system| u64::try_from(system.f_type) == Ok(PROC))
}

/// Whether the path can only mean a directory.
fn names_a_directory(path: &str) -> bool {
    path == "." || path == ".." || ["/", "/.", "/.."].iter().any(|end| path.ends_with(end))
}

/// Splits off the last name; `None` for the root itself.
fn split(relative: &Path) -> Option<(&Path, &OsStr)> {
    Some((relative.parent()?, relative.file_name()?))
}

/// Opens a path beneath its root, resolved by the kernel. Every open by path goes through here.
pub(super) fn open_beneath(roots: &[Root], mapped: &MappedPath, flags: OFlags) -> Result<OwnedFd, Errno> {
    let root = roots.get(mapped.root).ok_or(Errno::XDEV)?;
    let relative = mapped.relative.as_os_str();
    let relative = if relative.is_empty() { OsStr::new(".") } else { relative };
    for _ in 0..ATTEMPTS {
        // The kernel answers EAGAIN if a concurrent rename may have changed what `..` means.
        match openat2(&root.handle, relative, flags | OFlags::CLOEXEC, Mode::empty(), BENEATH) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            opened => return opened,
        }
    }
    Err(Errno::AGAIN)
}

/// Opens one entry of a directory, never through a link.
pub(super) fn open_name(
    directory: &OwnedFd,
    name: &OsStr,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    for _ in 0..ATTEMPTS {
        match openat2(directory, name, flags, mode, BENEATH | ResolveFlags::NO_SYMLINKS) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            opened => return opened,
        }
    }
    Err(Errno::AGAIN)
}
