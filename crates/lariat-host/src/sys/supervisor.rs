//! The supervisor process: a small process between us and a command that ends the command's whole process tree.
//!
//! It lives as long as any process of the command. It notices that its owner died when the control socket closes,
//! because only the owner holds the other side; so a killed owner leaves nothing running. It is the subreaper of the
//! command, so orphans become its children and a double fork does not escape.
//!
//! Runs after `fork` without `exec`: nothing here allocates, locks or panics.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd, RawFd};

use super::create::{self, GuardedDirectory};
use super::raw;

/// Milliseconds between SIGTERM and SIGKILL when the owner wants the tree to end. Owners are promised an end within a
/// second, even on a busy machine.
const GRACE_ENDING: u64 = 500;
/// The same for processes that a command left behind when it ended by itself.
const GRACE_LEFT: u64 = 300;
/// Milliseconds between repeated SIGKILLs.
const KILL_INTERVAL: u64 = 10;

/// Sent by the owner to end the tree at once.
pub(crate) const END: u8 = b'T';
/// Sent when the command itself ended: this byte, the wait status (little-endian), and 1 if no other process is left.
pub(crate) const ENDED: u8 = b'S';

/// Which processes the supervisor process signals.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SignalScope {
    /// All processes of this process-id namespace, of which it is the first process.
    Namespace,
    /// Its descendants, as listed in `/proc`.
    Descendants,
    /// The first process of an inner namespace; when that ends, the kernel ends all others in it.
    Inner,
}

/// The directories with guarded names, and the socket over which creations are requested.
#[derive(Clone, Copy)]
pub(super) struct CreationServer<'a> {
    pub(super) socket: &'a OwnedFd,
    pub(super) guarded: &'a [GuardedDirectory],
}

/// Supervises `main` until none of its processes is left, then ends the calling process.
pub(super) fn supervise(
    main: libc::pid_t,
    scope: SignalScope,
    control: RawFd,
    mut creation_socket: Option<CreationServer<'_>>,
) -> ! {
    raw::close_all_but(
        control,
        creation_socket.map_or(control, |creation_socket| creation_socket.socket.as_raw_fd()),
    );
    let Ok(signals) = raw::signals() else {
        signal_tree(main, scope, libc::SIGKILL);
        raw::exit(1)
    };
    // In a namespace, the outer supervisor process listens to the owner and signals this one.
    let owner = if scope == SignalScope::Namespace { -1 } else { control };
    let mut last_signal: Option<u64> = None;
    loop {
        // Checks before it waits: a short command may have ended before the signal descriptor existed.
        let asked = raw::termination_requested(signals) | owner_requests_end(owner);
        match reap(main) {
            ReapResult::NothingLeft => raw::exit(0),
            ReapResult::Main(status) => {
                let alone = !children_left();
                if scope != SignalScope::Inner {
                    let [a, b, c, d] = status.to_le_bytes();
                    raw::send(control, &[ENDED, a, b, c, d, u8::from(alone)]);
                }
                if alone {
                    raw::exit(0);
                }
                if last_signal.is_none() {
                    terminate(main, scope);
                    last_signal = Some(now() + GRACE_LEFT);
                }
            }
            ReapResult::Others if asked && last_signal.is_none() => {
                terminate(main, scope);
                last_signal = Some(now() + GRACE_ENDING);
            }
            ReapResult::Others => {}
        }
        if last_signal.is_some_and(|at| at <= now()) {
            signal_tree(main, scope, libc::SIGKILL);
            last_signal = Some(now() + KILL_INTERVAL);
        }
        let asked = creation_socket.map_or(-1, |creation_socket| creation_socket.socket.as_raw_fd());
        if wait_for_event(signals, owner, asked, last_signal)
            && let Some(CreationServer { socket, guarded }) = creation_socket
            && !create::serve(socket.as_fd(), guarded)
        {
            creation_socket = None;
        }
    }
}

enum ReapResult {
    NothingLeft,
    Main(i32),
    Others,
}

