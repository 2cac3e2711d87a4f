//! Wraps single system calls. Each function takes and returns plain values, and none allocates.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use serde::{Deserialize, Serialize};

/// A seccomp program.
pub(crate) type Filter = Vec<Instruction>;

/// One instruction of a seccomp program, with the layout of the kernel's `sock_filter`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[repr(C)]
pub(crate) struct Instruction {
    pub(crate) code: u16,
    pub(crate) jt: u8,
    pub(crate) jf: u8,
    pub(crate) k: u32,
}

const _: () = assert!(size_of::<Instruction>() == size_of::<libc::sock_filter>());

pub(super) fn check(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Forks the calling process: returns `None` in the child, and the child's id in the parent.
///
/// # Safety
/// The child may only do what is sound after `fork` in a multithreaded program: no allocation, no locks.
pub(super) unsafe fn fork() -> io::Result<Option<libc::pid_t>> {
    // SAFETY: the caller promises that the child does only what is sound.
    let pid = check(unsafe { libc::fork() }.into())?;
    Ok((pid != 0).then_some(pid as libc::pid_t))
}

/// Ends the process at once, without destructors or exit handlers.
pub(super) fn exit(code: i32) -> ! {
    // SAFETY: `_exit` does not return and touches no memory of ours.
    unsafe { libc::_exit(code) }
}

/// Closes all descriptors except these two, which may be the same.
pub(super) fn close_all_but(kept: RawFd, other: RawFd) {
    let close = |first: libc::c_uint, last: libc::c_uint| {
        if first <= last {
            // SAFETY: takes numbers only. The caller never returns to code that owns a descriptor.
            unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
        }
    };
    let (kept, other) = (kept.min(other) as libc::c_uint, kept.max(other) as libc::c_uint);
    if let Some(last) = kept.checked_sub(1) {
        close(0, last);
    }
    if let Some(last) = other.checked_sub(1) {
        close(kept + 1, last);
    }
    close(other + 1, libc::c_uint::MAX);
}

/// Marks all descriptors from 3 on as close-on-exec.
pub(super) fn close_others_on_exec() -> io::Result<()> {
    const CLOEXEC: libc::c_uint = 4;
    // SAFETY: takes numbers only.
    check(unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, CLOEXEC) }).map(drop)
}

/// Blocks all signals and returns a descriptor that becomes readable when a child changes state or SIGTERM arrives.
pub(super) fn signals() -> io::Result<RawFd> {
    // SAFETY: the sets are local and initialised by the calls that take them.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &all, std::ptr::null_mut());
        let mut heard: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut heard);
        libc::sigaddset(&mut heard, libc::SIGCHLD);
        libc::sigaddset(&mut heard, libc::SIGTERM);
        let fd = libc::signalfd(-1, &heard, libc::SFD_NONBLOCK | libc::SFD_CLOEXEC);
        check(fd.into()).map(|fd| fd as RawFd)
    }
}

/// Consumes the pending signals; returns whether SIGTERM was among them.
pub(super) fn termination_requested(signals: RawFd) -> bool {
    let mut asked = false;
    loop {
        // SAFETY: a plain record that the kernel fills whole or not at all.
        let mut info: libc::signalfd_siginfo = unsafe { std::mem::zeroed() };
        let size = size_of::<libc::signalfd_siginfo>();
        // SAFETY: the buffer is `size` bytes long and lives on this stack.
        let read = unsafe { libc::read(signals, (&raw mut info).cast(), size) };
        if read != size as isize {
            return asked;
        }
        asked |= info.ssi_signo == libc::SIGTERM as u32;
    }
}

/// Makes a mount and all mounts below it read-only and nosuid, and optionally nodev.
pub(super) fn restrict_mounts(path: &CStr, devices: Devices) -> io::Result<()> {
    set_attributes(libc::AT_FDCWD, path, libc::AT_RECURSIVE, devices)
}

/// The same for a mount tree that is not attached yet.
pub(super) fn restrict_tree(tree: &OwnedFd) -> io::Result<()> {
    set_attributes(tree.as_raw_fd(), c"", libc::AT_RECURSIVE | libc::AT_EMPTY_PATH, Devices::Refused)
}

fn set_attributes(at: RawFd, path: &CStr, flags: i32, devices: Devices) -> io::Result<()> {
    #[repr(C)]
    struct Attributes {
        set: u64,
        clear: u64,
        propagation: u64,
        user_namespace: u64,
    }
    const READ_ONLY: u64 = 1;
    const NO_SET_USER_ID: u64 = 2;
    const NO_DEVICES: u64 = 4;
    let set = READ_ONLY | NO_SET_USER_ID | if devices == Devices::Refused { NO_DEVICES } else { 0 };
    let attributes = Attributes { set, clear: 0, propagation: 0, user_namespace: 0 };
    // SAFETY: the path ends with NUL and the record is as long as said.
    check(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            at,
            path.as_ptr(),
            flags,
            &raw const attributes,
            size_of::<Attributes>(),
        )
    })
    .map(drop)
}

