//! What a child process does between `fork` and the start of its program, as data.
//!
//! Owns the order of the steps: descriptors, session, namespaces, the warden's fork, mounts, limits, capabilities,
//! Landlock, seccomp. A [`Plan`] is plain data, made before `fork` (in another process, where a keeper starts the
//! program) and only read after it. The stage that failed is told over the lifeline, the error itself the way every
//! failed start is told.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::fs::{CWD, Mode};
use rustix::mount::{MountFlags, MoveMountFlags, OpenTreeFlags};
use rustix::process::{DumpableBehavior, Resource, Rlimit, Signal};
use rustix::thread::{CapabilitySet, CapabilitySets};
use serde::{Deserialize, Serialize};

use super::landlock;
use super::maker::Guarded;
use super::raw::{self, Devices, Filter};
use super::warden::{self, Maker, Reach};

pub(crate) use super::raw::PROXY_PORT;
pub(crate) use super::warden::{END, ENDED};

/// All is prepared: the program itself is started next. Who does not hear it knows that nothing was.
pub(crate) const READY: u8 = b'R';
/// Precedes the stage at which a start failed.
pub(crate) const FAILED: u8 = b'F';
/// Accompanies the listening socket of the proxy.
pub(crate) const LISTENER: u8 = b'L';
/// Accompanies the descriptor at which seccomp notifies.
pub(crate) const NOTIFIER: u8 = b'N';

/// Everything a child needs to know; nothing is allocated after `fork`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// The working directory, as the program will see it.
    pub(crate) directory: CString,
    /// Whether standard input is a terminal that the program should control.
    pub(crate) terminal: bool,
    /// Limits of the process and those it starts.
    pub(crate) limits: Vec<(Limit, u64)>,
    /// The walls, where there are any.
    pub(crate) walls: Option<Walls>,
}

/// What a child holds besides its standard descriptors, until its program starts.
#[derive(Debug)]
pub(crate) struct Held {
    /// The child's end of the lifeline.
    pub(crate) lifeline: OwnedFd,
    /// Files to write a zero into: joins a control group.
    pub(crate) groups: Vec<OwnedFd>,
    /// The warden's end of the line by which it is asked to make something.
    pub(crate) maker: Option<OwnedFd>,
}

/// What can be limited of a process and those it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Limit {
    /// Bytes of memory of one process.
    Memory,
    /// Processes of the user.
    Processes,
}

impl Limit {
    fn resource(self) -> Resource {
        match self {
            Self::Memory => Resource::Data,
            Self::Processes => Resource::Nproc,
        }
    }
}

/// What confines a program.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Walls {
    /// A user namespace with these maps; none when the caller is privileged enough without.
    pub(crate) identity: Option<Identity>,
    /// What the program sees of the network.
    pub(crate) network: NetworkView,
    /// Symbolic links that must stay as they are: each is covered by itself.
    pub(crate) links: Vec<CString>,
    /// Its own view of the file system; without, another program makes it.
    pub(crate) view: Option<Vec<Step>>,
    /// Processes that may exist at a time, where the kernel can bound that for a process-id namespace.
    pub(crate) processes: Option<Vec<u8>>,
    /// What Landlock grants, by path as the program will see it. None: no Landlock.
    pub(crate) rules: Vec<(CString, Grant)>,
    /// Folders in which the program makes nothing by itself, and the names that are not made for it.
    pub(crate) guarded: Vec<Guarded>,
    /// A seccomp program.
    pub(crate) filter: Filter,
}

/// What Landlock grants beneath a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Grant {
    /// Reading and executing.
    Read,
    /// That, and changing.
    Change,
    /// The same, but for making new names.
    ChangeWithoutMaking,
}

/// Who the program is, as lines of the kernel's maps.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Identity {
    /// For `uid_map`.
    pub(crate) users: Vec<u8>,
    /// For `gid_map`.
    pub(crate) groups: Vec<u8>,
}

/// What a program sees of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum NetworkView {
    /// The machine's.
    Shared,
    /// A loopback interface of its own, and nothing else.
    Own,
    /// The same, with a listening socket for our proxy.
    Proxied,
}

