//! The warden: a small process between us and a command, which ends the command's whole tree.
//!
//! It outlives the command by as long as anything of it is alive. It notices that its owner is gone by the end of the
//! lifeline, a socket whose other side only the owner holds; so a killed owner leaves nothing running. Orphans of the
//! command come to it (it is their reaper), so that a double fork does not get away.
//!
//! Runs after `fork` without `exec`: nothing here allocates, locks or panics.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd, RawFd};

use super::maker::{self, Guarded};
use super::raw;

/// Milliseconds that a tree gets between the polite signal and the last one, when its owner wants it to end. Owners are
/// promised an end within a second, on a busy machine too.
const GRACE_ENDING: u64 = 500;
/// The same for what a command left behind when it ended by itself.
const GRACE_LEFT: u64 = 300;
/// Milliseconds between two rounds of the last signal.
const AGAIN: u64 = 10;

/// What ends a tree at once when the owner sends it.
pub(crate) const END: u8 = b'T';
/// What a warden says when the command itself ended: this byte, the wait status, little-endian, and 1 when nothing of it is
/// left.
pub(crate) const ENDED: u8 = b'S';

/// Whom a warden's signals reach.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Every process of this process-id namespace, whose first process the warden is.
    Namespace,
    /// Its descendants, found in `/proc`.
    Descendants,
    /// The first process of an inner namespace, which takes all others with it.
    Inner,
}

/// What a warden makes for its command, and the line by which it is asked to.
#[derive(Clone, Copy)]
pub(super) struct Maker<'a> {
    pub(super) line: &'a OwnedFd,
    pub(super) guarded: &'a [Guarded],
}

/// Guards `main` until nothing of it is left, then ends the calling process.
pub(super) fn guard(main: libc::pid_t, reach: Reach, lifeline: RawFd, mut maker: Option<Maker<'_>>) -> ! {
    raw::close_all_but(lifeline, maker.map_or(lifeline, |maker| maker.line.as_raw_fd()));
    let Ok(signals) = raw::signals() else {
        end(main, reach, libc::SIGKILL);
        raw::exit(1)
    };
    // In a namespace the outer warden listens to the owner, and tells this one by signal.
    let owner = if reach == Reach::Namespace { -1 } else { lifeline };
    let mut last_signal: Option<u64> = None;
    loop {
        // Looks before it waits: a short command may have ended before its signal was listened for.
        let asked = raw::end_was_asked(signals) | owner_wants_an_end(owner);
        match reap(main) {
            Reaped::NothingLeft => raw::exit(0),
            Reaped::Main(status) => {
                let alone = !children_left();
                if reach != Reach::Inner {
                    let [a, b, c, d] = status.to_le_bytes();
                    raw::tell(lifeline, &[ENDED, a, b, c, d, u8::from(alone)]);
                }
                if alone {
                    raw::exit(0);
                }
                if last_signal.is_none() {
                    ask(main, reach);
                    last_signal = Some(now() + GRACE_LEFT);
                }
            }
            Reaped::Others if asked && last_signal.is_none() => {
                ask(main, reach);
                last_signal = Some(now() + GRACE_ENDING);
            }
            Reaped::Others => {}
        }
        if last_signal.is_some_and(|at| at <= now()) {
            end(main, reach, libc::SIGKILL);
            last_signal = Some(now() + AGAIN);
        }
        let asked = maker.map_or(-1, |maker| maker.line.as_raw_fd());
        if wait_for_news(signals, owner, asked, last_signal)
            && let Some(Maker { line, guarded }) = maker
            && !maker::serve(line.as_fd(), guarded)
        {
            maker = None;
        }
    }
}

enum Reaped {
    NothingLeft,
    Main(i32),
    Others,
}

