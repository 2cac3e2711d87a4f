//! Decides about the system calls that the seccomp filter passes to us.
//!
//! It answers two questions. May the call be made? This is decided from its number and registers alone, so nothing can
//! change after the decision. And will the kernel deny it, and why? That is reported as a [`Denial`], based on the
//! program's memory. Memory may change a moment later, so it never allows anything that the kernel would deny.
//!
//! A program that creates a local socket gets one that can never be connected. So the decision is made when it connects
//! and the path is known: sockets of other programs are denied by path, but the C library's lookup of user names, which
//! every `ls -l` makes, is not reported as a denial.
//!
//! In a directory where a protected name is missing, files are created on behalf of the command ([`super::creation`]).
//!
//! A wrapper that sets up the sandbox needs system calls that the command must not make. So with a wrapper, all calls
//! are allowed until the command starts; the filter reports every program start.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use tokio::sync::watch;

use super::creation::CreationClient;
use super::denial::{Denial, Rule};
use super::filter;
use super::policy::{LocalSockets, Network, Policy};
use super::proxy;
use crate::sys::create::CreationResult;
use crate::sys::notify::{self, Notification, ReturnedFile, SyscallAnswer};

/// Decides about the system calls of one command.
#[derive(Debug)]
pub(crate) struct SyscallJudge {
    policy: Arc<Policy>,
    /// Creates names on behalf of the command; `None` if a wrapper sets up the sandbox.
    creation: Option<CreationClient>,
    /// Number of program starts until the command itself runs.
    starts: watch::Sender<u32>,
}

impl SyscallJudge {
    /// `starts` is the number of program starts up to and including the command's own.
    pub(super) fn new(policy: Arc<Policy>, starts: u32) -> Self {
        Self { policy, creation: None, starts: watch::Sender::new(starts) }
    }

    /// Creates new names through this client.
    pub(super) fn with_creation(mut self, creation: CreationClient) -> Self {
        self.creation = Some(creation);
        self
    }

    /// Whether the command itself was started, not only the wrapper.
    pub(crate) fn has_started(&self) -> bool {
        *self.starts.borrow() == 0
    }

    /// Waits until the command itself starts.
    pub(crate) async fn wait_for_start(&self) {
        let _ = self.starts.subscribe().wait_for(|starts| *starts == 0).await;
    }

    /// Answers notifications until no process can send one. Blocks, because the kernel offers no other way to wait.
    pub(crate) fn answer(&self, notifier: &OwnedFd, denied: impl Fn(Denial)) {
        loop {
            let call = match notify::receive(notifier.as_fd()) {
                Ok(Some(call)) => call,
                Ok(None) if notify::is_open(notifier) => continue,
                Ok(None) | Err(_) => return,
            };
            let (answer, denial) = self.judge(&call);
            denial.into_iter().for_each(&denied);
            if notify::answer(notifier.as_fd(), &call, answer).is_err() {
                return;
            }
        }
    }

    /// Runs the allow-list proxy.
    pub(crate) async fn serve(&self, listener: OwnedFd, denied: impl Fn(Denial) + Clone + Send + 'static) {
        let destinations = match &self.policy.network {
            Network::Only(destinations) => destinations.clone(),
            Network::Off | Network::On => Vec::new(),
        };
        proxy::serve(listener, destinations.into(), denied).await;
    }

