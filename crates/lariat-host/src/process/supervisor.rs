//! The supervisor: starts every program and owns everything that comes of it.
//!
//! Owns the list of what runs, and the tasks that tend it. When the last handle of a supervisor goes, so does
//! everything it started. Programs that ended stay listed until they are forgotten, the oldest first past a bound.

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
use super::keeper::Keeper;
use super::launch::{Input, Launch, Output};
use super::lifeline::{Lifeline, Word};
use super::order::{Beside, Descriptors, Order};
use super::running::{End, Exit, Finished, Process, ProcessId, Shared, lock};
use super::terminal;
use crate::sandbox::Guard;
use crate::sys::child::{Held, Stage};

/// The program that is started first.
const FIRST: ProcessId = ProcessId(1);
/// Programs that ended and are still listed.
const REMEMBERED: usize = 64;
/// How long readers may go on after nothing of a program is left: somebody else holds its output open.
const DRAIN: Duration = Duration::from_millis(200);
/// How often a sandbox is made before that it cannot be made is believed. The command has not started by then.
const SANDBOX_TRIES: u32 = 8;
/// Bytes read at once.
const CHUNK: usize = 64 * 1024;

/// Why a program could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProcessError {
    /// There is no such program.
    #[error("there is no program `{program}` to start: {source}")]
    NotFound {
        /// The program.
        program: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// The kernel refused a step of the start.
    #[error("`{program}` could not be started ({stage}): {source}")]
    Start {
        /// The program.
        program: String,
        /// The step.
        stage: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
    /// The sandbox could not be made.
    #[error("the sandbox could not be made: {0}")]
    Sandbox(#[source] io::Error),
}

/// Starts programs and owns them. Cloning shares; with the last clone everything ends.
#[derive(Clone)]
pub struct Supervisor {
    list: Arc<List>,
}

struct List {
    keeper: Option<Keeper>,
    next: AtomicU64,
    processes: Mutex<BTreeMap<ProcessId, Process>>,
}

/// One line of the list of programs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Its identity.
    pub id: ProcessId,
    /// What was started.
    pub command: String,
    /// How it ended; `None` while it runs.
    pub exit: Option<Exit>,
    /// Since when it runs, or how long it ran.
    pub elapsed: Duration,
}

impl Drop for List {
    fn drop(&mut self) {
        for process in lock(&self.processes).values() {
            process.shared.ask_to_end(End::Stopped);
        }
    }
}

impl fmt::Debug for Supervisor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(lock(&self.list.processes).values()).finish()
    }
}

impl Default for Supervisor {
    fn default() -> Self {
        Self::new()
    }
}

impl Supervisor {
    /// One that has started nothing yet.
    pub fn new() -> Self {
        Self::with(None)
    }

    /// The same; from the second program on, `keeper` starts them.
    pub fn with_keeper(keeper: Keeper) -> Self {
        Self::with(Some(keeper))
    }

    fn with(keeper: Option<Keeper>) -> Self {
        let list = List { keeper, next: AtomicU64::new(FIRST.0), processes: Mutex::default() };
        Self { list: Arc::new(list) }
    }

    /// Runs a program to its end. A cancelled call, and one that nobody awaits any more, ends it.
    ///
    /// # Errors
    /// [`ProcessError`] when it could not be started. How it ended is not an error.
    pub async fn run(&self, launch: Launch, cancel: &CancellationToken) -> Result<Finished, ProcessError> {
        self.run_observed(launch, cancel, |_| std::future::ready(())).await
    }

