//! Plans the file system view of a command, as steps that the child executes.
//!
//! The order: take writable trees, make everything read-only without devices, mount new `/dev`, `/proc` and `/tmp`, put
//! the taken trees back, then cover protected and hidden paths.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::paths::{SYSTEM, SYSTEM_FILES};
use super::policy::Policy;
use crate::sys::child::{FileSystem, Step};

/// Device files that every program expects.
const DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom", "tty"];

/// Directories that may contain sockets, locks or keys of other programs and that commands do not need.
const EMPTY: &[&str] = &["/run/user"];

/// Returns the steps for a policy. Skips paths that do not exist; writable roots must exist. The directories in `kept`
/// get a mount each, because a mount point cannot be moved or removed.
pub(super) fn steps(policy: &Policy, kept: &[PathBuf]) -> io::Result<Vec<Step>> {
    let mut view = ViewPlan::default();
    let mut roots = policy.writable.clone();
    // Sorted, so that a nested root comes after the root that contains it.
    roots.sort();
    let taken: Vec<_> = roots.iter().map(|root| view.take(root)).collect::<io::Result<_>>()?;
    let temporary = policy.temporary.as_deref().map(|place| view.take(place)).transpose()?;
    let devices: Vec<_> = DEVICES
        .iter()
        .map(|name| Path::new("/dev").join(name))
        .filter(|path| path.exists())
        .map(|path| Ok((view.take(&path)?, path)))
        .collect::<io::Result<_>>()?;

    let listed = policy.readable.as_deref().map(|readable| view.list(readable)).transpose()?;
    view.steps.push(Step::ReadOnlyWithoutDevices(text(Path::new("/"))?));
    if let Some(listed) = listed {
        view.show_only(listed, &roots, policy.temporary.is_none())?;
    }
    view.mount_new(FileSystem::Memory, "/dev", "mode=755,size=64k,nr_inodes=256")?;
    for (slot, path) in devices {
        view.steps.push(Step::File(text(&path)?));
        view.put(slot, &path)?;
    }
    for name in ["pts", "shm"] {
        view.steps.push(Step::Directory(text(&Path::new("/dev").join(name))?));
    }
    view.mount_new(FileSystem::Terminals, "/dev/pts", "newinstance,ptmxmode=0666,mode=620")?;
    view.mount_new(FileSystem::Memory, "/dev/shm", "mode=1777")?;
    for (name, target) in [
        ("ptmx", "pts/ptmx"),
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
    ] {
        view.steps.push(Step::Link(text(&Path::new("/dev").join(name))?, text(Path::new(target))?));
    }
    view.mount_new(FileSystem::Processes, "/proc", "")?;
    // Some files there, such as `core_pattern`, are writable for root's user id even inside the sandbox.
    view.steps.push(Step::ReadOnly(text(Path::new("/proc"))?));
    if let Some(slot) = temporary {
        view.put(slot, Path::new("/tmp"))?;
        for root in roots.iter().filter(|root| root.starts_with("/tmp")) {
            view.make(root, Path::new("/tmp"), root.is_dir())?;
        }
    }
    for (slot, root) in taken.into_iter().zip(&roots) {
        view.put(slot, root)?;
    }
    for path in kept {
        let slot = view.take(path)?;
        view.put(slot, path)?;
    }
    for path in policy.protected.iter().filter(|path| path.symlink_metadata().is_ok()) {
        let slot = view.take(path)?;
        view.put(slot, path)?;
        view.steps.push(Step::ReadOnly(text(path)?));
    }
    // With an allow-list of readable paths, these are not visible anyway.
    let empty = EMPTY.iter().map(PathBuf::from).filter(|path| policy.readable.is_none() && path.exists());
    for path in policy.hidden.iter().cloned().chain(empty) {
        if path.is_dir() {
            view.steps.push(Step::Fresh(
                FileSystem::Memory,
                text(&path)?,
                text(Path::new("mode=000,size=4k"))?,
            ));
            view.steps.push(Step::ReadOnly(text(&path)?));
        } else {
            let slot = view.take(Path::new("/dev/null"))?;
            view.put(slot, &path)?;
        }
    }
    Ok(view.steps)
}

