//! Creates names on behalf of a command in directories where a protected name is missing.
//!
//! Decides in which directories Landlock lets the command create names itself, and asks the supervisor process to
//! create the rest (see [`crate::sys::create`]). A wrong guess about where a path leads is never an escape: Landlock
//! applies to everything that the kernel does, and the supervisor process checks its own copy of the arguments.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rustix::fs::{Mode, OFlags};

use super::policy::Policy;
use crate::sys::child::Grant;
use crate::sys::create::{self as server, CreateRequest, CreationKind, CreationResult, GuardedDirectory};
use crate::sys::notify::{self, Notification};

/// Maximum number of Landlock rules per writable root. In directories beyond that, names are created for the command.
const MAX_RULES: usize = 256;

/// What Landlock allows, and which names must not be created.
#[derive(Debug, Default)]
pub(super) struct CreationRules {
    /// Directories beneath writable roots, and what is allowed there.
    pub(super) rules: Vec<(PathBuf, Grant)>,
    /// Directories with missing protected names.
    pub(super) guarded: Vec<GuardedDirectory>,
    /// Those of them that are not writable roots themselves.
    pub(super) inner: Vec<PathBuf>,
    /// Directories in which a command creates names itself, with device and inode; `None` for directories where it
    /// cannot.
    known: BTreeMap<PathBuf, Option<(u64, u64)>>,
}

impl CreationRules {
    /// Computes the rules for a policy whose links are resolved.
    pub(super) fn of(policy: &Policy) -> Self {
        let mut creation = Self::default();
        let mut missing: BTreeMap<PathBuf, Vec<Vec<u8>>> = BTreeMap::new();
        let (there, gone): (Vec<&PathBuf>, Vec<_>) =
            policy.protected.iter().partition(|path| path.symlink_metadata().is_ok());
        // A protected path that exists also protects everything below it.
        for path in gone.into_iter().filter(|path| !there.iter().any(|there| path.starts_with(there))) {
            let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { continue };
            missing.entry(parent.to_owned()).or_default().push(name.as_bytes().to_ascii_lowercase());
        }
        for (folder, names) in &missing {
            let Ok(state) = folder.symlink_metadata() else { continue };
            let (device, inode) = (state.dev(), state.ino());
            creation.guarded.push(GuardedDirectory { device, inode, names: names.clone() });
            if !policy.writable.contains(folder) {
                creation.inner.push(folder.clone());
            }
        }
        let folders: Vec<&PathBuf> = missing.keys().collect();
        for root in &policy.writable {
            creation.grant(root, &folders);
        }
        creation
    }

    /// Allows everything beneath a directory, except creating names on the way to guarded directories and in them.
    fn grant(&mut self, folder: &Path, guarded: &[&PathBuf]) {
        if !guarded.iter().any(|known| known.starts_with(folder)) {
            let known = folder.symlink_metadata().ok().map(|state| (state.dev(), state.ino()));
            self.rules.push((folder.to_owned(), Grant::Change));
            self.known.insert(folder.to_owned(), known);
            return;
        }
        self.rules.push((folder.to_owned(), Grant::ChangeWithoutMaking));
        self.known.insert(folder.to_owned(), None);
        let Ok(listed) = folder.read_dir() else { return };
        for entry in listed.filter_map(Result::ok) {
            if self.rules.len() >= MAX_RULES {
                return;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.grant(&entry.path(), guarded);
            }
        }
    }

    /// Whether names must be created on behalf of the command.
    pub(super) fn needs_server(&self) -> bool {
        !self.guarded.is_empty()
    }

    /// Returns the client and the supervisor process's side of its socket, for the child.
    pub(super) fn connect(&self) -> io::Result<(CreationClient, OwnedFd)> {
        use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        Ok((CreationClient { socket: Mutex::new(ours), known: self.known.clone() }, theirs))
    }
}

/// Asks the supervisor process to create names.
#[derive(Debug)]
pub(super) struct CreationClient {
    socket: Mutex<OwnedFd>,
    known: BTreeMap<PathBuf, Option<(u64, u64)>>,
}

impl CreationClient {
    /// Whether a command cannot create a name in this directory itself. The path must not contain links.
    fn needs_server_in(&self, folder: &Path) -> bool {
        let nearest = folder.ancestors().find_map(|path| Some((path, self.known.get(path)?)));
        match nearest {
            None => false,
            Some((_, None)) => true,
            // The directory may have been replaced by another with the same name.
            Some((path, Some(identity))) => {
                path.symlink_metadata().ok().map(|state| (state.dev(), state.ino())) != Some(*identity)
            }
        }
    }

    /// Creates what a call would create, if the command cannot; `None` if the kernel should execute the call.
    pub(super) fn make(&self, call: &Notification) -> Option<CreationResult> {
        let creation = Creation::of(call)?;
        // A file cannot be created under a name that ends in a slash.
        if creation.kind == CreationKind::Open && creation.new.1.ends_with(b"/") {
            return None;
        }
        let old = creation.old.as_ref().map(|(folder, path)| CommandPath::of(call.pid, *folder, path));
        let (old_place, new_place) = match (creation.kind, old) {
            (CreationKind::Symlink, _) | (_, None) => {
                (None, CommandPath::of(call.pid, creation.new.0, &creation.new.1)?)
            }
            (_, Some(old)) => (Some(old?), CommandPath::of(call.pid, creation.new.0, &creation.new.1)?),
        };
        let places = [old_place.as_ref(), Some(&new_place)];
        if !places.into_iter().flatten().any(|place| self.needs_server_in(&place.real)) {
            return None;
        }
        let mask =
            if matches!(creation.kind, CreationKind::Open | CreationKind::Directory | CreationKind::Node) {
                umask(call.pid)?
            } else {
                0
            };
        let target = match (creation.kind, &creation.old) {
            (CreationKind::Symlink, Some((_, target))) => CString::new(target.clone()).ok()?,
            _ => CString::default(),
        };
        let old =
            old_place.as_ref().map_or((c".", target.as_c_str()), |place| (&*place.folder, &*place.name));
        let request = CreateRequest {
            kind: creation.kind,
            flags: creation.flags,
            mode: creation.mode & !mask,
            old,
            new: (&new_place.folder, &new_place.name),
        };
        let first = old_place.as_ref().unwrap_or(&new_place);
        let socket = self.socket.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match server::ask(socket.as_fd(), &request, &[first.from.as_fd(), new_place.from.as_fd()]) {
            Ok(CreationResult::Kernel) => None,
            Ok(made) => Some(made),
            // The supervisor process has ended, and so has the command.
            Err(_) => Some(CreationResult::Failed(libc::EROFS)),
        }
    }
}

