//! The lifeline: the socket between a supervisor and a warden.
//!
//! Owns the messages: what a warden tells (the command ended, a start failed and where, descriptors for us), what a
//! keeper tells (it started the program, or could not), and the one thing a warden is told (end it). Invariant: the
//! owner's side is held by nobody else, so its end is our end.

use std::io;
use std::os::fd::OwnedFd;

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, SocketFlags, SocketType,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::sys::child::{END, ENDED, FAILED, LISTENER, NOTIFIER, READY};

/// Our side.
#[derive(Debug)]
pub(super) struct Lifeline {
    socket: AsyncFd<OwnedFd>,
}

/// What a warden, the child before it became the program, or a keeper tells.
#[derive(Debug)]
pub(super) enum Word {
    /// The program ended.
    Ended {
        /// Its wait status.
        status: i32,
        /// Whether nothing of it is left but its warden. Others that it started may live on for a moment.
        alone: bool,
    },
    /// The start failed at this stage.
    Failed(u8),
    /// The program itself is started next.
    Ready,
    /// A keeper started the program; an error of the kernel's when it could not.
    Started(io::Result<()>),
    /// The listening socket of the proxy.
    Listener(OwnedFd),
    /// Where seccomp notifies.
    Notifier(OwnedFd),
    /// Nothing of the program is left.
    Gone,
}

impl Lifeline {
    /// Both sides; the other one is for the child.
    pub(super) fn new() -> io::Result<(Self, OwnedFd)> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (ours, theirs) =
            rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        Ok((Self { socket: crate::sys::watch(ours, Interest::READABLE)? }, theirs))
    }

    /// Asks for the end of everything. A warden that is gone does not mind.
    pub(super) fn end(&self) {
        let _ = rustix::net::send(self.socket.get_ref(), &[END], SendFlags::NOSIGNAL);
    }

    /// The next word.
    pub(super) async fn hear(&self) -> Word {
        let heard = self.socket.async_io(Interest::READABLE, receive).await;
        heard.unwrap_or(Word::Gone)
    }
}

fn receive(socket: &OwnedFd) -> io::Result<Word> {
    let mut bytes = [0_u8; 8];
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let part = io::IoSliceMut::new(&mut bytes);
    let received = rustix::net::recvmsg(socket, &mut [part], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let mut descriptor = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut rights) => rights.next(),
        _ => None,
    });
    let word = match (bytes.get(..received.bytes), descriptor.take()) {
        (Some([ENDED, status @ .., alone]), _) => Word::Ended { status: number(status), alone: *alone == 1 },
        (Some([READY]), None) => Word::Ready,
        (Some([FAILED, stage]), _) => Word::Failed(*stage),
        (Some([STARTED, error @ ..]), _) => Word::Started(match number(error) {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(error)),
        }),
        (Some([LISTENER]), Some(socket)) => Word::Listener(socket),
        (Some([NOTIFIER]), Some(notifier)) => Word::Notifier(notifier),
        _ => Word::Gone,
    };
    Ok(word)
}

fn number(bytes: &[u8]) -> i32 {
    let mut number = [0_u8; 4];
    number.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    i32::from_le_bytes(number)
}

/// What comes after it is zero, or the kernel's number of what went wrong.
const STARTED: u8 = b'O';

/// Tells, as a keeper, what came of an order.
pub(super) fn tell_started(theirs: &OwnedFd, started: Result<(), &io::Error>) {
    let error = started.err().map_or(0, |error| error.raw_os_error().unwrap_or(libc::EIO));
    let [a, b, c, d] = error.to_le_bytes();
    let _ = rustix::net::send(theirs, &[STARTED, a, b, c, d], SendFlags::NOSIGNAL);
}
