//! Receives and answers seccomp notifications: system calls of a sandboxed program that the filter passes to us.
//!
//! A decision based on registers alone is final. Memory of the program may change a moment after it was read, so it is
//! only used to explain a denial, never to allow a call.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// A system call of a sandboxed program that waits for an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Notification {
    id: u64,
    /// The process id, as seen from our namespace.
    pub(crate) pid: u32,
    /// The number of the system call.
    pub(crate) call: i64,
    /// The arguments, as registers.
    pub(crate) arguments: [u64; 6],
}

/// The answer to a notification.
#[derive(Debug)]
#[cfg_attr(test, derive(PartialEq))]
pub(crate) enum SyscallAnswer {
    /// The kernel executes the call, with its own checks.
    Continue,
    /// The call fails with this error number.
    Refuse(i32),
    /// The call returns a local socket whose other end is closed, so it can never be connected.
    DeadSocket {
        /// Close it on exec.
        close_on_exec: bool,
        /// Make it nonblocking.
        nonblocking: bool,
    },
    /// The operation was done on behalf of the program and succeeded.
    Done,
    /// The call returns this open file.
    Opened(ReturnedFile),
}

/// An open file for the program.
#[derive(Debug)]
pub(crate) struct ReturnedFile {
    pub(crate) file: OwnedFd,
    /// Close it on exec.
    pub(crate) close_on_exec: bool,
}

#[cfg(test)]
impl PartialEq for ReturnedFile {
    fn eq(&self, other: &Self) -> bool {
        self.file.as_raw_fd() == other.file.as_raw_fd()
    }
}

/// `struct seccomp_notif_addfd`.
#[repr(C)]
struct AddDescriptor {
    id: u64,
    flags: u32,
    from: u32,
    to: u32,
    to_flags: u32,
}

// From linux/seccomp.h: _IOWR('!', 0, 80 bytes), _IOWR('!', 1, 24 bytes), _IOW('!', 3, 24 bytes).
const RECEIVE: libc::Ioctl = 0xc050_2100_u32 as libc::Ioctl;
const SEND: libc::Ioctl = 0xc018_2101_u32 as libc::Ioctl;
const ADD: libc::Ioctl = 0x4018_2103_u32 as libc::Ioctl;
const CONTINUE: u32 = 1;
/// The new descriptor becomes the call's result, in one step.
const ADD_AND_ANSWER: u32 = 2;

/// Receives the next notification. `None` if the program was killed meanwhile.
pub(crate) fn receive(notifier: BorrowedFd<'_>) -> io::Result<Option<Notification>> {
    // SAFETY: a plain record that must be zero when it is passed to the kernel.
    let mut taken: libc::seccomp_notif = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel fills a record of exactly this type.
    let result = unsafe { libc::ioctl(notifier.as_raw_fd(), RECEIVE, &raw mut taken) };
    if result < 0 {
        let error = io::Error::last_os_error();
        return match error.raw_os_error() {
            Some(libc::ENOENT | libc::EINTR) => Ok(None),
            _ => Err(error),
        };
    }
    Ok(Some(Notification {
        id: taken.id,
        pid: taken.pid,
        call: i64::from(taken.data.nr),
        arguments: taken.data.args,
    }))
}

/// Sends the answer. Does nothing if the program has ended.
pub(crate) fn answer(
    notifier: BorrowedFd<'_>,
    notification: &Notification,
    answer: SyscallAnswer,
) -> io::Result<()> {
    let (error, flags) = match answer {
        SyscallAnswer::Continue => (0, CONTINUE),
        SyscallAnswer::Done => (0, 0),
        SyscallAnswer::Refuse(error) => (-error, 0),
        SyscallAnswer::Opened(ReturnedFile { file, close_on_exec }) => {
            match return_file(notifier, notification, &file, close_on_exec) {
                Ok(()) => return Ok(()),
                Err(error) => (-error.raw_os_error().unwrap_or(libc::EMFILE), 0),
            }
        }
        SyscallAnswer::DeadSocket { close_on_exec, nonblocking } => {
            match return_dead_socket(notifier, notification, close_on_exec, nonblocking) {
                Ok(()) => return Ok(()),
                // The descriptor table is full, or the kernel is old: deny the socket.
                Err(_) => (-libc::EPERM, 0),
            }
        }
    };
    let response = libc::seccomp_notif_resp { id: notification.id, val: 0, error, flags };
    // SAFETY: the kernel reads a record of exactly this type.
    let result = unsafe { libc::ioctl(notifier.as_raw_fd(), SEND, &raw const response) };
    if result < 0 {
        let error = io::Error::last_os_error();
        if error.raw_os_error() != Some(libc::ENOENT) {
            return Err(error);
        }
    }
    Ok(())
}

fn return_dead_socket(
    notifier: BorrowedFd<'_>,
    notification: &Notification,
    close_on_exec: bool,
    nonblocking: bool,
) -> io::Result<()> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
    let mut flags = SocketFlags::CLOEXEC;
    flags.set(SocketFlags::NONBLOCK, nonblocking);
    // The other end closes when this function returns.
    let (given, _gone) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    return_file(notifier, notification, &given, close_on_exec)
}

fn return_file(
    notifier: BorrowedFd<'_>,
    notification: &Notification,
    given: &OwnedFd,
    close_on_exec: bool,
) -> io::Result<()> {
    let added = AddDescriptor {
        id: notification.id,
        flags: ADD_AND_ANSWER,
        from: given.as_raw_fd() as u32,
        to: 0,
        to_flags: if close_on_exec { libc::O_CLOEXEC as u32 } else { 0 },
    };
    // SAFETY: the kernel reads a record of exactly this type; the descriptor is open until after it.
    if unsafe { libc::ioctl(notifier.as_raw_fd(), ADD, &raw const added) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Reads memory of the program; returns fewer than `length` bytes if the rest is not readable.
pub(crate) fn memory(pid: u32, address: u64, length: usize) -> Vec<u8> {
    let mut buffer = vec![0_u8; length];
    let local = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: length };
    let remote = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: length };
    // SAFETY: writes at most `length` bytes into the buffer; the other address belongs to the other process.
    let read =
        unsafe { libc::process_vm_readv(pid as libc::pid_t, &raw const local, 1, &raw const remote, 1, 0) };
    buffer.truncate(usize::try_from(read).unwrap_or(0));
    buffer
}

/// Reads a NUL-terminated text from the program's memory.
pub(crate) fn text(pid: u32, address: u64) -> Vec<u8> {
    const PAGE: u64 = 4096;
    let mut text = Vec::new();
    // A read must not cross into an unmapped page, so read page by page.
    while text.len() < libc::PATH_MAX as usize {
        let at = address + text.len() as u64;
        let part = memory(pid, at, (PAGE - at % PAGE) as usize);
        match part.iter().position(|byte| *byte == 0) {
            Some(end) => {
                text.extend(part.into_iter().take(end));
                break;
            }
            None if part.is_empty() => break,
            None => text.extend(part),
        }
    }
    text
}

/// Whether a process can still send notifications.
pub(crate) fn is_open(notifier: impl AsFd) -> bool {
    let mut polled = [rustix::event::PollFd::new(&notifier, rustix::event::PollFlags::IN)];
    let _ = rustix::event::poll(&mut polled, Some(&rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 }));
    polled.iter().all(|polled| !polled.revents().contains(rustix::event::PollFlags::HUP))
}

#[cfg(test)]
impl Notification {
    /// A notification for tests.
    pub(crate) fn test(pid: u32, call: libc::c_long, arguments: [u64; 6]) -> Self {
        Self { id: 0, pid, call, arguments }
    }
}