/// A call that creates a name: the directory's descriptor and the path, as the command passed them.
struct Creation {
    kind: CreationKind,
    flags: u32,
    mode: u32,
    old: Option<(i32, Vec<u8>)>,
    new: (i32, Vec<u8>),
}

impl Creation {
    /// `None` if the call creates nothing, or in a way that only the kernel can follow.
    fn of(call: &Notification) -> Option<Self> {
        let [first, second, third, fourth, fifth, _] = call.arguments;
        const HERE: u64 = libc::AT_FDCWD as u64;
        let text = |address: u64| notify::text(call.pid, address);
        let one = |kind, folder: u64, path: u64, flags: u64, mode: u64| {
            Some(Self {
                kind,
                flags: flags as u32,
                mode: mode as u32,
                old: None,
                new: (folder as i32, text(path)),
            })
        };
        let two = |kind, old: (u64, u64), new: (u64, u64), flags: u64| {
            let (old, new) = ((old.0 as i32, text(old.1)), (new.0 as i32, text(new.1)));
            Some(Self { kind, flags: flags as u32, mode: 0, old: Some(old), new })
        };
        match call.call {
            libc::SYS_openat => {
                creating_flags(third).and_then(|flags| one(CreationKind::Open, first, second, flags, fourth))
            }
            libc::SYS_mkdirat => one(CreationKind::Directory, first, second, 0, third),
            libc::SYS_mknodat => one(CreationKind::Node, first, second, 0, third),
            libc::SYS_symlinkat => two(CreationKind::Symlink, (HERE, first), (second, third), 0),
            // With flags (through a link or a descriptor), only the command itself can do this.
            libc::SYS_linkat if fifth == 0 => two(CreationKind::Link, (first, second), (third, fourth), 0),
            libc::SYS_renameat2 => two(CreationKind::Rename, (first, second), (third, fourth), fifth),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_renameat => two(CreationKind::Rename, (first, second), (third, fourth), 0),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_open => {
                creating_flags(second).and_then(|flags| one(CreationKind::Open, HERE, first, flags, third))
            }
            #[cfg(target_arch = "x86_64")]
            libc::SYS_creat => {
                let flags = (libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC) as u64;
                one(CreationKind::Open, HERE, first, flags, second)
            }
            #[cfg(target_arch = "x86_64")]
            libc::SYS_mkdir => one(CreationKind::Directory, HERE, first, 0, second),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_mknod => one(CreationKind::Node, HERE, first, 0, second),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_symlink => two(CreationKind::Symlink, (HERE, first), (HERE, second), 0),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_link => two(CreationKind::Link, (HERE, first), (HERE, second), 0),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_rename => two(CreationKind::Rename, (HERE, first), (HERE, second), 0),
            _ => None,
        }
    }
}

/// Returns the flags of an open call that may create a file.
fn creating_flags(flags: u64) -> Option<u64> {
    let others = (libc::O_DIRECTORY | libc::O_PATH | libc::O_TMPFILE) as u64;
    (flags & libc::O_CREAT as u64 != 0 && flags & others == 0).then_some(flags)
}

/// A path of a command: an open directory to start from, the path from there, and the last name.
struct CommandPath {
    from: OwnedFd,
    folder: CString,
    name: CString,
    /// The real path of the directory, as we see it.
    real: PathBuf,
}

impl CommandPath {
    fn of(pid: u32, folder: i32, path: &[u8]) -> Option<Self> {
        let end = path.iter().rposition(|byte| *byte != b'/')? + 1;
        let (way, name) = match path.get(..end)?.iter().rposition(|byte| *byte == b'/') {
            Some(at) => (path.get(..=at)?, path.get(at + 1..end)?),
            None => (&b"."[..], path.get(..end)?),
        };
        if matches!(name, b"." | b"..") {
            return None;
        }
        let base = match folder {
            libc::AT_FDCWD => format!("/proc/{pid}/cwd"),
            folder => format!("/proc/{pid}/fd/{folder}"),
        };
        let from = rustix::fs::open(&base, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        let real = super::judge::absolute(pid, folder as i64 as u64, way.to_vec()).canonicalize().ok()?;
        Some(Self { from: from.ok()?, folder: CString::new(way).ok()?, name: CString::new(name).ok()?, real })
    }
}

/// Reads the umask of a process.
fn umask(pid: u32) -> Option<u32> {
    use std::io::Read as _;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = rustix::fs::open(format!("/proc/{pid}/status"), flags, Mode::empty()).ok()?;
    let mut text = String::new();
    std::fs::File::from(file).take(4096).read_to_string(&mut text).ok()?;
    let mask = text.lines().find_map(|line| line.strip_prefix("Umask:"))?;
    u32::from_str_radix(mask.trim(), 8).ok()
}