    fn judge(&self, call: &Notification) -> (SyscallAnswer, Option<Denial>) {
        let is_start = call.call == libc::SYS_execve || call.call == libc::SYS_execveat;
        if !self.has_started() {
            if is_start {
                self.starts.send_modify(|starts| *starts -= 1);
            }
            return (SyscallAnswer::Continue, None);
        }
        match call.call {
            _ if is_start => (SyscallAnswer::Continue, None),
            libc::SYS_connect | libc::SYS_bind => match self.local_socket(call) {
                Some(path) => (SyscallAnswer::Refuse(libc::EPERM), explain_local(call, &path)),
                None if call.call == libc::SYS_bind => (SyscallAnswer::Continue, None),
                None => (SyscallAnswer::Continue, self.explain_connect(call)),
            },
            libc::SYS_socket | libc::SYS_socketpair => {
                let [family_of, kind, ..] = call.arguments;
                let (local, kind) = (family_of as i32 == libc::AF_UNIX, kind as i32);
                if local && call.call == libc::SYS_socket && kind & 0xf == libc::SOCK_STREAM {
                    let close_on_exec = kind & libc::SOCK_CLOEXEC != 0;
                    let nonblocking = kind & libc::SOCK_NONBLOCK != 0;
                    return (SyscallAnswer::DeadSocket { close_on_exec, nonblocking }, None);
                }
                let what = format!("{} for {}", filter::name(call.call), family(call));
                let rule = if local { Rule::LocalSockets } else { Rule::KernelCall };
                (SyscallAnswer::Refuse(libc::EPERM), Some(Denial::new(what, rule)))
            }
            _ => match self.changed_path(call) {
                Some(_) if sets_user_id(call) => {
                    let what = "creating a file with the set-user-id bit".to_owned();
                    (SyscallAnswer::Refuse(libc::EPERM), Some(Denial::new(what, Rule::KernelCall)))
                }
                Some((path, last)) => self.write(call, &path, last),
                None => {
                    let what = filter::name(call.call).to_owned();
                    (SyscallAnswer::Refuse(libc::EPERM), Some(Denial::new(what, Rule::KernelCall)))
                }
            },
        }
    }

    /// A call that changes a path: done on behalf of the command if it cannot do so itself, otherwise left to the
    /// kernel.
    fn write(&self, call: &Notification, path: &Path, last: FinalLink) -> (SyscallAnswer, Option<Denial>) {
        // `mkdir` of an existing directory fails anyway; that is not a denial.
        let is_there = creates_directory(call) && path.symlink_metadata().is_ok();
        let denial = if is_there { None } else { self.explain_write(path, last) };
        let protected = matches!(&denial, Some(Denial { rule: Rule::Protected(_), .. }));
        let Some(creation) = &self.creation else {
            // Without Landlock, only this check prevents the creation of a missing protected path.
            let leads_there = || follow_links(path, last).is_none_or(|end| self.policy.protects(&end));
            let refused = protected || leads_there();
            return (
                if refused { SyscallAnswer::Refuse(libc::EROFS) } else { SyscallAnswer::Continue },
                denial,
            );
        };
        match creation.make(call) {
            None => (SyscallAnswer::Continue, denial),
            Some(CreationResult::Done) => (SyscallAnswer::Done, denial),
            Some(CreationResult::Opened(file)) => {
                (SyscallAnswer::Opened(ReturnedFile { file, close_on_exec: closes_on_exec(call) }), denial)
            }
            Some(CreationResult::Failed(error)) => (SyscallAnswer::Refuse(error), denial),
            Some(CreationResult::Kernel) => (SyscallAnswer::Continue, denial),
        }
    }

    fn explain_write(&self, path: &Path, last: FinalLink) -> Option<Denial> {
        // Resolve links as we see them; the command sees the same, except for a private `/tmp`.
        let own = self.policy.has_own_tmp() && path.starts_with("/tmp");
        let real = if own { None } else { resolve(path, last) };
        let real = real.as_deref().unwrap_or(path);
        let rule = self.policy.write_denial(real)?;
        let mut what = format!("writing {}", real.display());
        if real != path {
            what.push_str(&format!(" through {}", path.display()));
        }
        Some(Denial { what, rule, path: Some(real.to_owned()) })
    }

