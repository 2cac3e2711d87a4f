//! A program that runs or ran.
//!
//! Owns its state, its output so far, its input, and who asked for its end. Handles are shared; the supervisor's is one
//! of them.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::watch;

use super::capture::{Capture, Captured};
use super::lifeline::Lifeline;
use crate::sandbox::Denial;

/// Identity of a program among those of its supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessId(pub(super) u64);

impl ProcessId {
    /// The id of a number that was shown before.
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
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// Nobody knows: its warden was killed.
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

    /// True for code 0.
    pub fn is_success(self) -> bool {
        self == Self::Code(0)
    }
}

/// Why a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum End {
    /// By itself.
    ByItself,
    /// Its time was over.
    TimedOut,
    /// The call that it belongs to was cancelled.
    Cancelled,
    /// It was told to.
    Stopped,
}

/// Everything about a program that ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Finished {
    /// How.
    pub exit: Exit,
    /// Why.
    pub end: End,
    /// Standard output, with standard error where they were merged.
    pub output: Captured,
    /// Standard error where it was kept apart.
    pub errors: Captured,
    /// How long it ran.
    pub elapsed: Duration,
    /// What the sandbox refused.
    pub denials: Vec<Denial>,
}

/// New output of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reading {
    /// The bytes since the mark, as far as they are kept.
    pub bytes: Vec<u8>,
    /// True when bytes between the mark and these are not here any more.
    pub gap: bool,
    /// Where the next reading goes on.
    pub mark: u64,
}

/// A program that was started. Handles share it.
#[derive(Clone)]
pub struct Process {
    pub(super) shared: Arc<Shared>,
}

pub(super) struct Shared {
    pub(super) id: ProcessId,
    pub(super) command: String,
    pub(super) started: Instant,
    pub(super) lifeline: Lifeline,
    pub(super) output: Mutex<Capture>,
    pub(super) errors: Mutex<Capture>,
    pub(super) input: tokio::sync::Mutex<Option<AsyncFd<OwnedFd>>>,
    pub(super) denials: Mutex<Vec<Denial>>,
    pub(super) end: Mutex<End>,
    /// `None` while it runs.
    pub(super) exit: watch::Sender<Option<(Exit, Duration)>>,
}

/// The value of a lock, whatever happened to who held it: nothing here is left half done.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Asks for the end, for this reason unless there was one before.
    pub(super) fn ask_to_end(&self, reason: End) {
        if self.exit.borrow().is_none() {
            let mut end = lock(&self.end);
            if *end == End::ByItself {
                *end = reason;
            }
        }
        self.lifeline.end();
    }
}

impl Process {
    /// Its identity.
    pub fn id(&self) -> ProcessId {
        self.shared.id
    }

    /// What was started, in words.
    pub fn command(&self) -> &str {
        &self.shared.command
    }

    /// How it ended; `None` while it runs.
    pub fn exit(&self) -> Option<Exit> {
        self.shared.exit.borrow().map(|(exit, _)| exit)
    }

    /// What it wrote since a mark; 0 is the beginning.
    pub fn read(&self, mark: u64) -> Reading {
        let output = lock(&self.shared.output);
        let (bytes, gap) = output.since(mark);
        Reading { bytes, gap, mark: output.total() }
    }

    /// Writes to its input.
    ///
    /// # Errors
    /// [`io::ErrorKind::BrokenPipe`] when it has no input, or does not read any more.
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

    /// Closes its input.
    pub async fn close_input(&self) {
        *self.shared.input.lock().await = None;
    }

    /// Ends it and everything it started, and waits for that.
    pub async fn stop(&self) -> Finished {
        self.shared.ask_to_end(End::Stopped);
        self.wait().await
    }

    /// Waits until nothing of it is left.
    pub async fn wait(&self) -> Finished {
        let mut exit = self.shared.exit.subscribe();
        let ended = exit.wait_for(Option::is_some).await.ok().and_then(|ended| *ended);
        let (exit, elapsed) = ended.unwrap_or((Exit::Unknown, self.shared.started.elapsed()));
        Finished {
            exit,
            end: *lock(&self.shared.end),
            output: lock(&self.shared.output).captured(),
            errors: lock(&self.shared.errors).captured(),
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
