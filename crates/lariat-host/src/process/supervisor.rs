//! Starts every program and ends everything that the programs started.
//!
//! Dropping the last clone of a supervisor ends all its programs. Programs that ended stay listed until they are
//! forgotten; beyond a limit, the oldest are dropped first.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use lariat_core::cancel::CancellationToken;
use rustix::fs::OFlags;
use rustix::pipe::PipeFlags;
use tokio::io::Interest;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::capture::Capture;
use super::control::{ControlSocket, Message};
use super::launch::{Input, Launch, Output};
use super::launch_helper::LaunchHelper;
use super::order::{Descriptors, LaunchContext, LaunchOrder};
use super::running::{End, Exit, Process, ProcessId, ProcessResult, ProcessShared, lock};
use super::terminal;
use crate::sandbox::ConfinementGuard;
use crate::sys::child::{HeldDescriptors, Stage};

/// Id of the first program.
const FIRST: ProcessId = ProcessId(1);
/// Maximum number of programs in the list, if enough of them have ended.
const MAX_LISTED: usize = 64;
/// How long to keep reading after all processes of a program ended, if another process still holds its output open.
const DRAIN: Duration = Duration::from_millis(200);
/// How often to try to create a sandbox before reporting an error. The command has not started at that point.
const SANDBOX_TRIES: u32 = 8;
/// Bytes to read at once.
const CHUNK: usize = 64 * 1024;

/// Why a program could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProcessError {
    /// The program does not exist.
    #[error("program `{program}` was not found: {source}")]
    NotFound {
        /// The program's name or path.
        program: String,
        /// The kernel's error.
        source: io::Error,
    },
    /// The kernel rejected a step of the start.
    #[error("could not start `{program}` ({stage}): {source}")]
    Start {
        /// The program's name or path.
        program: String,
        /// The step that failed.
        stage: &'static str,
        /// The kernel's error.
        source: io::Error,
    },
    /// The sandbox could not be created.
    #[error("could not create the sandbox: {0}")]
    Sandbox(#[source] io::Error),
}

/// Starts programs and owns them. Clones share the list; dropping the last clone ends all programs.
#[derive(Clone)]
pub struct Supervisor {
    table: Arc<ProcessTable>,
}

struct ProcessTable {
    launch_helper: Option<LaunchHelper>,
    next: AtomicU64,
    processes: Mutex<BTreeMap<ProcessId, Process>>,
}

/// One entry of the list of programs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Identifies the program.
    pub id: ProcessId,
    /// The command line, for display.
    pub command: String,
    /// How it ended; `None` while it runs.
    pub exit: Option<Exit>,
    /// How long it has been running, or ran.
    pub elapsed: Duration,
}

impl Drop for ProcessTable {
    fn drop(&mut self) {
        for process in lock(&self.processes).values() {
            process.shared.request_end(End::Stopped);
        }
    }
}

impl fmt::Debug for Supervisor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(lock(&self.table.processes).values()).finish()
    }
}

impl Default for Supervisor {
    fn default() -> Self {
        Self::new()
    }
}

impl Supervisor {
    /// Creates a supervisor without programs.
    pub fn new() -> Self {
        Self::with(None)
    }

    /// Creates a supervisor that uses `launch_helper` from the second program on.
    pub fn with_launch_helper(launch_helper: LaunchHelper) -> Self {
        Self::with(Some(launch_helper))
    }

    fn with(launch_helper: Option<LaunchHelper>) -> Self {
        let table =
            ProcessTable { launch_helper, next: AtomicU64::new(FIRST.0), processes: Mutex::default() };
        Self { table: Arc::new(table) }
    }

    /// Runs a program until it ends. Cancelling the token, or dropping the future, ends the program.
    ///
    /// # Errors
    /// [`ProcessError`] if it could not be started. A program that fails is not an error.
    pub async fn run(
        &self,
        launch: Launch,
        cancel: &CancellationToken,
    ) -> Result<ProcessResult, ProcessError> {
        self.run_observed(launch, cancel, |_| std::future::ready(())).await
    }

