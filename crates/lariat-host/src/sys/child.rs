//! Sets up a child process between `fork` and the start of its program.
//!
//! The steps, in order: descriptors, session, namespaces, fork of the supervisor process, mounts, limits, capabilities,
//! Landlock, seccomp. A [`Plan`] is plain data, created before `fork` (possibly in another process, if a launch helper
//! starts the program) and only read after it. The child reports a failed stage over the control socket, and the error
//! itself in the way that `Command::spawn` reports errors.

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

use super::create::GuardedDirectory;
use super::landlock;
use super::raw::{self, Devices, Filter};
use super::supervisor::{self, CreationServer, SignalScope};

pub(crate) use super::raw::PROXY_PORT;
pub(crate) use super::supervisor::{END, ENDED};

/// Setup is complete and the program itself starts next. If this was not received, the program did not run.
pub(crate) const READY: u8 = b'R';
/// Precedes the stage at which a start failed.
pub(crate) const FAILED: u8 = b'F';
/// Sent together with the listening socket of the proxy.
pub(crate) const LISTENER: u8 = b'L';
/// Sent together with the descriptor on which seccomp sends notifications.
pub(crate) const NOTIFIER: u8 = b'N';

/// Everything that a child needs to know. Nothing is allocated after `fork`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// The working directory, as the program will see it.
    pub(crate) directory: CString,
    /// Whether standard input is a terminal that the program should control.
    pub(crate) terminal: bool,
    /// Resource limits of the process and its descendants.
    pub(crate) limits: Vec<(Limit, u64)>,
    /// The sandbox restrictions; `None` means unsandboxed.
    pub(crate) restrictions: Option<Restrictions>,
}

/// The descriptors that a child holds besides its standard streams until its program starts.
#[derive(Debug)]
pub(crate) struct HeldDescriptors {
    /// The child's side of the control socket.
    pub(crate) control: OwnedFd,
    /// Files of control groups; the child joins a group by writing a zero.
    pub(crate) groups: Vec<OwnedFd>,
    /// The supervisor process's side of the socket over which it is asked to create files.
    pub(crate) creation_socket: Option<OwnedFd>,
}

/// A resource limit of a process and its descendants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Limit {
    /// Memory of one process, in bytes.
    Memory,
    /// Number of processes of the user.
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

/// The restrictions of a sandboxed program.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Restrictions {
    /// The maps of a new user namespace; `None` if the caller has enough privileges without one.
    pub(crate) identity: Option<Identity>,
    /// Which network the program sees.
    pub(crate) network: NetworkView,
    /// Symbolic links that the program must not replace: each is covered by a mount of itself.
    pub(crate) links: Vec<CString>,
    /// The steps to set up the file system view; `None` if a wrapper program does it.
    pub(crate) view: Option<Vec<Step>>,
    /// Maximum number of processes, if the kernel supports a limit per process-id namespace.
    pub(crate) processes: Option<Vec<u8>>,
    /// Landlock rules, by path as the program sees it. Empty: Landlock is not used.
    pub(crate) rules: Vec<(CString, Grant)>,
    /// Directories in which the program cannot create names itself, and the names that are not created for it.
    pub(crate) guarded: Vec<GuardedDirectory>,
    /// The seccomp program.
    pub(crate) filter: Filter,
}

/// What Landlock allows beneath a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Grant {
    /// Reads and executes.
    Read,
    /// Also changes and creates.
    Change,
    /// Also changes, but does not create new names.
    ChangeWithoutMaking,
}

/// The user and group ids of the program, as lines of the kernel's maps.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Identity {
    /// For `uid_map`.
    pub(crate) users: Vec<u8>,
    /// For `gid_map`.
    pub(crate) groups: Vec<u8>,
}

/// Which network a program sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum NetworkView {
    /// The network of the machine.
    Shared,
    /// Only a private loopback interface.
    Own,
    /// A private loopback interface with a listening socket for our proxy.
    Proxied,
}

/// One step of setting up a file system view. A slot holds a mount tree between `Take` and `Put`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Step {
    /// Copies the mount tree at a path into a slot.
    Take(usize, CString),
    /// Mounts the tree of a slot at a path.
    Put(usize, CString),
    /// Makes all mounts at and below a path read-only.
    ReadOnly(CString),
    /// Makes them read-only and disables device files.
    ReadOnlyWithoutDevices(CString),
    /// Mounts a new file system.
    Fresh(FileSystem, CString, CString),
    /// Creates a directory, unless it exists.
    Directory(CString),
    /// Creates an empty file, unless it exists.
    File(CString),
    /// Creates a symbolic link: from, to.
    Link(CString, CString),
}