    fn explain_connect(&self, call: &Notification) -> Option<Denial> {
        let [_, address, length, ..] = call.arguments;
        let to = address_of(&notify::memory(call.pid, address, (length as usize).min(128)))?;
        let rule = match self.policy.network {
            Network::On => return None,
            Network::Off => Rule::NetworkOff,
            Network::Only(_) => Rule::NotListed,
        };
        // The private loopback interface works; but a name lookup there is for a host elsewhere.
        let is_lookup = to.port() == 53;
        let what =
            if is_lookup { format!("looking up a host name at {to}") } else { format!("connecting to {to}") };
        (is_lookup || !to.ip().is_loopback()).then(|| Denial::new(what, rule))
    }

    /// The address of the local socket that a call uses, if such sockets are blocked.
    fn local_socket(&self, call: &Notification) -> Option<Vec<u8>> {
        let [_, address, length, ..] = call.arguments;
        if self.policy.local_sockets == LocalSockets::Allowed {
            return None;
        }
        let bytes = notify::memory(call.pid, address, (length as usize).min(128));
        let (family, path) = bytes.split_first_chunk::<2>()?;
        (i32::from(u16::from_ne_bytes(*family)) == libc::AF_UNIX).then(|| path.to_vec())
    }

    /// The path that a watched call would change; `None` for other calls.
    fn changed_path(&self, call: &Notification) -> Option<(PathBuf, FinalLink)> {
        let [first, second, third, fourth, ..] = call.arguments;
        const HERE: u64 = libc::AT_FDCWD as u64;
        let (directory, path, last) = match call.call {
            libc::SYS_openat => (first, second, FinalLink::Followed),
            libc::SYS_mkdirat | libc::SYS_unlinkat | libc::SYS_mknodat => (first, second, FinalLink::Itself),
            libc::SYS_renameat2 | libc::SYS_linkat => (third, fourth, FinalLink::Itself),
            libc::SYS_symlinkat => (second, third, FinalLink::Itself),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_renameat => (third, fourth, FinalLink::Itself),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_open | libc::SYS_creat => (HERE, first, FinalLink::Followed),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_mkdir | libc::SYS_unlink | libc::SYS_mknod => (HERE, first, FinalLink::Itself),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_rename | libc::SYS_link | libc::SYS_symlink => (HERE, second, FinalLink::Itself),
            _ => return None,
        };
        Some((absolute(call.pid, directory, notify::text(call.pid, path)), last))
    }
}

/// Sockets that C libraries use to look up users and hosts. They continue without an answer.
const LOOKUPS: &[&str] =
    &["/var/run/nscd/", "/run/nscd/", "/run/systemd/userdb/", "/run/systemd/resolve/", "/var/lib/sss/pipes/"];

fn explain_local(call: &Notification, path: &[u8]) -> Option<Denial> {
    // An abstract socket name starts with NUL; it is written with an `@`.
    let (mark, path) = match path.split_first() {
        Some((0, rest)) => ("@", rest),
        _ => ("", path),
    };
    let end = path.iter().position(|byte| *byte == 0).unwrap_or(path.len());
    let path = String::from_utf8_lossy(path.get(..end).unwrap_or_default());
    if LOOKUPS.iter().any(|lookup| path.starts_with(lookup)) {
        return None;
    }
    let verb = if call.call == libc::SYS_bind { "creating" } else { "connecting to" };
    Some(Denial::new(format!("{verb} the local socket {mark}{path}"), Rule::LocalSockets))
}

fn family(call: &Notification) -> String {
    match call.arguments.first().map(|family| *family as i32) {
        Some(libc::AF_UNIX) => "a local socket".to_owned(),
        Some(other) => format!("address family {other}"),
        None => "an unknown family".to_owned(),
    }
}

/// The absolute path of another process's path, from its text only: for messages, not for decisions.
pub(super) fn absolute(pid: u32, directory: u64, path: Vec<u8>) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    let path = PathBuf::from(std::ffi::OsString::from_vec(path));
    let base = if path.is_absolute() {
        PathBuf::new()
    } else if directory as i32 == libc::AT_FDCWD {
        link(&format!("/proc/{pid}/cwd"))
    } else {
        link(&format!("/proc/{pid}/fd/{}", directory as i32))
    };
    let mut whole = PathBuf::new();
    for part in base.join(path).components() {
        match part {
            Component::ParentDir => drop(whole.pop()),
            Component::CurDir => {}
            part => whole.push(part),
        }
    }
    whole
}

