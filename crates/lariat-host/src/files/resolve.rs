//! From a mapped path to an open handle, in the kernel.
//!
//! Owns every open of this crate's file operations. A path is opened by `openat2` beneath its root. Only when the kernel
//! answers that a link leaves the root is the path walked by hand, one handle after the other, because an absolute link
//! may well lead back beneath a root; what the walk finds is opened beneath a root like everything else.
//!
//! Invariant: a handle that leaves this module was opened with `RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS` from a root's
//! handle, or by one name without links from such a handle; and where a call is judged, so was the path it really has.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use lariat_core::file_judge::FileUse;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, fstatfs, openat2, statat};
use rustix::io::Errno;

use super::error::{FileError, shortened};
use super::path::{Mapped, map, map_absolute, names};
use super::stamp::FileId;
use super::workspace::{Access, Root, Workspace};

/// Links that one path may lead through, as in the kernel.
const MOST_LINKS: usize = 40;
/// Attempts at a path that others change while it is resolved.
const ATTEMPTS: usize = 64;
/// Directories above a place that are looked at; the kernel's paths are no deeper than 2,048 names.
const MOST_PARENTS: usize = 2_048;

const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS);

/// A name in an open directory; what carries it is not a link.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) directory: OwnedFd,
    pub(super) name: OsString,
    pub(super) root: usize,
}

/// What becomes of directories that are missing on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    Refuse,
    Create,
}

/// What a link at the end of a path stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    /// What it leads to.
    Follow,
    /// Itself.
    Keep,
}

impl Workspace {
    /// Opens what a path leads to, if the call may read it.
    pub(super) fn open_path(&self, path: &str, flags: OFlags) -> Result<OwnedFd, FileError> {
        let handle = self.open_unjudged(path, flags)?;
        self.judge.handle(path, &handle, FileUse::Read)?;
        Ok(handle)
    }

    /// Opens what a path leads to, to look at what it is and nothing more.
    pub(super) fn open_unjudged(&self, path: &str, flags: OFlags) -> Result<OwnedFd, FileError> {
        let roots = self.roots();
        let mapped = map(roots, path)?;
        #[cfg(feature = "planted")]
        if let Some(opened) = self.open_through_hole(&mapped, flags) {
            return opened.map_err(|errno| FileError::of(path, errno));
        }
        match open_beneath(roots, &mapped, flags) {
            Ok(handle) => return Ok(handle),
            Err(Errno::XDEV) => {}
            Err(errno) => return Err(self.explain(path, &mapped, errno)),
        }
        for _ in 0..ATTEMPTS {
            let plain = self.walk(path, &mapped)?;
            match open_beneath(roots, &plain, flags) {
                Ok(handle) => return Ok(handle),
                Err(Errno::XDEV) => {}
                Err(errno) => return Err(self.explain(path, &mapped, errno)),
            }
        }
        Err(FileError::Unsteady(path.to_owned()))
    }

