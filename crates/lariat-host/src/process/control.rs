//! The control socket between this process and the supervisor process of a program.
//!
//! The supervisor process reports over it that the command ended or that its start failed, and at which stage, and
//! sends descriptors. A launch helper reports whether it started the program. This process sends one request: end the
//! program.
//!
//! Invariant: no other process holds our side of the socket, so it closes when this process ends.

use std::io;
use std::os::fd::OwnedFd;

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, SocketFlags, SocketType,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::sys::child::{END, ENDED, FAILED, LISTENER, NOTIFIER, READY};

/// Our side of the control socket.
#[derive(Debug)]
pub(super) struct ControlSocket {
    socket: AsyncFd<OwnedFd>,
}

/// A message from the supervisor process, from the child before it runs the program, or from a launch helper.
#[derive(Debug)]
pub(super) enum Message {
    /// The program ended.
    Ended {
        /// Its wait status.
        status: i32,
        /// Whether only the supervisor process is left. Grandchildren may live on for a moment.
        alone: bool,
    },
    /// The start failed at this stage.
    Failed(u8),
    /// The program itself starts next.
    Ready,
    /// A launch helper started the program, or the kernel's error if it could not.
    Started(io::Result<()>),
    /// The listening socket of the proxy.
    Listener(OwnedFd),
    /// The descriptor on which seccomp sends notifications.
    Notifier(OwnedFd),
    /// No process of the program is left.
    Gone,
}

impl ControlSocket {
    /// Creates both sides; the second is for the child.
    pub(super) fn new() -> io::Result<(Self, OwnedFd)> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (ours, theirs) =
            rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        Ok((Self { socket: crate::sys::watch(ours, Interest::READABLE)? }, theirs))
    }

    /// Asks the supervisor process to end the program and everything it started. Does nothing if it has ended.
    pub(super) fn end(&self) {
        let _ = rustix::net::send(self.socket.get_ref(), &[END], SendFlags::NOSIGNAL);
    }

    /// Waits for the next message.
    pub(super) async fn next_message(&self) -> Message {
        let message = self.socket.async_io(Interest::READABLE, receive).await;
        message.unwrap_or(Message::Gone)
    }
}

fn receive(socket: &OwnedFd) -> io::Result<Message> {
    let mut bytes = [0_u8; 8];
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let part = io::IoSliceMut::new(&mut bytes);
    let received = rustix::net::recvmsg(socket, &mut [part], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let mut descriptor = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut rights) => rights.next(),
        _ => None,
    });
    let message = match (bytes.get(..received.bytes), descriptor.take()) {
        (Some([ENDED, status @ .., alone]), _) => {
            Message::Ended { status: number(status), alone: *alone == 1 }
        }
        (Some([READY]), None) => Message::Ready,
        (Some([FAILED, stage]), _) => Message::Failed(*stage),
        (Some([STARTED, error @ ..]), _) => Message::Started(match number(error) {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(error)),
        }),
        (Some([LISTENER]), Some(socket)) => Message::Listener(socket),
        (Some([NOTIFIER]), Some(notifier)) => Message::Notifier(notifier),
        _ => Message::Gone,
    };
    Ok(message)
}

fn number(bytes: &[u8]) -> i32 {
    let mut number = [0_u8; 4];
    number.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    i32::from_le_bytes(number)
}

/// Followed by zero, or by the kernel's error number.
const STARTED: u8 = b'O';

/// Reports the outcome of an order, as a launch helper.
pub(super) fn report_started(theirs: &OwnedFd, started: Result<(), &io::Error>) {
    let error = started.err().map_or(0, |error| error.raw_os_error().unwrap_or(libc::EIO));
    let [a, b, c, d] = error.to_le_bytes();
    let _ = rustix::net::send(theirs, &[STARTED, a, b, c, d], SendFlags::NOSIGNAL);
}