/// Whether device files of a mount work.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Devices {
    Allowed,
    Refused,
}

/// Installs a seccomp program and returns the descriptor on which notifications arrive.
pub(super) fn install(filter: &[Instruction]) -> io::Result<OwnedFd> {
    let program =
        libc::sock_fprog { len: filter.len() as libc::c_ushort, filter: filter.as_ptr().cast_mut().cast() };
    let install = |flags: libc::c_ulong| {
        // SAFETY: the kernel only reads the program, which outlives the call.
        check(unsafe {
            libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program)
        })
    };
    // A signal must not restart a call that we answered: it may already have been done on behalf of the program.
    const WAIT_KILLABLE: libc::c_ulong = 1 << 5;
    let listener = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    let fd = match install(listener | WAIT_KILLABLE) {
        // Kernels before Linux 5.19 do not support the flag.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => install(listener)?,
        installed => installed?,
    };
    // SAFETY: the kernel just created this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// Brings the loopback interface of this network namespace up.
pub(super) fn loopback_up() -> io::Result<()> {
    // SAFETY: a plain record; the name is shorter than its field and zeros end it.
    unsafe {
        let socket = check(libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0).into())?;
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[0] = b'l' as libc::c_char;
        request.ifr_name[1] = b'o' as libc::c_char;
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        let done = check(libc::ioctl(socket as RawFd, libc::SIOCSIFFLAGS as _, &raw const request).into());
        libc::close(socket as RawFd);
        done.map(drop)
    }
}

/// Creates a listening socket on 127.0.0.1 in this network namespace.
pub(super) fn listen() -> io::Result<OwnedFd> {
    // SAFETY: the addresses are plain records of the given size; the descriptor is owned at once.
    unsafe {
        let fd = check(libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0).into())?;
        let socket = OwnedFd::from_raw_fd(fd as RawFd);
        let mut address: libc::sockaddr_in = std::mem::zeroed();
        address.sin_family = libc::AF_INET as libc::sa_family_t;
        address.sin_port = PROXY_PORT.to_be();
        address.sin_addr.s_addr = u32::from_be_bytes([127, 0, 0, 1]).to_be();
        let size = size_of::<libc::sockaddr_in>() as libc::socklen_t;
        check(libc::bind(socket.as_raw_fd(), (&raw const address).cast(), size).into())?;
        check(libc::listen(socket.as_raw_fd(), 128).into())?;
        Ok(socket)
    }
}

/// Port of the proxy in the private network namespace, where nothing else listens yet.
pub(crate) const PROXY_PORT: u16 = 3128;

/// Sends one byte and a descriptor over a socket.
pub(crate) fn send_descriptor(socket: RawFd, tag: u8, fd: RawFd) -> io::Result<()> {
    // Room for one descriptor: a header of 16 bytes and 4 bytes, aligned to 8.
    let mut control = [0_u64; 3];
    let mut byte = tag;
    // SAFETY: all buffers live on this stack until the call returns, with their sizes given; `control` is large enough
    // and aligned for the one header written into it.
    unsafe {
        let mut part = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = (&raw mut control).cast();
        message.msg_controllen = libc::CMSG_SPACE(size_of::<RawFd>() as libc::c_uint) as _;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        if header.is_null() {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(size_of::<RawFd>() as libc::c_uint) as _;
        libc::CMSG_DATA(header).cast::<RawFd>().write_unaligned(fd);
        check(libc::sendmsg(socket, &raw const message, libc::MSG_NOSIGNAL) as libc::c_long).map(drop)
    }
}

/// Sends a few bytes; ignores errors.
pub(super) fn send(fd: RawFd, bytes: &[u8]) {
    // SAFETY: the buffer has the given length.
    unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) };
}

/// Overwrites an existing small file in one call.
pub(super) fn write_file(path: &CStr, bytes: &[u8]) -> io::Result<()> {
    // SAFETY: the path ends with NUL; the descriptor is used and closed here.
    unsafe {
        let fd = check(libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC).into())? as RawFd;
        let written = check(libc::write(fd, bytes.as_ptr().cast(), bytes.len()) as libc::c_long);
        libc::close(fd);
        written.map(drop)
    }
}

/// Registers a descriptor so that tasks can wait for it.
pub(crate) fn watch(
    fd: OwnedFd,
    interest: tokio::io::Interest,
) -> io::Result<tokio::io::unix::AsyncFd<OwnedFd>> {
    // SAFETY: the `AsyncFd` owns the descriptor, so it stays open and unchanged as long as it is registered.
    Ok(unsafe { tokio::io::unix::AsyncFd::register_with_interest(fd, interest) }?)
}
