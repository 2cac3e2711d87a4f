//! A program that runs or ran: its state, its output so far, its input, and why it was ended.
//!
//! Handles share the same program; the supervisor holds one of them.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::watch;

use super::capture::{Capture, CapturedOutput};
use super::control::ControlSocket;
use crate::sandbox::Denial;

/// Identifies a program of a supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessId(pub(super) u64);

impl ProcessId {
    /// Parses back a number that was shown to a user or model.
    pub fn of(number: u64) -> Self {
        Self(number)
    }
}

impl fmt::Display for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Exit {
    /// It exited with this code.
    Code(i32),
    /// A signal ended it.
    Signal(i32),
    /// Unknown, because its supervisor process was killed.
    Unknown,
}

impl Exit {
    pub(super) fn of(status: i32) -> Self {
        use std::os::unix::process::ExitStatusExt;
        let status = std::process::ExitStatus::from_raw(status);
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(code),
            (None, Some(signal)) => Self::Signal(signal),
            (None, None) => Self::Unknown,
        }
    }

    /// Whether it exited with code 0.
    pub fn is_success(self) -> bool {
        self == Self::Code(0)
    }
}

/// Why a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum End {
    /// It ended by itself.
    Exited,
    /// It exceeded its time limit.
    TimedOut,
    /// The tool call that started it was cancelled.
    Cancelled,
    /// It was asked to stop.
    Stopped,
}

/// The result of a program that ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProcessResult {
    /// How it ended.
    pub exit: Exit,
    /// Why it ended.
    pub end: End,
    /// Standard output, including standard error if they were merged.
    pub output: CapturedOutput,
    /// Standard error, if it was separate.
    pub errors: CapturedOutput,
    /// How long it ran.
    pub elapsed: Duration,
    /// What the sandbox denied.
    pub denials: Vec<Denial>,
}

/// Output of a program since an earlier read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reading {
    /// The bytes after the mark that are still in memory.
    pub bytes: Vec<u8>,
    /// Whether some bytes after the mark are missing.
    pub gap: bool,
    /// The mark for the next read.
    pub mark: u64,
}

/// A started program. Clones share it.
#[derive(Clone)]
pub struct Process {
    pub(super) shared: Arc<ProcessShared>,
}

pub(super) struct ProcessShared {
    pub(super) id: ProcessId,
    pub(super) command: String,
    pub(super) started: Instant,
    pub(super) control: ControlSocket,
    pub(super) output: Mutex<Capture>,
    pub(super) errors: Mutex<Capture>,
    pub(super) input: tokio::sync::Mutex<Option<AsyncFd<OwnedFd>>>,
    /// Standard output, if the caller reads it.
    pub(super) piped: tokio::sync::Mutex<Option<AsyncFd<OwnedFd>>>,
    pub(super) denials: Mutex<Vec<Denial>>,
    pub(super) end: Mutex<End>,
    /// `None` while the program runs.
    pub(super) exit: watch::Sender<Option<(Exit, Duration)>>,
}

/// Locks a mutex and ignores poisoning: no code here leaves a value half updated.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ProcessShared {
    /// Asks the supervisor process to end the program. The first reason is kept.
    pub(super) fn request_end(&self, reason: End) {
        if self.exit.borrow().is_none() {
            let mut end = lock(&self.end);
            if *end == End::Exited {
                *end = reason;
            }
        }
        self.control.end();
    }
}

impl Process {
    /// Identifies it among the programs of its supervisor.
    pub fn id(&self) -> ProcessId {
        self.shared.id
    }

    /// The command line, for display.
    pub fn command(&self) -> &str {
        &self.shared.command
    }

    /// How it ended; `None` while it runs.
    pub fn exit(&self) -> Option<Exit> {
        self.shared.exit.borrow().map(|(exit, _)| exit)
    }

    /// Returns the output since `mark`; 0 is the beginning.
    pub fn read(&self, mark: u64) -> Reading {
        let output = lock(&self.shared.output);
        let (bytes, gap) = output.since(mark);
        Reading { bytes, gap, mark: output.total() }
    }

    /// Waits for standard output of a program that was started with [`Output::Piped`](super::Output::Piped), and returns how
    /// many bytes it read into `buffer`; 0 after the end. Every byte arrives exactly once, in order.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`] if its output is captured instead, or the kernel's error.
    pub async fn read_output(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let piped = self.shared.piped.lock().await;
        let piped = piped.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        piped.async_io(Interest::READABLE, |fd| Ok(rustix::io::read(fd, &mut *buffer)?)).await
    }

    /// The captured standard error so far.
    pub fn errors(&self) -> CapturedOutput {
        lock(&self.shared.errors).output()
    }

    /// What the sandbox denied so far.
    pub fn denials(&self) -> Vec<Denial> {
        lock(&self.shared.denials).clone()
    }

    /// Writes to its standard input.
    ///
    /// # Errors
    /// [`io::ErrorKind::BrokenPipe`] if it has no input or no longer reads it.
    pub async fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let input = self.shared.input.lock().await;
        let input = input.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
        let mut rest = bytes;
        while !rest.is_empty() {
            let written = input.async_io(Interest::WRITABLE, |fd| Ok(rustix::io::write(fd, rest)?)).await?;
            rest = rest.get(written..).unwrap_or_default();
        }
        Ok(())
    }

    /// Closes its standard input.
    pub async fn close_input(&self) {
        *self.shared.input.lock().await = None;
    }

    /// Ends the program and everything it started, and waits until they have ended.
    pub async fn stop(&self) -> ProcessResult {
        self.shared.request_end(End::Stopped);
        self.wait().await
    }

    /// Waits until the program and everything it started have ended.
    pub async fn wait(&self) -> ProcessResult {
        let mut exit = self.shared.exit.subscribe();
        let ended = exit.wait_for(Option::is_some).await.ok().and_then(|ended| *ended);
        let (exit, elapsed) = ended.unwrap_or((Exit::Unknown, self.shared.started.elapsed()));
        ProcessResult {
            exit,
            end: *lock(&self.shared.end),
            output: lock(&self.shared.output).output(),
            errors: lock(&self.shared.errors).output(),
            elapsed,
            denials: lock(&self.shared.denials).clone(),
        }
    }
}

impl fmt::Debug for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Process")
            .field("id", &self.shared.id)
            .field("command", &self.shared.command)
            .field("exit", &self.exit())
            .finish_non_exhaustive()
    }
}
