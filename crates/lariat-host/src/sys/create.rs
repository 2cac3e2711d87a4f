//! Creates files on behalf of a command, inside its file system view.
//!
//! Landlock prevents a command from creating anything in a directory where a protected name is missing. The supervisor
//! process creates what is allowed there: it is in the same namespaces and has no more permissions, but is not bound by
//! that rule. It works on copies of the arguments, so nothing can change between the check and the operation.
//!
//! Invariant: a protected name is never created in a guarded directory.
//!
//! Runs after `fork` without `exec`: nothing here allocates, locks or panics.

use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags,
};
use serde::{Deserialize, Serialize};

/// A directory, identified by device and inode, in which some names must not be created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GuardedDirectory {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    /// In lower case.
    pub(crate) names: Vec<Vec<u8>>,
}

/// What to create.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum CreationKind {
    /// A file, which is then opened.
    Open = 1,
    /// A directory.
    Directory,
    /// A named pipe or an empty file.
    Node,
    /// A symbolic link; the first name is its target.
    Symlink,
    /// A hard link to a file.
    Link,
    /// A new name for an existing file.
    Rename,
}

impl CreationKind {
    const ALL: [Self; 6] = [Self::Open, Self::Directory, Self::Node, Self::Symlink, Self::Link, Self::Rename];
}

/// One request to create a name. The paths start at the first or second descriptor sent with it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CreateRequest<'a> {
    pub(crate) kind: CreationKind,
    pub(crate) flags: u32,
    pub(crate) mode: u32,
    /// Directory and name of the existing file; for a symbolic link, its target.
    pub(crate) old: (&'a CStr, &'a CStr),
    /// Directory and name to create.
    pub(crate) new: (&'a CStr, &'a CStr),
}

/// The result of a request.
#[derive(Debug)]
pub(crate) enum CreationResult {
    /// The name was created.
    Done,
    /// The file was created and opened.
    Opened(OwnedFd),
    /// It failed with this error number.
    Failed(i32),
    /// The kernel must decide: nothing new is needed, or the path cannot be followed from here.
    Kernel,
}

/// Maximum size of a message in bytes.
const ROOM: usize = 16 * 1024;
/// Bytes before the texts: kind, flags, mode, and four lengths.
const HEAD: usize = 17;
/// The reply that means [`CreationResult::Kernel`].
const KERNEL: i32 = i32::MAX;

/// Asks the supervisor process to create something. Blocks until it answers.
pub(crate) fn ask(
    socket: BorrowedFd<'_>,
    request: &CreateRequest<'_>,
    folders: &[BorrowedFd<'_>],
) -> io::Result<CreationResult> {
    let texts = [request.old.0, request.old.1, request.new.0, request.new.1];
    let mut message = Vec::with_capacity(HEAD + 512);
    message.push(request.kind as u8);
    message.extend(request.flags.to_le_bytes());
    message.extend(request.mode.to_le_bytes());
    for text in texts {
        let length = u16::try_from(text.to_bytes_with_nul().len()).unwrap_or(u16::MAX);
        message.extend(length.to_le_bytes());
    }
    texts.iter().for_each(|text| message.extend(text.to_bytes_with_nul()));
    if message.len() > ROOM {
        return Ok(CreationResult::Kernel);
    }
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(folders));
    let parts = [io::IoSlice::new(&message)];
    rustix::io::retry_on_intr(|| rustix::net::sendmsg(socket, &parts, &mut control, SendFlags::NOSIGNAL))?;

    let mut bytes = [0_u8; 4];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = rustix::io::retry_on_intr(|| {
        let mut parts = [io::IoSliceMut::new(&mut bytes)];
        rustix::net::recvmsg(socket, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC)
    })?;
    if received.bytes != bytes.len() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let opened = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut rights) => rights.next(),
        _ => None,
    });
    Ok(match (i32::from_le_bytes(bytes), opened) {
        (0, Some(opened)) => CreationResult::Opened(opened),
        (0, None) => CreationResult::Done,
        (KERNEL, _) => CreationResult::Kernel,
        (error, _) => CreationResult::Failed(error),
    })
}

/// Answers one request. Returns false if the other side closed the socket.
pub(super) fn serve(socket: BorrowedFd<'_>, guarded: &[GuardedDirectory]) -> bool {
    let mut message = [0_u8; ROOM];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = {
        let mut parts = [io::IoSliceMut::new(&mut message)];
        rustix::net::recvmsg(socket, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT)
    };
    let length = match received {
        Ok(received) if received.bytes > 0 => received.bytes,
        Err(Errno::AGAIN | Errno::INTR) => return true,
        Ok(_) | Err(_) => return false,
    };
    let (mut first, mut second) = (None, None);
    for part in control.drain() {
        if let RecvAncillaryMessage::ScmRights(mut rights) = part {
            (first, second) = (rights.next(), rights.next());
        }
    }
    let request = message.get(..length).and_then(read);
    let made = match (request, &first) {
        (Some(request), Some(first)) => {
            make(&request, first.as_fd(), second.as_ref().unwrap_or(first).as_fd(), guarded)
        }
        _ => CreationResult::Failed(libc::EINVAL),
    };
    let (number, opened) = match &made {
        CreationResult::Done => (0, None),
        CreationResult::Opened(opened) => (0, Some(opened.as_fd())),
        CreationResult::Failed(error) => (*error, None),
        CreationResult::Kernel => (KERNEL, None),
    };
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if let Some(opened) = &opened {
        control.push(SendAncillaryMessage::ScmRights(std::slice::from_ref(opened)));
    }
    let bytes = number.to_le_bytes();
    rustix::net::sendmsg(socket, &[io::IoSlice::new(&bytes)], &mut control, SendFlags::NOSIGNAL).is_ok()
}