/// Takes every child that ended.
fn reap(main: libc::pid_t) -> Reaped {
    let mut result = Reaped::Others;
    loop {
        let mut status = 0;
        // SAFETY: the status is a local number.
        let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG | libc::__WALL) };
        match pid {
            0 => return result,
            -1 if matches!(result, Reaped::Others) => return Reaped::NothingLeft,
            -1 => return result,
            pid if pid == main => result = Reaped::Main(status),
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

/// The polite signal. Who is stopped takes it only when it goes on.
fn ask(main: libc::pid_t, reach: Reach) {
    end(main, reach, libc::SIGTERM);
    // An inner warden passes on what it is told, and is not stopped itself.
    if reach != Reach::Inner {
        end(main, reach, libc::SIGCONT);
    }
}

fn end(main: libc::pid_t, reach: Reach, signal: i32) {
    let send = |pid: libc::pid_t| {
        // SAFETY: takes numbers only.
        let _ = unsafe { libc::kill(pid, signal) };
    };
    match reach {
        // The first process of a namespace reaches only those in it.
        Reach::Namespace => send(-1),
        Reach::Inner => send(main),
        Reach::Descendants => each_descendant(send),
    }
}

fn owner_wants_an_end(lifeline: RawFd) -> bool {
    if lifeline < 0 {
        return false;
    }
    let mut byte = 0_u8;
    // SAFETY: one byte of this stack.
    let read = unsafe { libc::recv(lifeline, (&raw mut byte).cast(), 1, libc::MSG_DONTWAIT) };
    // The end of the line means that the owner is gone.
    read == 0 || (read == 1 && byte == END)
}

/// True when something is to be made.
fn wait_for_news(signals: RawFd, owner: RawFd, maker: RawFd, until: Option<u64>) -> bool {
    let mut news = [
        libc::pollfd { fd: signals, events: libc::POLLIN, revents: 0 },
        // Once an end is under way there is nothing left to hear from the owner.
        libc::pollfd { fd: if until.is_some() { -1 } else { owner }, events: libc::POLLIN, revents: 0 },
        libc::pollfd { fd: maker, events: libc::POLLIN, revents: 0 },
    ];
    let timeout = until.map_or(-1, |until| until.saturating_sub(now()) as i32);
    // SAFETY: the records live on this stack.
    unsafe { libc::poll(news.as_mut_ptr(), news.len() as libc::nfds_t, timeout) };
    let [.., asked] = news;
    asked.revents != 0
}

/// Milliseconds of a clock that only grows.
fn now() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as u64 * 1000 + time.tv_nsec as u64 / 1_000_000
}

/// Processes that a table of descendants has room for. More are reached in the next round.
const ROOM: usize = 16 * 1024;

/// Calls `visit` for every process below this one. The table is memory of its own, straight from the kernel.
fn each_descendant(visit: impl Fn(libc::pid_t)) {
    let Ok(table) = Table::read() else { return };
    // SAFETY: takes nothing.
    let own = unsafe { libc::getpid() };
    for entry in table.below(own) {
        visit(entry);
    }
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Entry {
    pid: libc::pid_t,
    parent: libc::pid_t,
}

/// Processes and their parents, by id: the kernel lists them so.
struct Table {
    entries: &'static mut [Entry],
    length: usize,
}

impl Table {
    fn read() -> io::Result<Self> {
        let size = ROOM * size_of::<Entry>();
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
            std::slice::from_raw_parts_mut(memory.cast::<Entry>(), ROOM)
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
            *entry = Entry { pid, parent };
            self.length += 1;
        }
    }

    fn known(&self) -> &[Entry] {
        self.entries.get(..self.length).unwrap_or_default()
    }

    fn parent(&self, pid: libc::pid_t) -> Option<libc::pid_t> {
        let place = self.known().binary_search_by_key(&pid, |entry| entry.pid).ok()?;
        self.known().get(place).map(|entry| entry.parent)
    }

    /// Ids of the processes below one, those who were found through others included.
    fn below(&self, top: libc::pid_t) -> impl Iterator<Item = libc::pid_t> + '_ {
        self.known().iter().filter(move |entry| self.is_below(entry, top)).map(|entry| entry.pid)
    }

    fn is_below(&self, entry: &Entry, top: libc::pid_t) -> bool {
        let mut parent = entry.parent;
        // Deeper chains do not occur: each step is a living process.
        for _ in 0..ROOM {
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

impl Drop for Table {
    fn drop(&mut self) {
        // SAFETY: the memory is the one `read` asked for, and nothing refers to it any more.
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
    // The name is in brackets and may hold anything, brackets included; after the last one: " S 123 ".
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