    /// Like [`run`](Self::run), and polls `observe` with the program until it ends.
    ///
    /// # Errors
    /// The same as those of `run`.
    pub async fn run_observed<F: Future<Output = ()>>(
        &self,
        launch: Launch,
        cancel: &CancellationToken,
        observe: impl FnOnce(Process) -> F,
    ) -> Result<ProcessResult, ProcessError> {
        let process = self.start(launch).await?;
        let owned = EndOnDrop(&process);
        let observed = async {
            observe(process.clone()).await;
            std::future::pending().await
        };
        let finished = tokio::select! {
            finished = process.wait() => finished,
            finished = observed => finished,
            () = cancel.cancelled() => {
                process.shared.request_end(End::Cancelled);
                process.wait().await
            }
        };
        drop(owned);
        self.forget(process.id());
        Ok(finished)
    }

    /// Starts a program and returns while it runs.
    ///
    /// # Errors
    /// [`ProcessError`] if it could not be started.
    pub async fn start(&self, launch: Launch) -> Result<Process, ProcessError> {
        let id = ProcessId(self.table.next.fetch_add(1, Ordering::Relaxed));
        // A process that starts only one program needs no launch helper.
        let mut launch_helper = self.table.launch_helper.as_ref().filter(|_| id != FIRST);
        let mut tries = 1;
        let process = loop {
            match launch_process(id, launch.clone(), launch_helper).await {
                // A wrapper reads the mount table and then changes mounts; it fails if a mount disappeared in between.
                Err(ProcessError::Sandbox(_)) if tries < SANDBOX_TRIES => tries += 1,
                begun => match begun? {
                    Some(process) => break process,
                    None => launch_helper = None,
                },
            }
        };
        let mut processes = lock(&self.table.processes);
        processes.insert(id, process.clone());
        while processes.len() > MAX_LISTED {
            let Some(oldest) = processes.values().find(|one| one.exit().is_some()).map(Process::id) else {
                break;
            };
            processes.remove(&oldest);
        }
        Ok(process)
    }

    /// Returns the program with this id.
    pub fn find(&self, id: ProcessId) -> Option<Process> {
        lock(&self.table.processes).get(&id).cloned()
    }

    /// Removes an ended program from the list.
    pub fn forget(&self, id: ProcessId) {
        let mut processes = lock(&self.table.processes);
        if processes.get(&id).is_some_and(|process| process.exit().is_some()) {
            processes.remove(&id);
        }
    }

    /// Lists all programs, oldest first.
    pub fn list(&self) -> Vec<Summary> {
        let summary = |process: &Process| {
            let ended = *process.shared.exit.borrow();
            Summary {
                id: process.id(),
                command: process.command().to_owned(),
                exit: ended.map(|(exit, _)| exit),
                elapsed: ended.map_or_else(|| process.shared.started.elapsed(), |(_, elapsed)| elapsed),
            }
        };
        lock(&self.table.processes).values().map(summary).collect()
    }

    /// Ends every program and waits until they have ended.
    pub async fn stop_all(&self) {
        let processes: Vec<_> = lock(&self.table.processes).values().cloned().collect();
        for process in &processes {
            process.shared.request_end(End::Stopped);
        }
        for process in processes {
            process.wait().await;
        }
    }
}

/// Ends a program when its future is dropped.
struct EndOnDrop<'a>(&'a Process);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        if self.0.exit().is_none() {
            self.0.shared.request_end(End::Cancelled);
        }
    }
}

/// The descriptors of a new program, and our ends of them.
struct Streams {
    child: [OwnedFd; 3],
    output: Option<OwnedFd>,
    errors: Option<OwnedFd>,
    input: Option<OwnedFd>,
}