fn read(message: &[u8]) -> Option<CreateRequest<'_>> {
    let (head, mut rest) = message.split_at_checked(HEAD)?;
    let kind = CreationKind::ALL.into_iter().find(|kind| Some(&(*kind as u8)) == head.first())?;
    let number = |at: usize| Some(u32::from_le_bytes(head.get(at..at + 4)?.try_into().ok()?));
    let mut text = |index: usize| {
        let length = u16::from_le_bytes(head.get(9 + 2 * index..11 + 2 * index)?.try_into().ok()?);
        let (text, after) = rest.split_at_checked(length.into())?;
        rest = after;
        CStr::from_bytes_with_nul(text).ok()
    };
    let old = (text(0)?, text(1)?);
    let new = (text(2)?, text(3)?);
    Some(CreateRequest { kind, flags: number(1)?, mode: number(5)?, old, new })
}

/// Creates the name. The last part of each path is looked up in an open directory.
fn make(
    request: &CreateRequest<'_>,
    first: BorrowedFd<'_>,
    second: BorrowedFd<'_>,
    guarded: &[GuardedDirectory],
) -> CreationResult {
    let folder = |from: BorrowedFd<'_>, path: &CStr| {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        // A kernel link such as `/proc/self` would refer to this process, not to the command.
        rustix::fs::openat2(from, path, flags, Mode::empty(), ResolveFlags::NO_MAGICLINKS)
    };
    let (new_folder, new) = match folder(second, request.new.0) {
        Ok(folder) => (folder, request.new.1),
        Err(_) => return CreationResult::Kernel,
    };
    match is_guarded(&new_folder, new, guarded) {
        Ok(false) => {}
        Ok(true) => return CreationResult::Failed(libc::EROFS),
        Err(error) => return CreationResult::Failed(error.raw_os_error()),
    }
    // Never create files with set-user-id or set-group-id.
    let mode = Mode::from_raw_mode(request.mode & 0o1777);
    let done = match request.kind {
        CreationKind::Open => {
            let wanted = OFlags::from_bits_retain(request.flags);
            let flags = wanted | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            return match rustix::fs::openat(&new_folder, new, flags, mode) {
                Ok(opened) => CreationResult::Opened(opened),
                // The kernel opens an existing file itself and applies all rules.
                Err(Errno::EXIST) if !wanted.contains(OFlags::EXCL) => CreationResult::Kernel,
                Err(error) => CreationResult::Failed(error.raw_os_error()),
            };
        }
        CreationKind::Directory => rustix::fs::mkdirat(&new_folder, new, mode),
        CreationKind::Node => {
            let kind = FileType::from_raw_mode(request.mode);
            if !matches!(kind, FileType::Fifo | FileType::RegularFile) {
                return CreationResult::Kernel;
            }
            rustix::fs::mknodat(&new_folder, new, kind, mode, 0)
        }
        CreationKind::Symlink => rustix::fs::symlinkat(request.old.1, &new_folder, new),
        CreationKind::Link | CreationKind::Rename => {
            let Ok(old_folder) = folder(first, request.old.0) else { return CreationResult::Kernel };
            let old = request.old.1;
            if request.kind == CreationKind::Link {
                rustix::fs::linkat(&old_folder, old, &new_folder, new, AtFlags::empty())
            } else {
                let flags = RenameFlags::from_bits_retain(request.flags);
                // An exchange creates names on both sides.
                match is_guarded(&old_folder, old, guarded) {
                    Ok(false) => {}
                    _ if !flags.contains(RenameFlags::EXCHANGE) => {}
                    _ => return CreationResult::Failed(libc::EROFS),
                }
                rustix::fs::renameat_with(&old_folder, old, &new_folder, new, flags)
            }
        }
    };
    match done {
        Ok(()) => CreationResult::Done,
        Err(error) => CreationResult::Failed(error.raw_os_error()),
    }
}

/// Whether a name must not be created in a directory.
fn is_guarded(folder: &OwnedFd, name: &CStr, guarded: &[GuardedDirectory]) -> Result<bool, Errno> {
    let state = rustix::fs::fstat(folder)?;
    let of_folder = |known: &&GuardedDirectory| known.device == state.st_dev && known.inode == state.st_ino;
    let mut names = guarded.iter().filter(of_folder).flat_map(|known| &known.names);
    Ok(names.any(|known| is_name(known, name.to_bytes())))
}

/// Whether some file system treats a name as equal to a known one: file systems differ in how they treat case,
/// invisible characters, and trailing dots and spaces. Ignores all characters outside ASCII.
pub(crate) fn is_name(known: &[u8], name: &[u8]) -> bool {
    let end = name.iter().rposition(|byte| !matches!(byte, b'.' | b' ')).map_or(0, |last| last + 1);
    let plain = name.iter().take(end).filter(|byte| byte.is_ascii()).map(u8::to_ascii_lowercase);
    plain.eq(known.iter().copied()) || (known == b".git" && name.eq_ignore_ascii_case(b"git~1"))
}

#[cfg(test)]
#[path = "create_tests.rs"]
mod tests;