/// One step of making a view of the file system. Slots hold trees that were taken and not put yet.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Step {
    /// Takes a tree as it is now, to put it somewhere later.
    Take(usize, CString),
    /// Puts a taken tree.
    Put(usize, CString),
    /// Makes all mounts from a path on read-only.
    ReadOnly(CString),
    /// The same, and device files there stop working.
    ReadOnlyWithoutDevices(CString),
    /// Mounts a new file system.
    Fresh(FileSystem, CString, CString),
    /// Makes a directory; one that is there is fine.
    Directory(CString),
    /// Makes an empty file; one that is there is fine.
    File(CString),
    /// Makes a symbolic link: from, to.
    Link(CString, CString),
}

/// What a new mount can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum FileSystem {
    /// Files in memory.
    Memory,
    /// Terminals.
    Terminals,
    /// Processes.
    Processes,
}

impl FileSystem {
    fn name(self) -> &'static CStr {
        match self {
            Self::Memory => c"tmpfs",
            Self::Terminals => c"devpts",
            Self::Processes => c"proc",
        }
    }

    fn flags(self) -> MountFlags {
        match self {
            // A terminal's device files are devices.
            Self::Terminals => MountFlags::NOSUID,
            Self::Memory | Self::Processes => MountFlags::NOSUID | MountFlags::NODEV,
        }
    }
}

/// Where a start can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Stage {
    /// Closing descriptors, a new session, control groups.
    Begin = 1,
    /// New namespaces and their maps.
    Namespaces,
    /// The loopback interface, the proxy's socket.
    Network,
    /// The warden's own process.
    Warden,
    /// Its view of the file system.
    View,
    /// The terminal, the working directory.
    Place,
    /// Resource limits.
    Limits,
    /// Giving up capabilities.
    Capabilities,
    /// Landlock.
    Landlock,
    /// Seccomp.
    Seccomp,
}

impl Stage {
    /// The stage of a number, in words.
    pub(crate) fn name(number: u8) -> &'static str {
        match number {
            1 => "preparing the process",
            2 => "making namespaces",
            3 => "preparing the network",
            4 => "starting the warden",
            5 => "preparing the view of the file system",
            6 => "entering the working directory",
            7 => "setting limits",
            8 => "giving up capabilities",
            9 => "applying Landlock",
            10 => "applying seccomp",
            _ => "starting",
        }
    }
}

impl Plan {
    /// Has the plan carried out when `command` starts.
    pub(crate) fn attach(self, held: Held, command: &mut Command) {
        // Room for every tree that is held at one time: pushing in the child must not allocate.
        let slots = self.walls.as_ref().and_then(|walls| walls.view.as_ref()).map_or(0, |steps| steps.len());
        let mut slots: Vec<Option<OwnedFd>> = std::iter::repeat_with(|| None).take(slots).collect();
        // SAFETY: the closure runs in the child and keeps to prepared data, system calls and `fork`.
        unsafe { command.pre_exec(move || self.carry_out(&held, &mut slots)) };
    }

    fn carry_out(&self, held: &Held, slots: &mut [Option<OwnedFd>]) -> io::Result<()> {
        held.at(Stage::Begin, held.begin())?;
        let Some(walls) = &self.walls else {
            held.at(Stage::Warden, held.leave_warden(Reach::Descendants, &[]))?;
            held.at(Stage::Place, self.take_place())?;
            held.at(Stage::Limits, self.limit())?;
            raw::tell(held.lifeline.as_raw_fd(), &[READY]);
            return Ok(());
        };
        held.at(Stage::Namespaces, walls.separate())?;
        held.at(Stage::Network, walls.connect(held.lifeline.as_raw_fd()))?;
        // The outer warden listens to us; the inner one is the first process of the namespace.
        held.at(Stage::Warden, held.leave_warden(Reach::Inner, &[]))?;
        held.at(Stage::View, walls.enter(slots))?;
        held.at(Stage::Warden, held.leave_warden(Reach::Namespace, &walls.guarded))?;
        held.at(Stage::Place, self.take_place())?;
        held.at(Stage::Limits, self.limit())?;
        // Another program that makes the view needs its capabilities for that, and gives them up itself.
        if walls.view.is_some() {
            held.at(Stage::Capabilities, give_up_capabilities())?;
        }
        held.at(Stage::Landlock, walls.restrict())?;
        // Before the last step: after it, not even this may be sent without being asked about.
        raw::tell(held.lifeline.as_raw_fd(), &[READY]);
        held.at(Stage::Seccomp, walls.filter(held.lifeline.as_raw_fd()))
    }

