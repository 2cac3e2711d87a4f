//! The file system as a command sees it, as steps for the child to take.
//!
//! Owns their order: what stays writable is taken first, then everything becomes read-only and deaf to devices, then
//! fresh `/dev`, `/proc` and `/tmp` come, then what was taken is put back, then what is protected or hidden is covered.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::policy::Policy;
use crate::sys::child::{FileSystem, Step};

/// The device files every program expects.
const DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom", "tty"];

/// Places where a socket, a lock or a key of another program may lie, and that a command needs nothing of.
const EMPTY: &[&str] = &["/run/user"];

/// The steps of a policy. Paths that do not exist are left out; writable roots must be there.
pub(super) fn steps(policy: &Policy) -> io::Result<Vec<Step>> {
    let mut view = View::default();
    let mut roots = policy.writable.clone();
    // What lies inside of another comes after it.
    roots.sort();
    let taken: Vec<_> = roots.iter().map(|root| view.take(root)).collect::<io::Result<_>>()?;
    let temporary = policy.temporary.as_deref().map(|place| view.take(place)).transpose()?;
    let devices: Vec<_> = DEVICES
        .iter()
        .map(|name| Path::new("/dev").join(name))
        .filter(|path| path.exists())
        .map(|path| Ok((view.take(&path)?, path)))
        .collect::<io::Result<_>>()?;

    view.steps.push(Step::ReadOnlyWithoutDevices(text(Path::new("/"))?));
    view.fresh(FileSystem::Memory, "/dev", "mode=755,size=64k,nr_inodes=256")?;
    for (slot, path) in devices {
        view.steps.push(Step::File(text(&path)?));
        view.put(slot, &path)?;
    }
    for name in ["pts", "shm"] {
        view.steps.push(Step::Directory(text(&Path::new("/dev").join(name))?));
    }
    view.fresh(FileSystem::Terminals, "/dev/pts", "newinstance,ptmxmode=0666,mode=620")?;
    view.fresh(FileSystem::Memory, "/dev/shm", "mode=1777")?;
    for (name, target) in [
        ("ptmx", "pts/ptmx"),
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
    ] {
        view.steps.push(Step::Link(text(&Path::new("/dev").join(name))?, text(Path::new(target))?));
    }
    view.fresh(FileSystem::Processes, "/proc", "")?;
    // Root's own files there, `core_pattern` among them, obey whoever has root's number.
    view.steps.push(Step::ReadOnly(text(Path::new("/proc"))?));
    if let Some(slot) = temporary {
        view.put(slot, Path::new("/tmp"))?;
        for root in roots.iter().filter(|root| root.starts_with("/tmp")) {
            view.make(root)?;
        }
    }
    for (slot, root) in taken.into_iter().zip(&roots) {
        view.put(slot, root)?;
    }
    for path in policy.protected.iter().filter(|path| path.symlink_metadata().is_ok()) {
        let slot = view.take(path)?;
        view.put(slot, path)?;
        view.steps.push(Step::ReadOnly(text(path)?));
    }
    let empty = EMPTY.iter().map(PathBuf::from).filter(|path| path.exists());
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

#[derive(Default)]
struct View {
    steps: Vec<Step>,
    slots: usize,
}

impl View {
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

    fn fresh(&mut self, kind: FileSystem, path: &str, options: &str) -> io::Result<()> {
        self.steps.push(Step::Fresh(kind, text(Path::new(path))?, text(Path::new(options))?));
        Ok(())
    }

    /// Makes what a root beneath a fresh `/tmp` lies on.
    fn make(&mut self, root: &Path) -> io::Result<()> {
        let parents: Vec<_> = root.ancestors().filter(|path| path.starts_with("/tmp")).collect();
        let count = parents.len();
        for (index, path) in parents.into_iter().rev().enumerate() {
            let last = index + 1 == count;
            let step = if last && !root.is_dir() { Step::File } else { Step::Directory };
            self.steps.push(step(text(path)?));
        }
        Ok(())
    }
}

/// A path for the kernel.
pub(super) fn text(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(io::Error::from)
}