/// Reaps every child that ended.
fn reap(main: libc::pid_t) -> ReapResult {
    let mut result = ReapResult::Others;
    loop {
        let mut status = 0;
        // SAFETY: the status is a local number.
        let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG | libc::__WALL) };
        match pid {
            0 => return result,
            -1 if matches!(result, ReapResult::Others) => return ReapResult::NothingLeft,
            -1 => return result,
            pid if pid == main => result = ReapResult::Main(status),
            _ => {}
        }
    }
}

fn children_left() -> bool {
    // SAFETY: asks without taking; the record is a local one.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT | libc::__WALL;
        libc::waitid(libc::P_ALL, 0, &raw mut info, options) == 0
    }
}

/// Sends SIGTERM. A stopped process handles it only after SIGCONT.
fn terminate(main: libc::pid_t, scope: SignalScope) {
    signal_tree(main, scope, libc::SIGTERM);
    // An inner supervisor process forwards signals, and is never stopped itself.
    if scope != SignalScope::Inner {
        signal_tree(main, scope, libc::SIGCONT);
    }
}

fn signal_tree(main: libc::pid_t, scope: SignalScope, signal: i32) {
    let send = |pid: libc::pid_t| {
        // SAFETY: takes numbers only.
        let _ = unsafe { libc::kill(pid, signal) };
    };
    match scope {
        // With -1, the first process of a namespace signals exactly the processes in it.
        SignalScope::Namespace => send(-1),
        SignalScope::Inner => send(main),
        SignalScope::Descendants => each_descendant(send),
    }
}

fn owner_requests_end(control: RawFd) -> bool {
    if control < 0 {
        return false;
    }
    let mut byte = 0_u8;
    // SAFETY: one byte of this stack.
    let read = unsafe { libc::recv(control, (&raw mut byte).cast(), 1, libc::MSG_DONTWAIT) };
    // End of file means that the owner died.
    read == 0 || (read == 1 && byte == END)
}

/// Waits for an event; returns true if a creation request arrived.
fn wait_for_event(signals: RawFd, owner: RawFd, creation_socket: RawFd, until: Option<u64>) -> bool {
    let mut events_polled = [
        libc::pollfd { fd: signals, events: libc::POLLIN, revents: 0 },
        // Once the tree is being ended, nothing from the owner matters.
        libc::pollfd { fd: if until.is_some() { -1 } else { owner }, events: libc::POLLIN, revents: 0 },
        libc::pollfd { fd: creation_socket, events: libc::POLLIN, revents: 0 },
    ];
    let timeout = until.map_or(-1, |until| until.saturating_sub(now()) as i32);
    // SAFETY: the records live on this stack.
    unsafe { libc::poll(events_polled.as_mut_ptr(), events_polled.len() as libc::nfds_t, timeout) };
    let [.., asked] = events_polled;
    asked.revents != 0
}

/// Milliseconds of the monotonic clock.
fn now() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as u64 * 1000 + time.tv_nsec as u64 / 1_000_000
}

/// Maximum number of entries in the process table. Further processes are found in the next round.
const MAX_ENTRIES: usize = 16 * 1024;

/// Calls `visit` for every descendant. The table uses memory mapped directly from the kernel, not the allocator.
fn each_descendant(visit: impl Fn(libc::pid_t)) {
    let Ok(table) = ProcessTable::read() else { return };
    // SAFETY: takes nothing.
    let own = unsafe { libc::getpid() };
    for entry in table.descendants(own) {
        visit(entry);
    }
}

#[derive(Clone, Copy)]
#[repr(C)]
struct ProcessEntry {
    pid: libc::pid_t,
    parent: libc::pid_t,
}

/// Processes and their parents, sorted by id, because the kernel lists them in that order.
struct ProcessTable {
    entries: &'static mut [ProcessEntry],
    length: usize,
}