impl Streams {
    fn open(launch: &Launch) -> io::Result<Self> {
        if let Output::Terminal(size) = launch.output {
            let (ours, theirs) = terminal::open(size)?;
            let child = [theirs.try_clone()?, theirs.try_clone()?, theirs];
            return Ok(Self { child, input: Some(ours.try_clone()?), output: Some(ours), errors: None });
        }
        let (input, written) = match launch.input {
            Input::Empty => {
                let null = rustix::fs::open(
                    c"/dev/null",
                    OFlags::RDONLY | OFlags::CLOEXEC,
                    rustix::fs::Mode::empty(),
                )?;
                (null, None)
            }
            Input::Bytes(_) | Input::Written => {
                let (read, write) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
                (read, Some(set_nonblocking(write)?))
            }
        };
        let (output, out) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        let output = set_nonblocking(output)?;
        let (errors, err) = if matches!(launch.output, Output::Separate | Output::Piped) {
            let (errors, err) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
            (Some(set_nonblocking(errors)?), err)
        } else {
            (None, out.try_clone()?)
        };
        Ok(Self { child: [input, out, err], output: Some(output), errors, input: written })
    }
}

fn set_nonblocking(fd: OwnedFd) -> io::Result<OwnedFd> {
    rustix::fs::fcntl_setfl(&fd, rustix::fs::fcntl_getfl(&fd)? | OFlags::NONBLOCK)?;
    Ok(fd)
}

/// Starts a program; `None` if a launch helper died with the order before the program started.
#[expect(clippy::disallowed_methods, reason = "lariat-host may access the operating system")]
async fn launch_process(
    id: ProcessId,
    launch: Launch,
    launch_helper: Option<&LaunchHelper>,
) -> Result<Option<Process>, ProcessError> {
    let program = launch.program.to_string_lossy().into_owned();
    let failed = |source| ProcessError::Start { program: program.clone(), stage: "preparing", source };
    let started = Instant::now();
    let mut streams = Streams::open(&launch).map_err(failed)?;
    let piped = match launch.output {
        Output::Piped => streams.output.take(),
        _ => None,
    };
    let (control, theirs) = ControlSocket::new().map_err(failed)?;
    let confinement = launch
        .sandbox
        .as_ref()
        .map(|sandbox| sandbox.confine(&launch.directory, launch.environment.iter()))
        .transpose()
        .map_err(ProcessError::Sandbox)?;
    let (order, context) = LaunchOrder::new(&launch, confinement).map_err(failed)?;
    let LaunchContext { mut guard, wrapped } = context;
    let groups = guard.as_mut().map(|guard| guard.groups.join_files()).unwrap_or_default();
    let creation_socket = guard.as_mut().and_then(|guard| guard.creation_socket.take());
    let held = HeldDescriptors { control: theirs, groups, creation_socket };
    let descriptors = Descriptors { standard: streams.child, held };

    let shared = Arc::new(ProcessShared {
        id,
        command: command_line(&launch),
        started,
        control,
        output: Mutex::new(Capture::new(launch.capture.clone())),
        errors: Mutex::new(Capture::new(super::CaptureLimits { spill: None, ..launch.capture.clone() })),
        input: tokio::sync::Mutex::new(
            streams
                .input
                .map(|input| crate::sys::watch(input, Interest::WRITABLE))
                .transpose()
                .map_err(failed)?,
        ),
        piped: tokio::sync::Mutex::new(
            piped.map(|piped| crate::sys::watch(piped, Interest::READABLE)).transpose().map_err(failed)?,
        ),
        denials: Mutex::default(),
        end: Mutex::new(End::Exited),
        exit: watch::Sender::new(None),
    });
    let mut state = LaunchState::new(&shared, guard.as_ref().map(|guard| guard.judge.clone()));
    let child = match launch_helper.map(|helper| helper.send_order(&order, &descriptors)) {
        Some(Ok(())) => {
            drop(descriptors);
            match await_start(&shared, &mut state).await {
                Ok(HelperOutcome::Started) => Ok(None),
                Ok(HelperOutcome::Lost) => return Ok(None),
                Err(error) => Err(error),
            }
        }
        // Without a launch helper, this process starts the program.
        Some(Err(_)) | None => {
            // Spawning blocks until the child runs its program. The sandbox hands a wrapper's exec to us for a
            // decision, so messages must be answered meanwhile.
            let mut starting = tokio::task::spawn_blocking(move || order.spawn(descriptors));
            loop {
                tokio::select! {
                    child = &mut starting => break child.unwrap_or_else(|error| Err(io::Error::other(error))).map(Some),
                    message = shared.control.next_message(), if !state.gone => state.receive(message),
                }
            }
        }
    };
    let child = match child {
        Ok(child) => child,
        Err(source) => {
            while !state.gone && state.failed.is_none() {
                state.receive(shared.control.next_message().await);
            }
            let stage = state.failed.map_or("starting", Stage::name);
            return Err(match (state.failed, source.kind()) {
                (None, io::ErrorKind::NotFound) => ProcessError::NotFound { program, source },
                _ => ProcessError::Start { program, stage, source },
            });
        }
    };

    let each = [(streams.output, Stream::Output), (streams.errors, Stream::Errors)];
    let readers = each.into_iter().filter_map(|(from, stream)| Some((from?, stream)));
    let readers =
        readers.map(|(from, stream)| tokio::spawn(read(Arc::clone(&shared), from, stream))).collect();
    if let Input::Bytes(bytes) = launch.input {
        let process = Process { shared: Arc::clone(&shared) };
        tokio::spawn(async move {
            // The program need not read all of its input.
            let _ = process.write(&bytes).await;
            process.close_input().await;
        });
    }
    let time = launch.time;
    let judge = guard.as_ref().map(|guard| Arc::clone(&guard.judge));
    tokio::spawn(supervise(Arc::clone(&shared), child, state, readers, time, guard));
    let process = Process { shared };
    match judge {
        Some(judge) if wrapped => await_wrapped_start(process, &judge).await.map(Some),
        _ => Ok(Some(process)),
    }
}