    /// As [`run`](Self::run), with something beside it that looks at the program until it ended.
    ///
    /// # Errors
    /// As those of `run`.
    pub async fn run_observed<F: Future<Output = ()>>(
        &self,
        launch: Launch,
        cancel: &CancellationToken,
        observe: impl FnOnce(Process) -> F,
    ) -> Result<Finished, ProcessError> {
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
                process.shared.ask_to_end(End::Cancelled);
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
    /// [`ProcessError`] when it could not be started.
    pub async fn start(&self, launch: Launch) -> Result<Process, ProcessError> {
        let id = ProcessId(self.list.next.fetch_add(1, Ordering::Relaxed));
        // Who starts one program only needs no keeper for it.
        let mut keeper = self.list.keeper.as_ref().filter(|_| id != FIRST);
        let mut tries = 1;
        let process = loop {
            match begin(id, launch.clone(), keeper).await {
                // A wrapper looks at the machine's mounts, then works on them: one that went meanwhile is its failure.
                Err(ProcessError::Sandbox(_)) if tries < SANDBOX_TRIES => tries += 1,
                begun => match begun? {
                    Some(process) => break process,
                    None => keeper = None,
                },
            }
        };
        let mut processes = lock(&self.list.processes);
        processes.insert(id, process.clone());
        while processes.len() > REMEMBERED {
            let Some(oldest) = processes.values().find(|one| one.exit().is_some()).map(Process::id) else {
                break;
            };
            processes.remove(&oldest);
        }
        Ok(process)
    }

    /// The program of an id.
    pub fn find(&self, id: ProcessId) -> Option<Process> {
        lock(&self.list.processes).get(&id).cloned()
    }

    /// Takes a program that ended off the list.
    pub fn forget(&self, id: ProcessId) {
        let mut processes = lock(&self.list.processes);
        if processes.get(&id).is_some_and(|process| process.exit().is_some()) {
            processes.remove(&id);
        }
    }

    /// All programs, the oldest first.
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
        lock(&self.list.processes).values().map(summary).collect()
    }

    /// Ends every program and waits for that.
    pub async fn stop_all(&self) {
        let processes: Vec<_> = lock(&self.list.processes).values().cloned().collect();
        for process in &processes {
            process.shared.ask_to_end(End::Stopped);
        }
        for process in processes {
            process.wait().await;
        }
    }
}

/// Ends a program whose run is not awaited any more.
struct EndOnDrop<'a>(&'a Process);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        if self.0.exit().is_none() {
            self.0.shared.ask_to_end(End::Cancelled);
        }
    }
}

/// The descriptors of a new program, and ours.
struct Streams {
    child: [OwnedFd; 3],
    output: OwnedFd,
    errors: Option<OwnedFd>,
    input: Option<OwnedFd>,
}

impl Streams {
    fn open(launch: &Launch) -> io::Result<Self> {
        if let Output::Terminal(size) = launch.output {
            let (ours, theirs) = terminal::open(size)?;
            let child = [theirs.try_clone()?, theirs.try_clone()?, theirs];
            return Ok(Self { child, input: Some(ours.try_clone()?), output: ours, errors: None });
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
                (read, Some(without_waiting(write)?))
            }
        };
        let (output, out) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        let output = without_waiting(output)?;
        let (errors, err) = if launch.output == Output::Separate {
            let (errors, err) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
            (Some(without_waiting(errors)?), err)
        } else {
            (None, out.try_clone()?)
        };
        Ok(Self { child: [input, out, err], output, errors, input: written })
    }
}

fn without_waiting(fd: OwnedFd) -> io::Result<OwnedFd> {
    rustix::fs::fcntl_setfl(&fd, rustix::fs::fcntl_getfl(&fd)? | OFlags::NONBLOCK)?;
    Ok(fd)
}