    /// The directory and the name that a path leads to. The name need not exist.
    fn place(&self, path: &str, missing: Missing, link: Link) -> Result<Place, FileError> {
        let roots = self.roots();
        let mapped = map(roots, path)?;
        if ends_in_a_directory(path) {
            return Err(FileError::IsDirectory(path.to_owned()));
        }
        let mut plain = mapped.clone();
        for _ in 0..ATTEMPTS {
            let Some((parent, name)) = split(&plain.relative) else {
                return Err(FileError::IsDirectory(path.to_owned()));
            };
            let above = Mapped { root: plain.root, relative: parent.to_owned() };
            let flags = OFlags::PATH | OFlags::DIRECTORY;
            let directory = match open_beneath(roots, &above, flags) {
                Ok(directory) => directory,
                Err(Errno::XDEV) => {
                    plain = self.walk(path, &mapped)?;
                    continue;
                }
                Err(Errno::NOENT) if missing == Missing::Create => {
                    self.create_directories(path, &above)?;
                    continue;
                }
                Err(errno) => return Err(self.explain(path, &plain, errno)),
            };
            match statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) if is(&stat, FileType::Symlink) && link == Link::Follow => {
                    plain = self.walk(path, &mapped)?
                }
                Ok(_) | Err(Errno::NOENT) => {
                    return Ok(Place { directory, name: name.to_owned(), root: plain.root });
                }
                Err(errno) => return Err(FileError::of(path, errno)),
            }
        }
        Err(FileError::Unsteady(path.to_owned()))
    }

    /// As [`place`](Self::place), for changing what is there, if the call may.
    pub(super) fn place_to_change(
        &self,
        path: &str,
        missing: Missing,
        link: Link,
        used: FileUse,
    ) -> Result<Place, FileError> {
        let place = self.place(path, missing, link)?;
        self.must_be_writable(path, place.root, &place.directory)?;
        self.judge.name(path, &place.directory, &place.name, used)?;
        Ok(place)
    }

    /// Refuses a directory that was reached by a read-only root, or lies in one.
    fn must_be_writable(&self, path: &str, root: usize, directory: &OwnedFd) -> Result<(), FileError> {
        if self.roots().get(root).is_some_and(Root::is_writable) && !self.is_in_read_only_root(directory) {
            return Ok(());
        }
        Err(FileError::ReadOnly(path.to_owned()))
    }

    /// Whether a read-only root lies between a directory and the writable root it was reached by.
    fn is_in_read_only_root(&self, directory: &OwnedFd) -> bool {
        let closed: Vec<FileId> =
            self.roots().iter().filter(|root| !root.is_writable()).map(|root| root.id).collect();
        if closed.is_empty() {
            return false;
        }
        let open: Vec<FileId> =
            self.roots().iter().filter(|root| root.is_writable()).map(|root| root.id).collect();
        let mut above = None;
        for _ in 0..MOST_PARENTS {
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

    /// Creates the directories of a mapped path that are missing, each beneath its root.
    fn create_directories(&self, path: &str, mapped: &Mapped) -> Result<(), FileError> {
        let plain = self.walk(path, mapped)?;
        let roots = self.roots();
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let mut next = Mapped { root: plain.root, relative: PathBuf::new() };
        let open = |next: &Mapped| open_beneath(roots, next, flags);
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

    /// Follows a path name by name, with handles, to a root and a path without links and dots. Names that do not exist
    /// are kept as they are.
    fn walk(&self, path: &str, mapped: &Mapped) -> Result<Mapped, FileError> {
        let roots = self.roots();
        let mut links = 0;
        let mut at = Walk::new(mapped.clone());
        while let Some(name) = at.ahead.pop_front() {
            if name == ".." {
                if at.names.pop().is_some() {
                    at.handles.pop();
                    continue;
                }
                // Above a root: the rest may lead back beneath one.
                let root = roots.get(at.root).ok_or_else(|| self.outside(path))?;
                let mut target = root.path().parent().ok_or_else(|| self.outside(path))?.to_owned();
                target.extend(at.ahead.iter());
                links += 1;
                at = self.jump(path, &target, links)?;
                continue;
            }
            let root = roots.get(at.root).ok_or_else(|| self.outside(path))?;
            let here = at
                .handles
                .last()
                .map_or_else(|| Some(root.handle.as_fd()), |handle| handle.as_ref().map(AsFd::as_fd));
            let Some(here) = here else {
                at.enter(name, None);
                continue;
            };
            let handle = match openat2(here, name.as_os_str(), STEP, Mode::empty(), BENEATH) {
                Ok(handle) => handle,
                Err(Errno::NOENT) => {
                    at.enter(name, None);
                    continue;
                }
                Err(errno) => return Err(FileError::of(path, errno)),
            };
            let stat = fstat(&handle).map_err(|errno| FileError::of(path, errno))?;
            if !is(&stat, FileType::Symlink) {
                at.enter(name, Some(handle));
                continue;
            }
            links += 1;
            if links > MOST_LINKS || is_of_the_kernel(&handle) {
                return Err(FileError::Links(path.to_owned()));
            }
            let target = rustix::fs::readlinkat(&handle, c"", Vec::new())
                .map_err(|errno| FileError::of(path, errno))?;
            let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
            if target.is_absolute() {
                let whole = target.join(at.ahead.iter().collect::<PathBuf>());
                at = self.jump(path, &whole, links)?;
            } else {
                at.put_ahead(&target);
            }
        }
        Ok(Mapped { root: at.root, relative: at.names.iter().collect() })
    }

    /// Goes on at an absolute path, if a root has it.
    fn jump(&self, path: &str, target: &Path, links: usize) -> Result<Walk, FileError> {
        if links > MOST_LINKS {
            return Err(FileError::Links(path.to_owned()));
        }
        map_absolute(self.roots(), target).map(Walk::new).ok_or_else(|| self.outside(path))
    }

    pub(super) fn outside(&self, path: &str) -> FileError {
        FileError::Outside { path: shortened(path), roots: names(self.roots()) }
    }

    /// The kernel's answer in words, with the nearest name for what does not exist.
    pub(super) fn explain(&self, path: &str, mapped: &Mapped, errno: Errno) -> FileError {
        match errno {
            Errno::XDEV => self.outside(path),
            Errno::NOENT => {
                let hint = if self.hints { self.hint(mapped) } else { String::new() };
                FileError::NotFound { path: path.to_owned(), hint }
            }
            errno => FileError::of(path, errno),
        }
    }
}

/// One step of a walk: a handle to whatever has the name, be it a link.
const STEP: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// How far a walk has come.
struct Walk {
    root: usize,
    names: Vec<OsString>,
    /// One per name; none from the first name on that does not exist.
    handles: Vec<Option<OwnedFd>>,
    ahead: VecDeque<OsString>,
}

impl Walk {
    fn new(mapped: Mapped) -> Self {
        let mut walk =
            Self { root: mapped.root, names: Vec::new(), handles: Vec::new(), ahead: VecDeque::new() };
        walk.put_ahead(&mapped.relative);
        walk
    }

    fn put_ahead(&mut self, path: &Path) {
        for component in path.components().rev() {
            match component {
                Component::Normal(name) => self.ahead.push_front(name.to_owned()),
                Component::ParentDir => self.ahead.push_front(OsString::from("..")),
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

pub(super) fn is(stat: &Stat, kind: FileType) -> bool {
    FileType::from_raw_mode(stat.st_mode) == kind
}

/// Whether a link is one of `/proc`, whose text is not where it leads.
fn is_of_the_kernel(link: &OwnedFd) -> bool {
    const PROC: u64 = 0x9FA0;
    fstatfs(link).is_ok_and(|system| u64::try_from(system.f_type) == Ok(PROC))
}

/// Whether only a directory can be meant.
fn ends_in_a_directory(path: &str) -> bool {
    path == "." || path == ".." || ["/", "/.", "/.."].iter().any(|end| path.ends_with(end))
}

/// Parent and last name; nothing for the root itself.
fn split(relative: &Path) -> Option<(&Path, &OsStr)> {
    Some((relative.parent()?, relative.file_name()?))
}

/// The one open of a path: beneath its root, in the kernel.
pub(super) fn open_beneath(roots: &[Root], mapped: &Mapped, flags: OFlags) -> Result<OwnedFd, Errno> {
    let root = roots.get(mapped.root).ok_or(Errno::XDEV)?;
    let relative = mapped.relative.as_os_str();
    let relative = if relative.is_empty() { OsStr::new(".") } else { relative };
    for _ in 0..ATTEMPTS {
        // The kernel answers EAGAIN when a rename anywhere may have moved what `..` means.
        match openat2(&root.handle, relative, flags | OFlags::CLOEXEC, Mode::empty(), BENEATH) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            opened => return opened,
        }
    }
    Err(Errno::AGAIN)
}

/// Opens one name of a directory, never through a link.
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
