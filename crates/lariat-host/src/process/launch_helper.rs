//! The launch helper: a small process that starts programs on behalf of a large one.
//!
//! Starting a program forks twice, once for the supervisor process and once for the program. While the supervisor
//! process lives, every page that the original process writes is copied once more, so the cost grows with the size of
//! the original. A launch helper is the same executable, freshly started and small, so forking it is cheap.
//!
//! The owner sends launch orders with their descriptors over a socket. The outcome comes back over the control socket
//! of the program itself, so no running program depends on the helper: it may end at any time, and the next order
//! starts another one. The helper ends when its owner does.

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

use super::control;
use super::order::{Descriptors, LaunchOrder};
use super::running::lock;
use crate::sys::child::HeldDescriptors;

/// Process name of a launch helper, in `argv[0]` and so in process lists.
const NAME: &str = "lariat-launch";
/// How long to wait for a launch helper to end.
const END_TIMEOUT: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };
/// Maximum number of descriptors per order: order text, standard streams, control socket, mount socket, control groups.
const DESCRIPTORS: usize = 16;

/// A launch helper, started when it is first needed. Clones share the same process.
#[derive(Clone, Debug)]
pub struct LaunchHelper {
    program: PathBuf,
    arguments: Vec<OsString>,
    connection: Arc<Mutex<Option<HelperConnection>>>,
}

impl LaunchHelper {
    /// Uses this executable. It must call [`LaunchHelper::serve_if_requested`] before anything else.
    pub fn current_executable() -> Self {
        Self::new("/proc/self/exe", [] as [&str; 0])
    }

    /// Uses another program, which must call [`LaunchHelper::serve`] when started with these arguments.
    pub fn new<T: Into<OsString>>(
        program: impl Into<PathBuf>,
        arguments: impl IntoIterator<Item = T>,
    ) -> Self {
        let arguments = arguments.into_iter().map(Into::into).collect();
        Self { program: program.into(), arguments, connection: Arc::default() }
    }

    /// Runs as a launch helper and exits, if this process was started as one; otherwise returns.
    pub fn serve_if_requested() {
        if std::env::args_os().next().is_some_and(|name| name == NAME) {
            Self::serve()
        }
    }

    /// Executes the orders that arrive on standard input until the owner closes it, then exits.
    pub fn serve() -> ! {
        // The helper must not keep a directory in use.
        let _ = rustix::process::chdir("/");
        serve_orders(&Arc::default());
        std::process::exit(0)
    }

    /// Sends an order. The outcome comes back over the program's control socket.
    ///
    /// # Errors
    /// If no launch helper is available. Then the order was not executed.
    pub(super) fn send_order(&self, order: &LaunchOrder, descriptors: &Descriptors) -> io::Result<()> {
        let mut text = std::fs::File::from(rustix::fs::memfd_create(c"order", MemfdFlags::CLOEXEC)?);
        text.write_all(&serde_json::to_vec(order)?)?;
        let mut connection = lock(&self.connection);
        if let Some(open) = connection.take() {
            let sent = open.send(&text, descriptors);
            // A helper whose queue is full still works.
            if sent.as_ref().map_or_else(|error| error.kind() == io::ErrorKind::WouldBlock, |()| true) {
                *connection = Some(open);
                return sent;
            }
        }
        let open = HelperConnection::open(self)?;
        open.send(&text, descriptors)?;
        *connection = Some(open);
        Ok(())
    }
}

/// A running launch helper.
#[derive(Debug)]
struct HelperConnection {
    /// Closing it tells the helper to end.
    socket: Option<OwnedFd>,
    child: Child,
}

impl HelperConnection {
    #[expect(clippy::disallowed_methods, reason = "lariat-host may access the operating system")]
    fn open(helper: &LaunchHelper) -> io::Result<Self> {
        let (ours, theirs) =
            rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        // Its own process group, so that it gets no signals from the terminal. No variables: ours may contain secrets.
        let child = std::process::Command::new(&helper.program)
            .arg0(NAME)
            .args(&helper.arguments)
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
            vec![text.as_fd(), input.as_fd(), output.as_fd(), errors.as_fd(), held.control.as_fd()];
        rights.extend(held.creation_socket.iter().map(OwnedFd::as_fd));
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

impl Drop for HelperConnection {
    /// The helper ends when its socket closes. If it is blocked by a file system, it is killed without waiting for it.
    fn drop(&mut self) {
        self.socket = None;
        if let Ok(process) = pidfd_open(Pid::from_child(&self.child), PidfdFlags::empty()) {
            let _ = poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&END_TIMEOUT));
        }
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            let _ = self.child.kill();
        }
    }
}

/// Receives the next order; `None` after the owner closed the socket.
fn receive(socket: BorrowedFd<'_>) -> io::Result<Option<(LaunchOrder, Descriptors)>> {
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
    let control = next()?;
    let mut bytes = Vec::new();
    text.rewind()?;
    text.read_to_end(&mut bytes)?;
    let order: LaunchOrder = serde_json::from_slice(&bytes)?;
    let creation_socket = order.has_creation_socket().then(&mut next).transpose()?;
    let groups = rights.collect();
    Ok(Some((order, Descriptors { standard, held: HeldDescriptors { control, groups, creation_socket } })))
}

/// State that the threads of a launch helper share.
#[derive(Debug, Default)]
struct HelperState {
    /// Number of threads that are executing an order.
    busy: AtomicUsize,
    /// Number of threads besides the first.
    others: AtomicUsize,
    /// The supervisor processes that were started. Ended ones are removed before the next is added.
    supervisors: Mutex<Vec<Child>>,
}

/// Executes orders. A start may block on a file system that does not respond, so another thread always waits for
/// orders.
fn serve_orders(state: &Arc<HelperState>) {
    while let Ok(Some((order, descriptors))) = receive(rustix::stdio::stdin()) {
        let busy = state.busy.fetch_add(1, Ordering::AcqRel);
        if busy >= state.others.load(Ordering::Acquire) {
            state.others.fetch_add(1, Ordering::AcqRel);
            let state = Arc::clone(state);
            let _ = std::thread::Builder::new().spawn(move || {
                serve_orders(&state);
                // The owner closed the socket.
                std::process::exit(0)
            });
        }
        execute(order, descriptors, state);
        state.busy.fetch_sub(1, Ordering::AcqRel);
    }
}

fn execute(order: LaunchOrder, descriptors: Descriptors, state: &HelperState) {
    let Ok(reply) = descriptors.held.control.try_clone() else { return };
    let started = order.spawn(descriptors);
    control::report_started(&reply, started.as_ref().map(drop));
    drop(reply);
    let mut supervisors = lock(&state.supervisors);
    supervisors.retain_mut(|supervisor| !matches!(supervisor.try_wait(), Ok(Some(_)) | Err(_)));
    supervisors.extend(started);
}