/// Maximum number of links to follow, as in the kernel.
const LINKS: usize = 40;

/// Follows the links of a path by their text; `None` if the path leads through a process's open files or directories,
/// because only the kernel knows where those are.
fn follow_links(path: &Path, last: FinalLink) -> Option<PathBuf> {
    let mut rest: VecDeque<OsString> = path.iter().skip(1).map(OsString::from).collect();
    let (mut at, mut links) = (PathBuf::from("/"), 0);
    while let Some(name) = rest.pop_front() {
        if name == ".." {
            at.pop();
            continue;
        }
        let is_open = name == "cwd" || name == "root" || at.ends_with("fd");
        at.push(&name);
        if is_open && at.starts_with("/proc") && !rest.is_empty() {
            return None;
        }
        if rest.is_empty() && last == FinalLink::Itself {
            break;
        }
        let Ok(target) = at.read_link() else { continue };
        links += 1;
        at.pop();
        if links > LINKS {
            return None;
        }
        if target.is_absolute() {
            at = PathBuf::from("/");
        }
        for part in target.components().rev() {
            match part {
                Component::Normal(name) => rest.push_front(name.to_owned()),
                Component::ParentDir => rest.push_front("..".into()),
                _ => {}
            }
        }
    }
    Some(at)
}

/// Whether a call would create a set-user-id or set-group-id file. Uses registers only.
fn sets_user_id(call: &Notification) -> bool {
    const BITS: u64 = (libc::S_ISUID | libc::S_ISGID) as u64;
    let [_, second, third, fourth, ..] = call.arguments;
    let creates = |flags: u64| flags & libc::O_CREAT as u64 != 0;
    match call.call {
        libc::SYS_openat => creates(third) && fourth & BITS != 0,
        libc::SYS_mknodat => third & BITS != 0,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_open => creates(second) && third & BITS != 0,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_creat | libc::SYS_mknod => second & BITS != 0,
        _ => false,
    }
}

fn creates_directory(call: &Notification) -> bool {
    #[cfg(target_arch = "x86_64")]
    if call.call == libc::SYS_mkdir {
        return true;
    }
    call.call == libc::SYS_mkdirat
}

fn closes_on_exec(call: &Notification) -> bool {
    let [_, second, third, ..] = call.arguments;
    let flags = if call.call == libc::SYS_openat { third } else { second };
    // `creat` has no flags in that argument.
    flags & libc::O_CLOEXEC as u64 != 0 && filter::has_open_flags(call.call)
}

/// How a call treats a link at the end of its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FinalLink {
    /// It uses the link's target.
    Followed,
    /// It uses the link itself.
    Itself,
}

/// Resolves a path; its last part need not exist.
fn resolve(path: &Path, last: FinalLink) -> Option<PathBuf> {
    if let (FinalLink::Followed, Ok(real)) = (last, path.canonicalize()) {
        return Some(real);
    }
    Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?))
}

fn link(path: &str) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    let target =
        rustix::fs::readlink(path, Vec::new()).map(std::ffi::CString::into_bytes).unwrap_or_default();
    PathBuf::from(std::ffi::OsString::from_vec(target))
}

/// Parses an internet address in the kernel's layout.
fn address_of(bytes: &[u8]) -> Option<SocketAddr> {
    let family = i32::from(u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?));
    let port = u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?);
    let ip = match family {
        libc::AF_INET => IpAddr::from(<[u8; 4]>::try_from(bytes.get(4..8)?).ok().map(Ipv4Addr::from)?),
        libc::AF_INET6 => IpAddr::from(<[u8; 16]>::try_from(bytes.get(8..24)?).ok().map(Ipv6Addr::from)?),
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