/// Waits until the wrapper has started the program. If the wrapper ends first, there is no sandbox and nothing ran.
async fn await_wrapped_start(
    process: Process,
    judge: &crate::sandbox::SyscallJudge,
) -> Result<Process, ProcessError> {
    let owned = EndOnDrop(&process);
    let finished = tokio::select! {
        biased;
        () = judge.wait_for_start() => None,
        finished = process.wait() => Some(finished),
    };
    std::mem::forget(owned);
    match finished {
        Some(finished) if finished.end == End::Exited && !judge.has_started() => {
            let words = if finished.errors.total > 0 { finished.errors } else { finished.output };
            Err(ProcessError::Sandbox(io::Error::other(words.text().trim().to_owned())))
        }
        _ => Ok(process),
    }
}

fn command_line(launch: &Launch) -> String {
    let words = std::iter::once(&launch.program).chain(&launch.arguments);
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// The outcome of an order that was sent to a launch helper.
enum HelperOutcome {
    /// The program started.
    Started,
    /// The launch helper died, and the program did not start.
    Lost,
}

/// Waits until the launch helper reports the outcome of an order.
async fn await_start(shared: &ProcessShared, state: &mut LaunchState) -> io::Result<HelperOutcome> {
    loop {
        if let Some(started) = state.started.take() {
            return started.map(|()| HelperOutcome::Started);
        }
        if state.gone {
            return match (state.ready, state.ended.is_some() && state.failed.is_none()) {
                (false, _) => Ok(HelperOutcome::Lost),
                // A program that ended must have started; its launch helper died before reporting it.
                (true, true) => Ok(HelperOutcome::Started),
                (true, false) => Err(io::Error::other("the launch helper died")),
            };
        }
        state.receive(shared.control.next_message().await);
    }
}

/// The messages received so far, and the tasks that they started.
struct LaunchState {
    shared: std::sync::Weak<ProcessShared>,
    judge: Option<Arc<crate::sandbox::SyscallJudge>>,
    failed: Option<u8>,
    /// The program may have started.
    ready: bool,
    started: Option<io::Result<()>>,
    ended: Option<i32>,
    /// Only the supervisor process is left.
    alone: bool,
    gone: bool,
    tasks: Vec<JoinHandle<()>>,
}

impl LaunchState {
    fn new(shared: &Arc<ProcessShared>, judge: Option<Arc<crate::sandbox::SyscallJudge>>) -> Self {
        Self {
            shared: Arc::downgrade(shared),
            judge,
            failed: None,
            ready: false,
            started: None,
            ended: None,
            alone: false,
            gone: false,
            tasks: Vec::new(),
        }
    }

    fn receive(&mut self, message: Message) {
        match (message, &self.judge) {
            (Message::Ended { status, alone }, _) => (self.ended, self.alone) = (Some(status), alone),
            (Message::Started(started), _) => self.started = Some(started),
            (Message::Ready, _) => self.ready = true,
            (Message::Failed(stage), _) => self.failed = Some(stage),
            (Message::Gone, _) => self.gone = true,
            (Message::Notifier(notifier), Some(judge)) => {
                let (judge, shared) = (Arc::clone(judge), self.shared.clone());
                self.tasks.push(tokio::task::spawn_blocking(move || {
                    judge.answer(&notifier, |denial| {
                        if let Some(shared) = shared.upgrade() {
                            crate::sandbox::Denial::note(&mut lock(&shared.denials), denial);
                        }
                    });
                }));
            }
            (Message::Listener(socket), Some(judge)) => {
                let (judge, shared) = (Arc::clone(judge), self.shared.clone());
                self.tasks.push(tokio::spawn(async move {
                    judge
                        .serve(socket, move |denial| {
                            if let Some(shared) = shared.upgrade() {
                                crate::sandbox::Denial::note(&mut lock(&shared.denials), denial);
                            }
                        })
                        .await;
                }));
            }
            (Message::Notifier(_) | Message::Listener(_), None) => {}
        }
    }
}

/// Waits until everything has ended, then publishes the result. `guard` must stay alive until then.
async fn supervise(
    shared: Arc<ProcessShared>,
    child: Option<std::process::Child>,
    mut state: LaunchState,
    mut readers: Vec<JoinHandle<()>>,
    time: Option<Duration>,
    guard: Option<ConfinementGuard>,
) {
    let out_of_time = async {
        match time {
            Some(time) => tokio::time::sleep(time.saturating_sub(shared.started.elapsed())).await,
            None => std::future::pending().await,
        }
    };
    tokio::pin!(out_of_time);
    let mut timed = false;
    while !state.gone && !state.alone {
        tokio::select! {
            message = shared.control.next_message() => state.receive(message),
            () = &mut out_of_time, if !timed => {
                timed = true;
                shared.request_end(End::TimedOut);
            }
        }
    }
    let drained = async {
        for reader in &mut readers {
            let _ = reader.await;
        }
    };
    let _ = tokio::time::timeout(DRAIN, drained).await;
    for task in readers.iter().chain(&state.tasks) {
        task.abort();
    }
    // The control groups must exist until the supervisor process has left them.
    let groups = guard.map(ConfinementGuard::into_groups);
    *shared.input.lock().await = None;
    let exit = state.ended.map_or(Exit::Unknown, Exit::of);
    shared.exit.send_replace(Some((exit, shared.started.elapsed())));
    while !state.gone {
        state.receive(shared.control.next_message().await);
    }
    // The supervisor process closes its side last, so this does not block. A launch helper reaps its own children.
    if let Some(mut supervisor) = child {
        let _ = supervisor.wait();
    }
    drop(groups);
}

#[derive(Clone, Copy)]
enum Stream {
    Output,
    Errors,
}

/// Reads what a program writes until no process holds the other end.
async fn read(shared: Arc<ProcessShared>, from: OwnedFd, stream: Stream) {
    let Ok(from) = crate::sys::watch(from, Interest::READABLE) else { return };
    let mut buffer = vec![0_u8; CHUNK];
    loop {
        let read = from.async_io(Interest::READABLE, |fd| Ok(rustix::io::read(fd, &mut buffer[..])?)).await;
        // A terminal reports EIO when its program has ended.
        let Ok(1..) = read else { return };
        let bytes = buffer.get(..read.unwrap_or(0)).unwrap_or_default();
        match stream {
            Stream::Output => lock(&shared.output).take(bytes),
            Stream::Errors => lock(&shared.errors).take(bytes),
        }
    }
}