    fn take_place(&self) -> io::Result<()> {
        rustix::process::setsid()?;
        if self.terminal {
            rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
        }
        rustix::process::chdir(self.directory.as_c_str())?;
        Ok(())
    }

    fn limit(&self) -> io::Result<()> {
        for (limit, most) in &self.limits {
            let known = rustix::process::getrlimit(limit.resource());
            let most = known.maximum.map_or(*most, |maximum| maximum.min(*most));
            let bound = Rlimit { current: Some(most), maximum: Some(most) };
            rustix::process::setrlimit(limit.resource(), bound)?;
        }
        Ok(())
    }
}

impl Held {
    fn at(&self, stage: Stage, result: io::Result<()>) -> io::Result<()> {
        if result.is_err() {
            raw::tell(self.lifeline.as_raw_fd(), &[FAILED, stage as u8]);
        }
        result
    }

    fn begin(&self) -> io::Result<()> {
        raw::close_others_on_exec()?;
        for group in &self.groups {
            rustix::io::write(group, b"0")?;
        }
        rustix::process::setsid()?;
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        Ok(())
    }

    /// Forks: the calling process becomes the warden and never returns, its child goes on.
    fn leave_warden(&self, reach: Reach, guarded: &[Guarded]) -> io::Result<()> {
        // SAFETY: both sides keep to system calls and prepared data.
        match unsafe { raw::fork() }? {
            Some(child) => {
                let maker = self.maker.as_ref().filter(|_| reach == Reach::Namespace);
                let maker = maker.map(|line| Maker { line, guarded });
                if maker.is_some() {
                    // What it makes for its command, it makes with the command's rights.
                    rustix::process::umask(Mode::empty());
                    let _ = drop_capabilities();
                }
                warden::guard(child, reach, self.lifeline.as_raw_fd(), maker)
            }
            None => Ok(()),
        }
    }
}

impl Walls {
    fn separate(&self) -> io::Result<()> {
        use rustix::thread::UnshareFlags;
        let mut flags = UnshareFlags::NEWPID | UnshareFlags::NEWIPC | UnshareFlags::NEWUTS;
        flags.set(UnshareFlags::NEWUSER, self.identity.is_some());
        flags.set(UnshareFlags::NEWNET, self.network != NetworkView::Shared);
        flags.set(UnshareFlags::NEWNS, self.view.is_some() || !self.links.is_empty());
        // SAFETY: a process of one thread, whose descriptors are not shared with anyone.
        unsafe { rustix::thread::unshare_unsafe(flags) }?;
        if let Some(identity) = &self.identity {
            // The maps of a process that keeps its memory to itself are root's to write.
            let memory = rustix::process::dumpable_behavior()?;
            rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable)?;
            raw::write_file(c"/proc/self/setgroups", b"deny")?;
            raw::write_file(c"/proc/self/uid_map", &identity.users)?;
            raw::write_file(c"/proc/self/gid_map", &identity.groups)?;
            if memory != DumpableBehavior::Dumpable {
                rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
            }
        }
        Ok(())
    }

    fn connect(&self, lifeline: RawFd) -> io::Result<()> {
        if self.network != NetworkView::Shared {
            raw::loopback_up()?;
        }
        if self.network == NetworkView::Proxied {
            let listener = raw::listen()?;
            raw::send_descriptor(lifeline, LISTENER, listener.as_raw_fd())?;
        }
        Ok(())
    }

    /// What the first process of the new namespaces does in them.
    fn enter(&self, slots: &mut [Option<OwnedFd>]) -> io::Result<()> {
        die_with_parent()?;
        if let Some(processes) = &self.processes {
            raw::write_file(c"/proc/sys/kernel/pid_max", processes)?;
        }
        let steps = self.view.as_deref().unwrap_or_default();
        if steps.is_empty() && self.links.is_empty() {
            return Ok(());
        }
        use rustix::mount::MountPropagationFlags;
        rustix::mount::mount_change(c"/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
        self.links.iter().try_for_each(|link| cover(link))?;
        steps.iter().try_for_each(|step| take_step(step, slots))
    }

    fn restrict(&self) -> io::Result<()> {
        rustix::thread::set_no_new_privs(true)?;
        if self.rules.is_empty() { Ok(()) } else { landlock::restrict(&self.rules) }
    }

    fn filter(&self, lifeline: RawFd) -> io::Result<()> {
        let notifier = raw::install(&self.filter)?;
        raw::send_descriptor(lifeline, NOTIFIER, notifier.as_raw_fd())
    }
}