/// A path that is visible if only listed paths are.
struct ListedTree {
    slot: usize,
    is_folder: bool,
    path: PathBuf,
}

#[derive(Default)]
struct ViewPlan {
    steps: Vec<Step>,
    slots: usize,
}

impl ViewPlan {
    fn take(&mut self, path: &Path) -> io::Result<usize> {
        let slot = self.slots;
        self.slots += 1;
        self.steps.push(Step::Take(slot, text(path)?));
        Ok(slot)
    }

    fn put(&mut self, slot: usize, path: &Path) -> io::Result<()> {
        self.steps.push(Step::Put(slot, text(path)?));
        Ok(())
    }

    fn mount_new(&mut self, kind: FileSystem, path: &str, options: &str) -> io::Result<()> {
        self.steps.push(Step::Fresh(kind, text(Path::new(path))?, text(Path::new(options))?));
        Ok(())
    }

    /// Creates the mount point for a path beneath a new file system, with its parent directories.
    fn make(&mut self, path: &Path, top: &Path, is_folder: bool) -> io::Result<()> {
        let parents: Vec<_> =
            path.ancestors().filter(|above| above.starts_with(top) && *above != top).collect();
        let count = parents.len();
        for (index, path) in parents.into_iter().rev().enumerate() {
            let last = index + 1 == count;
            let step = if last && !is_folder { Step::File } else { Step::Directory };
            self.steps.push(step(text(path)?));
        }
        Ok(())
    }

    /// Takes the trees that are visible if only listed paths are.
    fn list(&mut self, readable: &[PathBuf]) -> io::Result<Vec<ListedTree>> {
        let system = SYSTEM_FILES.iter().map(PathBuf::from);
        let mut listed: Vec<ListedTree> = Vec::new();
        for path in system.chain(readable.iter().cloned()) {
            let Ok(real) = path.canonicalize() else { continue };
            let in_system = SYSTEM.iter().any(|name| path.starts_with(Path::new("/").join(name)));
            if !in_system && !listed.iter().any(|known| path.starts_with(&known.path)) {
                listed.push(ListedTree { slot: self.take(&real)?, is_folder: real.is_dir(), path });
            }
        }
        Ok(listed)
    }

    /// Covers everything at the root except the system's directories, then puts the listed trees and creates mount
    /// points for the writable roots.
    fn show_only(&mut self, listed: Vec<ListedTree>, roots: &[PathBuf], own_tmp: bool) -> io::Result<()> {
        let entries = Path::new("/").read_dir()?.filter_map(Result::ok);
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let left = ["dev", "proc"];
        let mut covers: Vec<PathBuf> = folders
            .filter(|entry| {
                let name = entry.file_name();
                !SYSTEM.iter().chain(&left).any(|known| name == *known)
            })
            .map(|entry| entry.path())
            .collect();
        covers.sort();
        for cover in &covers {
            let options = if cover == Path::new("/tmp") { "mode=1777" } else { "mode=755,size=4m" };
            self.steps.push(Step::Fresh(FileSystem::Memory, text(cover)?, text(Path::new(options))?));
            for (path, is_folder) in listed
                .iter()
                .map(|listed| (&listed.path, listed.is_folder))
                .chain(roots.iter().map(|root| (root, root.is_dir())))
            {
                self.make(path, cover, is_folder)?;
            }
            // A private `/tmp` must stay writable for the command.
            if !(own_tmp && cover == Path::new("/tmp")) {
                self.steps.push(Step::ReadOnly(text(cover)?));
            }
        }
        for ListedTree { slot, path, .. } in listed {
            self.put(slot, &path)?;
            self.steps.push(Step::ReadOnly(text(&path)?));
        }
        Ok(())
    }
}

/// Converts a path for the kernel.
pub(super) fn text(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(io::Error::from)
}
