//! The keeper: a small process of ours that starts programs in our place.
//!
//! To start a program a process is copied twice, for the warden and for the program, and as long as the warden lives,
//! every page that the original writes is copied once more. What that costs grows with what the original holds. A keeper
//! is the same program started anew; it holds nothing, so it is the one to copy.
//!
//! Owns the line to it. Orders go there with their descriptors. What comes of one is told over the lifeline of the program
//! itself, so nothing that was started depends on the keeper: it may end at any time, and the next order starts another.
//! Without its owner it ends.

use std::ffi::OsString;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::MemfdFlags;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::lifeline;
use super::order::{Descriptors, Order};
use super::running::lock;
use crate::sys::child::Held;

/// What a keeper is called, to itself and in lists of processes.
const NAME: &str = "lariat-keeper";
/// How long a keeper may take to end.
const PATIENCE: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };
/// Descriptors of one order: its text, the standard ones, the lifeline, the line to its warden, and control groups.
const DESCRIPTORS: usize = 16;

/// A small process that starts programs in our place, once it is needed. Cloning shares.
#[derive(Clone, Debug)]
pub struct Keeper {
    program: PathBuf,
    arguments: Vec<OsString>,
    line: Arc<Mutex<Option<Line>>>,
}

impl Keeper {
    /// This program. It must call [`Keeper::serve_if_asked`] before anything else.
    pub fn own() -> Self {
        Self::new("/proc/self/exe", [] as [&str; 0])
    }

    /// A program that calls [`Keeper::serve`] when it is started with these arguments.
    pub fn new<T: Into<OsString>>(
        program: impl Into<PathBuf>,
        arguments: impl IntoIterator<Item = T>,
    ) -> Self {
        let arguments = arguments.into_iter().map(Into::into).collect();
        Self { program: program.into(), arguments, line: Arc::default() }
    }

    /// Does a keeper's work and ends, if this process was started as one; else returns.
    pub fn serve_if_asked() {
        if std::env::args_os().next().is_some_and(|name| name == NAME) {
            Self::serve()
        }
    }

    /// Carries out the orders that come to standard input, until nobody can give one any more; then ends the process.
    pub fn serve() -> ! {
        // No directory is in use because of it.
        let _ = rustix::process::chdir("/");
        attend(&Arc::default());
        std::process::exit(0)
    }

    /// Hands an order over. What comes of it is told over its lifeline.
    ///
    /// # Errors
    /// When there is no keeper to be had. The order was not carried out.
    pub(super) fn give(&self, order: &Order, descriptors: &Descriptors) -> io::Result<()> {
        let mut text = std::fs::File::from(rustix::fs::memfd_create(c"order", MemfdFlags::CLOEXEC)?);
        text.write_all(&serde_json::to_vec(order)?)?;
        let mut line = lock(&self.line);
        if let Some(open) = line.take() {
            let sent = open.send(&text, descriptors);
            // One that has more orders than it can take is as good as before.
            if sent.as_ref().map_or_else(|error| error.kind() == io::ErrorKind::WouldBlock, |()| true) {
                *line = Some(open);
                return sent;
            }
        }
        let open = Line::open(self)?;
        open.send(&text, descriptors)?;
        *line = Some(open);
        Ok(())
    }
}

/// A keeper that runs.
#[derive(Debug)]
struct Line {
    /// Until it is closed, which a keeper takes for the end.
    socket: Option<OwnedFd>,
    child: Child,
}