/// The type of a new mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum FileSystem {
    /// `tmpfs`: files in memory.
    Memory,
    /// `devpts`: terminals.
    Terminals,
    /// `proc`: processes.
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
            // Terminals are device files, so devices must work.
            Self::Terminals => MountFlags::NOSUID,
            Self::Memory | Self::Processes => MountFlags::NOSUID | MountFlags::NODEV,
        }
    }
}

/// The stages of a start, for error messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Stage {
    /// Closing descriptors, a new session, control groups.
    Begin = 1,
    /// New namespaces and their maps.
    Namespaces,
    /// The loopback interface and the proxy's socket.
    Network,
    /// Forking the supervisor process.
    Supervisor,
    /// The file system view.
    View,
    /// The terminal and the working directory.
    Directory,
    /// Resource limits.
    Limits,
    /// Dropping capabilities.
    Capabilities,
    /// Landlock.
    Landlock,
    /// Seccomp.
    Seccomp,
}

impl Stage {
    /// Describes the stage with this number.
    pub(crate) fn name(number: u8) -> &'static str {
        match number {
            1 => "preparing the process",
            2 => "creating namespaces",
            3 => "preparing the network",
            4 => "starting the supervisor process",
            5 => "preparing the file system view",
            6 => "entering the working directory",
            7 => "setting limits",
            8 => "dropping capabilities",
            9 => "applying Landlock",
            10 => "applying seccomp",
            _ => "starting",
        }
    }
}

impl Plan {
    /// Executes the plan in the child when `command` starts.
    pub(crate) fn attach(self, held: HeldDescriptors, command: &mut Command) {
        // Allocate a slot for every tree now, because the child must not allocate.
        let slots = self
            .restrictions
            .as_ref()
            .and_then(|restrictions| restrictions.view.as_ref())
            .map_or(0, |steps| steps.len());
        let mut slots: Vec<Option<OwnedFd>> = std::iter::repeat_with(|| None).take(slots).collect();
        // SAFETY: the closure runs in the child and uses only prepared data, system calls and `fork`.
        unsafe { command.pre_exec(move || self.apply(&held, &mut slots)) };
    }

    fn apply(&self, held: &HeldDescriptors, slots: &mut [Option<OwnedFd>]) -> io::Result<()> {
        held.report(Stage::Begin, held.begin())?;
        let Some(restrictions) = &self.restrictions else {
            held.report(Stage::Supervisor, held.fork_supervisor(SignalScope::Descendants, &[]))?;
            held.report(Stage::Directory, self.enter_directory())?;
            held.report(Stage::Limits, self.limit())?;
            raw::send(held.control.as_raw_fd(), &[READY]);
            return Ok(());
        };
        held.report(Stage::Namespaces, restrictions.separate())?;
        held.report(Stage::Network, restrictions.connect(held.control.as_raw_fd()))?;
        // The outer supervisor process reads our requests; the inner one is the first process of the namespace.
        held.report(Stage::Supervisor, held.fork_supervisor(SignalScope::Inner, &[]))?;
        held.report(Stage::View, restrictions.enter(slots))?;
        held.report(Stage::Supervisor, held.fork_supervisor(SignalScope::Namespace, &restrictions.guarded))?;
        held.report(Stage::Directory, self.enter_directory())?;
        held.report(Stage::Limits, self.limit())?;
        // A wrapper needs capabilities to set up the view, and drops them itself.
        if restrictions.view.is_some() {
            held.report(Stage::Capabilities, drop_all_capabilities())?;
        }
        held.report(Stage::Landlock, restrictions.restrict())?;
        // Before the last step, because afterwards the filter applies to this message, too.
        raw::send(held.control.as_raw_fd(), &[READY]);
        held.report(Stage::Seccomp, restrictions.filter(held.control.as_raw_fd()))
    }