/// Starts a program; `None` when a keeper went with the order, before the program began.
#[expect(clippy::disallowed_methods, reason = "this is the host")]
async fn begin(
    id: ProcessId,
    launch: Launch,
    keeper: Option<&Keeper>,
) -> Result<Option<Process>, ProcessError> {
    let program = launch.program.to_string_lossy().into_owned();
    let failed = |source| ProcessError::Start { program: program.clone(), stage: "preparing", source };
    let started = Instant::now();
    let streams = Streams::open(&launch).map_err(failed)?;
    let (lifeline, theirs) = Lifeline::new().map_err(failed)?;
    let confinement = launch
        .sandbox
        .as_ref()
        .map(|sandbox| sandbox.confine(&launch))
        .transpose()
        .map_err(ProcessError::Sandbox)?;
    let (order, beside) = Order::new(&launch, confinement).map_err(failed)?;
    let Beside { mut guard, wrapped } = beside;
    let groups = guard.as_mut().map(|guard| guard.groups.doors()).unwrap_or_default();
    let maker = guard.as_mut().and_then(|guard| guard.maker.take());
    let held = Held { lifeline: theirs, groups, maker };
    let descriptors = Descriptors { standard: streams.child, held };

    let shared = Arc::new(Shared {
        id,
        command: words(&launch),
        started,
        lifeline,
        output: Mutex::new(Capture::new(launch.capture.clone())),
        errors: Mutex::new(Capture::new(super::CaptureLimits { spill: None, ..launch.capture.clone() })),
        input: tokio::sync::Mutex::new(
            streams
                .input
                .map(|input| crate::sys::watch(input, Interest::WRITABLE))
                .transpose()
                .map_err(failed)?,
        ),
        denials: Mutex::default(),
        end: Mutex::new(End::ByItself),
        exit: watch::Sender::new(None),
    });
    let mut notices = Notices::new(&shared, guard.as_ref().map(|guard| guard.judge.clone()));
    let child = match keeper.map(|keeper| keeper.give(&order, &descriptors)) {
        Some(Ok(())) => {
            drop(descriptors);
            match heard_start(&shared, &mut notices).await {
                Ok(Heard::Started) => Ok(None),
                Ok(Heard::Lost) => return Ok(None),
                Err(error) => Err(error),
            }
        }
        // Without a keeper the program is started from here.
        Some(Err(_)) | None => {
            // A start waits for the child to come as far as its program. A wrapper's start is handed to us, and must
            // be answered meanwhile.
            let mut starting = tokio::task::spawn_blocking(move || order.carry_out(descriptors));
            loop {
                tokio::select! {
                    child = &mut starting => break child.unwrap_or_else(|error| Err(io::Error::other(error))).map(Some),
                    word = shared.lifeline.hear(), if !notices.gone => notices.take(word),
                }
            }
        }
    };
    let child = match child {
        Ok(child) => child,
        Err(source) => {
            while !notices.gone && notices.failed.is_none() {
                notices.take(shared.lifeline.hear().await);
            }
            let stage = notices.failed.map_or("starting", Stage::name);
            return Err(match (notices.failed, source.kind()) {
                (None, io::ErrorKind::NotFound) => ProcessError::NotFound { program, source },
                _ => ProcessError::Start { program, stage, source },
            });
        }
    };

    let mut readers = vec![tokio::spawn(read(Arc::clone(&shared), streams.output, Stream::Output))];
    readers
        .extend(streams.errors.map(|errors| tokio::spawn(read(Arc::clone(&shared), errors, Stream::Errors))));
    if let Input::Bytes(bytes) = launch.input {
        let process = Process { shared: Arc::clone(&shared) };
        tokio::spawn(async move {
            // One that does not read all of it is free not to.
            let _ = process.write(&bytes).await;
            process.close_input().await;
        });
    }
    let time = launch.time;
    let judge = guard.as_ref().map(|guard| Arc::clone(&guard.judge));
    tokio::spawn(tend(Arc::clone(&shared), child, notices, readers, time, guard));
    let process = Process { shared };
    match judge {
        Some(judge) if wrapped => behind_wrapper(process, &judge).await.map(Some),
        _ => Ok(Some(process)),
    }
}

/// The program, once its wrapper started it. A wrapper that ends before that made no sandbox, and nothing has run.
async fn behind_wrapper(process: Process, judge: &crate::sandbox::Judge) -> Result<Process, ProcessError> {
    let owned = EndOnDrop(&process);
    let finished = tokio::select! {
        biased;
        () = judge.started() => None,
        finished = process.wait() => Some(finished),
    };
    std::mem::forget(owned);
    match finished {
        Some(finished) if finished.end == End::ByItself && !judge.has_started() => {
            let words = if finished.errors.total > 0 { finished.errors } else { finished.output };
            Err(ProcessError::Sandbox(io::Error::other(words.text().trim().to_owned())))
        }
        _ => Ok(process),
    }
}