impl Line {
    #[expect(clippy::disallowed_methods, reason = "this is the host")]
    fn open(keeper: &Keeper) -> io::Result<Self> {
        let (ours, theirs) =
            rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        // A group of its own: keys of the terminal are not for it. No variables: there are secrets among ours.
        let child = std::process::Command::new(&keeper.program)
            .arg0(NAME)
            .args(&keeper.arguments)
            .env_clear()
            .process_group(0)
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self { socket: Some(ours), child })
    }

    fn send(&self, text: &std::fs::File, descriptors: &Descriptors) -> io::Result<()> {
        let [input, output, errors] = &descriptors.standard;
        let held = &descriptors.held;
        let mut rights: Vec<BorrowedFd<'_>> =
            vec![text.as_fd(), input.as_fd(), output.as_fd(), errors.as_fd(), held.lifeline.as_fd()];
        rights.extend(held.maker.iter().map(OwnedFd::as_fd));
        rights.extend(held.groups.iter().map(OwnedFd::as_fd));
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !control.push(SendAncillaryMessage::ScmRights(&rights)) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let socket = self.socket.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        rustix::net::sendmsg(socket, &[io::IoSlice::new(b"O")], &mut control, flags)?;
        Ok(())
    }
}

impl Drop for Line {
    /// A keeper ends when its line does. One that cannot, because it waits for a file system, is not waited for.
    fn drop(&mut self) {
        self.socket = None;
        if let Ok(process) = pidfd_open(Pid::from_child(&self.child), PidfdFlags::empty()) {
            let _ = poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&PATIENCE));
        }
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            let _ = self.child.kill();
        }
    }
}

/// The next order; `None` when nobody can give one any more.
fn receive(socket: BorrowedFd<'_>) -> io::Result<Option<(Order, Descriptors)>> {
    let mut byte = [0_u8; 1];
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = rustix::io::retry_on_intr(|| {
        rustix::net::recvmsg(
            socket,
            &mut [io::IoSliceMut::new(&mut byte)],
            &mut control,
            RecvFlags::CMSG_CLOEXEC,
        )
    })?;
    if received.bytes == 0 {
        return Ok(None);
    }
    let mut rights = control.drain().flat_map(|message| match message {
        RecvAncillaryMessage::ScmRights(rights) => rights.collect::<Vec<_>>(),
        _ => Vec::new(),
    });
    let missing = || io::Error::from(io::ErrorKind::InvalidData);
    let mut next = || rights.next().ok_or_else(missing);
    let mut text = std::fs::File::from(next()?);
    let standard = [next()?, next()?, next()?];
    let lifeline = next()?;
    let mut bytes = Vec::new();
    text.rewind()?;
    text.read_to_end(&mut bytes)?;
    let order: Order = serde_json::from_slice(&bytes)?;
    let maker = order.has_maker().then(&mut next).transpose()?;
    let groups = rights.collect();
    Ok(Some((order, Descriptors { standard, held: Held { lifeline, groups, maker } })))
}

/// What those who attend share.
#[derive(Debug, Default)]
struct House {
    /// How many carry out an order.
    busy: AtomicUsize,
    /// How many attend besides the first.
    others: AtomicUsize,
    /// Those that were started. Who ended is taken off before the next comes.
    wardens: Mutex<Vec<Child>>,
}

/// Carries out orders. A start may wait for a file system that does not answer, so somebody else always listens meanwhile.
fn attend(house: &Arc<House>) {
    while let Ok(Some((order, descriptors))) = receive(rustix::stdio::stdin()) {
        let busy = house.busy.fetch_add(1, Ordering::AcqRel);
        if busy >= house.others.load(Ordering::Acquire) {
            house.others.fetch_add(1, Ordering::AcqRel);
            let house = Arc::clone(house);
            let _ = std::thread::Builder::new().spawn(move || {
                attend(&house);
                // Nobody can give an order any more.
                std::process::exit(0)
            });
        }
        carry_out(order, descriptors, house);
        house.busy.fetch_sub(1, Ordering::AcqRel);
    }
}

fn carry_out(order: Order, descriptors: Descriptors, house: &House) {
    let Ok(reply) = descriptors.held.lifeline.try_clone() else { return };
    let started = order.carry_out(descriptors);
    lifeline::tell_started(&reply, started.as_ref().map(drop));
    drop(reply);
    let mut wardens = lock(&house.wardens);
    wardens.retain_mut(|warden| !matches!(warden.try_wait(), Ok(Some(_)) | Err(_)));
    wardens.extend(started);
}