    fn enter_directory(&self) -> io::Result<()> {
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

impl HeldDescriptors {
    fn report(&self, stage: Stage, result: io::Result<()>) -> io::Result<()> {
        if result.is_err() {
            raw::send(self.control.as_raw_fd(), &[FAILED, stage as u8]);
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

    /// Forks: the calling process becomes the supervisor process and never returns; its child continues.
    fn fork_supervisor(&self, scope: SignalScope, guarded: &[GuardedDirectory]) -> io::Result<()> {
        // SAFETY: both sides use only system calls and prepared data.
        match unsafe { raw::fork() }? {
            Some(child) => {
                let creation_socket =
                    self.creation_socket.as_ref().filter(|_| scope == SignalScope::Namespace);
                let creation_socket = creation_socket.map(|socket| CreationServer { socket, guarded });
                if creation_socket.is_some() {
                    // It creates files for the command with the command's permissions.
                    rustix::process::umask(Mode::empty());
                    let _ = drop_capabilities();
                }
                supervisor::supervise(child, scope, self.control.as_raw_fd(), creation_socket)
            }
            None => Ok(()),
        }
    }
}

impl Restrictions {
    fn separate(&self) -> io::Result<()> {
        use rustix::thread::UnshareFlags;
        let mut flags = UnshareFlags::NEWPID | UnshareFlags::NEWIPC | UnshareFlags::NEWUTS;
        flags.set(UnshareFlags::NEWUSER, self.identity.is_some());
        flags.set(UnshareFlags::NEWNET, self.network != NetworkView::Shared);
        flags.set(UnshareFlags::NEWNS, self.view.is_some() || !self.links.is_empty());
        // SAFETY: the process has one thread and shares its descriptors with no other process.
        unsafe { rustix::thread::unshare_unsafe(flags) }?;
        if let Some(identity) = &self.identity {
            // The maps of a non-dumpable process belong to root, so only root can write them.
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

    fn connect(&self, control: RawFd) -> io::Result<()> {
        if self.network != NetworkView::Shared {
            raw::loopback_up()?;
        }
        if self.network == NetworkView::Proxied {
            let listener = raw::listen()?;
            raw::send_descriptor(control, LISTENER, listener.as_raw_fd())?;
        }
        Ok(())
    }

    /// Sets up the new namespaces, in their first process.
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
        steps.iter().try_for_each(|step| perform_step(step, slots))
    }

    fn restrict(&self) -> io::Result<()> {
        rustix::thread::set_no_new_privs(true)?;
        if self.rules.is_empty() { Ok(()) } else { landlock::restrict(&self.rules) }
    }

    fn filter(&self, control: RawFd) -> io::Result<()> {
        let notifier = raw::install(&self.filter)?;
        raw::send_descriptor(control, NOTIFIER, notifier.as_raw_fd())
    }
}

fn die_with_parent() -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    Ok(())
}

/// Mounts a symbolic link on itself, because a mount point cannot be removed, renamed or replaced. Sets all the flags
/// that bubblewrap would set, because bubblewrap would follow the link to do so.
fn cover(link: &CStr) -> io::Result<()> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
    let tree = rustix::mount::open_tree(CWD, link, flags)?;
    raw::restrict_tree(&tree)?;
    // Without a flag to follow links, move_mount does not follow the last one.
    rustix::mount::move_mount(&tree, c"", CWD, link, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
    Ok(())
}

fn perform_step(step: &Step, slots: &mut [Option<OwnedFd>]) -> io::Result<()> {
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
        Step::ReadOnly(path) => raw::restrict_mounts(path, Devices::Allowed)?,
        Step::ReadOnlyWithoutDevices(path) => raw::restrict_mounts(path, Devices::Refused)?,
        Step::Fresh(kind, path, options) => {
            let name = kind.name();
            rustix::mount::mount(name, path.as_c_str(), name, kind.flags(), Some(options.as_c_str()))?;
        }
        Step::Directory(path) => {
            ignore_existing(rustix::fs::mkdirat(CWD, path.as_c_str(), Mode::from_raw_mode(0o755)))?;
        }
        Step::File(path) => {
            use rustix::fs::OFlags;
            let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
            ignore_existing(
                rustix::fs::openat(CWD, path.as_c_str(), flags, Mode::from_raw_mode(0o644)).map(drop),
            )?;
        }
        Step::Link(from, to) => {
            ignore_existing(rustix::fs::symlinkat(to.as_c_str(), CWD, from.as_c_str()))?;
        }
    }
    Ok(())
}

fn ignore_existing(made: rustix::io::Result<()>) -> io::Result<()> {
    match made {
        Err(rustix::io::Errno::EXIST) => Ok(()),
        made => made.map_err(io::Error::from),
    }
}

/// Drops all capabilities for good: not even a set-user-id program of root can regain them.
fn drop_all_capabilities() -> io::Result<()> {
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