fn words(launch: &Launch) -> String {
    let words = std::iter::once(&launch.program).chain(&launch.arguments);
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// What became of an order that a keeper was given.
enum Heard {
    /// The program began.
    Started,
    /// The keeper is gone, and the program did not begin.
    Lost,
}

/// Waits until a keeper said what came of an order.
async fn heard_start(shared: &Shared, notices: &mut Notices) -> io::Result<Heard> {
    loop {
        if let Some(started) = notices.started.take() {
            return started.map(|()| Heard::Started);
        }
        if notices.gone {
            return match (notices.ready, notices.ended.is_some() && notices.failed.is_none()) {
                (false, _) => Ok(Heard::Lost),
                // One that ended had begun; its keeper did not come to say so.
                (true, true) => Ok(Heard::Started),
                (true, false) => Err(io::Error::other("the keeper is gone")),
            };
        }
        notices.take(shared.lifeline.hear().await);
    }
}

/// What a warden told so far, and the tasks that came of it.
struct Notices {
    shared: std::sync::Weak<Shared>,
    judge: Option<Arc<crate::sandbox::Judge>>,
    failed: Option<u8>,
    /// The program may have begun.
    ready: bool,
    started: Option<io::Result<()>>,
    ended: Option<i32>,
    /// Nothing of the program is left but its warden.
    alone: bool,
    gone: bool,
    tasks: Vec<JoinHandle<()>>,
}

impl Notices {
    fn new(shared: &Arc<Shared>, judge: Option<Arc<crate::sandbox::Judge>>) -> Self {
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

    fn take(&mut self, word: Word) {
        match (word, &self.judge) {
            (Word::Ended { status, alone }, _) => (self.ended, self.alone) = (Some(status), alone),
            (Word::Started(started), _) => self.started = Some(started),
            (Word::Ready, _) => self.ready = true,
            (Word::Failed(stage), _) => self.failed = Some(stage),
            (Word::Gone, _) => self.gone = true,
            (Word::Notifier(notifier), Some(judge)) => {
                let (judge, shared) = (Arc::clone(judge), self.shared.clone());
                self.tasks.push(tokio::task::spawn_blocking(move || {
                    judge.answer(&notifier, |denial| {
                        if let Some(shared) = shared.upgrade() {
                            crate::sandbox::Denial::note(&mut lock(&shared.denials), denial);
                        }
                    });
                }));
            }
            (Word::Listener(socket), Some(judge)) => {
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
            (Word::Notifier(_) | Word::Listener(_), None) => {}
        }
    }
}

/// Waits for the end of everything, then says so. `guard` is what must stay in place until then.
async fn tend(
    shared: Arc<Shared>,
    child: Option<std::process::Child>,
    mut notices: Notices,
    mut readers: Vec<JoinHandle<()>>,
    time: Option<Duration>,
    guard: Option<Guard>,
) {
    let out_of_time = async {
        match time {
            Some(time) => tokio::time::sleep(time.saturating_sub(shared.started.elapsed())).await,
            None => std::future::pending().await,
        }
    };
    tokio::pin!(out_of_time);
    let mut timed = false;
    while !notices.gone && !notices.alone {
        tokio::select! {
            word = shared.lifeline.hear() => notices.take(word),
            () = &mut out_of_time, if !timed => {
                timed = true;
                shared.ask_to_end(End::TimedOut);
            }
        }
    }
    let drained = async {
        for reader in &mut readers {
            let _ = reader.await;
        }
    };
    let _ = tokio::time::timeout(DRAIN, drained).await;
    for task in readers.iter().chain(&notices.tasks) {
        task.abort();
    }
    // The program's control groups stay until its warden left them.
    let groups = guard.map(Guard::into_groups);
    *shared.input.lock().await = None;
    let exit = notices.ended.map_or(Exit::Unknown, Exit::of);
    shared.exit.send_replace(Some((exit, shared.started.elapsed())));
    while !notices.gone {
        notices.take(shared.lifeline.hear().await);
    }
    // The warden closed its side as its last act, so this does not wait. A keeper waits for its own.
    if let Some(mut warden) = child {
        let _ = warden.wait();
    }
    drop(groups);
}

#[derive(Clone, Copy)]
enum Stream {
    Output,
    Errors,
}

/// Takes what a program writes until nobody can write any more.
async fn read(shared: Arc<Shared>, from: OwnedFd, stream: Stream) {
    let Ok(from) = crate::sys::watch(from, Interest::READABLE) else { return };
    let mut buffer = vec![0_u8; CHUNK];
    loop {
        let read = from.async_io(Interest::READABLE, |fd| Ok(rustix::io::read(fd, &mut buffer[..])?)).await;
        // A terminal says EIO when its program is gone.
        let Ok(1..) = read else { return };
        let bytes = buffer.get(..read.unwrap_or(0)).unwrap_or_default();
        match stream {
            Stream::Output => lock(&shared.output).take(bytes),
            Stream::Errors => lock(&shared.errors).take(bytes),
        }
    }
}