impl ProcessTable {
    fn read() -> io::Result<Self> {
        let size = MAX_ENTRIES * size_of::<ProcessEntry>();
        // SAFETY: new private memory of that size; zeroed pages are valid entries.
        let entries = unsafe {
            let memory = libc::mmap(
                std::ptr::null_mut(),
                size,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            if memory == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            std::slice::from_raw_parts_mut(memory.cast::<ProcessEntry>(), MAX_ENTRIES)
        };
        let mut table = Self { entries, length: 0 };
        table.fill();
        Ok(table)
    }

    fn fill(&mut self) {
        use rustix::fs::{Mode, OFlags, RawDir, open};
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let Ok(proc) = open(c"/proc", flags, Mode::empty()) else { return };
        let mut buffer = [std::mem::MaybeUninit::<u8>::uninit(); 8192];
        let mut listing = RawDir::new(&proc, &mut buffer);
        let mut free = self.entries.iter_mut();
        while let Some(Ok(found)) = listing.next() {
            let Some(pid) = number(found.file_name().to_bytes()) else { continue };
            let Some(parent) = parent_of(&proc, pid) else { continue };
            let Some(entry) = free.next() else { return };
            *entry = ProcessEntry { pid, parent };
            self.length += 1;
        }
    }

    fn filled(&self) -> &[ProcessEntry] {
        self.entries.get(..self.length).unwrap_or_default()
    }

    fn parent(&self, pid: libc::pid_t) -> Option<libc::pid_t> {
        let place = self.filled().binary_search_by_key(&pid, |entry| entry.pid).ok()?;
        self.filled().get(place).map(|entry| entry.parent)
    }

    /// Ids of all descendants of a process.
    fn descendants(&self, top: libc::pid_t) -> impl Iterator<Item = libc::pid_t> + '_ {
        self.filled().iter().filter(move |entry| self.is_descendant(entry, top)).map(|entry| entry.pid)
    }

    fn is_descendant(&self, entry: &ProcessEntry, top: libc::pid_t) -> bool {
        let mut parent = entry.parent;
        // Chains are never deeper, because each step is a living process.
        for _ in 0..MAX_ENTRIES {
            if parent == top {
                return true;
            }
            if parent <= 1 {
                return false;
            }
            match self.parent(parent) {
                Some(above) => parent = above,
                None => return false,
            }
        }
        false
    }
}

impl Drop for ProcessTable {
    fn drop(&mut self) {
        // SAFETY: this is the memory that `read` mapped, and nothing refers to it any more.
        unsafe { libc::munmap(self.entries.as_mut_ptr().cast(), size_of_val(self.entries)) };
    }
}

fn number(digits: &[u8]) -> Option<libc::pid_t> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_i32, |number, digit| {
        let digit = digit.is_ascii_digit().then(|| i32::from(digit - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

/// The parent of a process, from the fourth field of its `stat`.
fn parent_of(proc: &rustix::fd::OwnedFd, pid: libc::pid_t) -> Option<libc::pid_t> {
    use rustix::fs::{Mode, OFlags, openat};
    let mut path = [0_u8; 24];
    let length = write_number(&mut path, pid)?;
    path.get_mut(length..length + 6)?.copy_from_slice(b"/stat\0");
    let path = std::ffi::CStr::from_bytes_until_nul(&path).ok()?;
    let file = openat(proc, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mut text = [0_u8; 512];
    let length = rustix::io::read(&file, &mut text).ok()?;
    let text = text.get(..length)?;
    // The name is in parentheses and may itself contain any character, even parentheses; after the last: " S 123 ".
    let after = text.iter().rposition(|byte| *byte == b')')?;
    let mut fields = text.get(after + 2..)?.split(|byte| *byte == b' ');
    fields.next()?;
    number(fields.next()?)
}

fn write_number(buffer: &mut [u8], number: libc::pid_t) -> Option<usize> {
    let mut digits = [0_u8; 10];
    let mut rest = number.unsigned_abs();
    let mut length = 0;
    loop {
        *digits.get_mut(length)? = b'0' + (rest % 10) as u8;
        rest /= 10;
        length += 1;
        if rest == 0 {
            break;
        }
    }
    for (place, digit) in buffer.iter_mut().zip(digits.get(..length)?.iter().rev()) {
        *place = *digit;
    }
    Some(length)
}