fn die_with_parent() -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    Ok(())
}

/// Mounts a symbolic link on itself: what has a mount on it cannot be removed, renamed or replaced. It has all the flags
/// that bubblewrap would want to give it, because bubblewrap would follow it to do so.
fn cover(link: &CStr) -> io::Result<()> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
    let tree = rustix::mount::open_tree(CWD, link, flags)?;
    raw::restrict_tree(&tree)?;
    // Without a flag to follow links, the last one is not followed.
    rustix::mount::move_mount(&tree, c"", CWD, link, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
    Ok(())
}

fn take_step(step: &Step, slots: &mut [Option<OwnedFd>]) -> io::Result<()> {
    let no_slot = || io::Error::from_raw_os_error(libc::EBADF);
    match step {
        Step::Take(slot, path) => {
            let flags = OpenTreeFlags::OPEN_TREE_CLONE
                | OpenTreeFlags::OPEN_TREE_CLOEXEC
                | OpenTreeFlags::AT_RECURSIVE;
            let tree = rustix::mount::open_tree(CWD, path.as_c_str(), flags)?;
            *slots.get_mut(*slot).ok_or_else(no_slot)? = Some(tree);
        }
        Step::Put(slot, path) => {
            let tree = slots.get_mut(*slot).and_then(Option::take).ok_or_else(no_slot)?;
            let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
            rustix::mount::move_mount(&tree, c"", CWD, path.as_c_str(), flags)?;
        }
        Step::ReadOnly(path) => raw::restrict_mounts(path, Devices::Kept)?,
        Step::ReadOnlyWithoutDevices(path) => raw::restrict_mounts(path, Devices::Refused)?,
        Step::Fresh(kind, path, options) => {
            let name = kind.name();
            rustix::mount::mount(name, path.as_c_str(), name, kind.flags(), Some(options.as_c_str()))?;
        }
        Step::Directory(path) => {
            existing(rustix::fs::mkdirat(CWD, path.as_c_str(), Mode::from_raw_mode(0o755)))?;
        }
        Step::File(path) => {
            use rustix::fs::OFlags;
            let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
            existing(rustix::fs::openat(CWD, path.as_c_str(), flags, Mode::from_raw_mode(0o644)).map(drop))?;
        }
        Step::Link(from, to) => {
            existing(rustix::fs::symlinkat(to.as_c_str(), CWD, from.as_c_str()))?;
        }
    }
    Ok(())
}

fn existing(made: rustix::io::Result<()>) -> io::Result<()> {
    match made {
        Err(rustix::io::Errno::EXIST) => Ok(()),
        made => made.map_err(io::Error::from),
    }
}

/// No capability, and no way back to one: not by a program of root's either.
fn give_up_capabilities() -> io::Result<()> {
    use rustix::thread::CapabilitiesSecureBits as Bits;
    let bits = Bits::NO_ROOT
        | Bits::NO_ROOT_LOCKED
        | Bits::NO_SETUID_FIXUP
        | Bits::NO_SETUID_FIXUP_LOCKED
        | Bits::KEEP_CAPS_LOCKED
        | Bits::NO_CAP_AMBIENT_RAISE
        | Bits::NO_CAP_AMBIENT_RAISE_LOCKED;
    rustix::thread::set_capabilities_secure_bits(bits)?;
    for number in 0..64 {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        match rustix::thread::remove_capability_from_bounding_set(capability) {
            Err(rustix::io::Errno::INVAL) => break,
            result => result?,
        }
    }
    drop_capabilities()
}

fn drop_capabilities() -> io::Result<()> {
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    rustix::thread::set_capabilities(None, sets)?;
    Ok(())
}
