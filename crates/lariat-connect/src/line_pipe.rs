//! Messages to and from a program: one JSON value per line, on its standard input and output. MCP servers and agents that
//! speak ACP use it.
//!
//! The program runs beneath a supervisor, so it ends with everything that it started. Memory stays bounded: a line has at
//! most [`MAX_MESSAGE`] bytes and the queue of outgoing messages at most [`QUEUE`] entries; a program that exceeds either
//! loses its connection.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lariat_host::process::{Process, Supervisor};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Maximum size of a message of a program, in bytes. A screenshot in base64 fits.
pub(crate) const MAX_MESSAGE: usize = 8 * 1024 * 1024;
/// Messages that may wait until the program reads them.
const QUEUE: usize = 256;
/// Bytes to read at once.
const CHUNK: usize = 64 * 1024;
/// How long a program may take to end after its input was closed.
const GRACE: Duration = Duration::from_secs(2);

/// The messages of one program. Start it with [`Input::Written`](lariat_host::process::Input::Written) and
/// [`Output::Piped`](lariat_host::process::Output::Piped).
pub struct LinePipe {
    process: Process,
    /// Keeps the program alive until the pipe is closed.
    supervisor: Supervisor,
    queue: mpsc::Sender<Vec<u8>>,
    writer: JoinHandle<()>,
    fault: LineFault,
    /// Bytes that are not yet a whole line.
    pending: Vec<u8>,
    /// How many of them are known to contain no line break.
    scanned: usize,
    chunk: Vec<u8>,
}

/// Why a pipe ended, if the program did not simply end.
#[derive(Clone, Debug, Default)]
pub struct LineFault(Arc<Mutex<Option<String>>>);

impl LineFault {
    fn set(&self, reason: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason);
    }

    /// The reason; `None` if the program broke no rule.
    pub fn reason(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl LinePipe {
    /// A pipe to a program that this supervisor has started.
    pub fn new(process: Process, supervisor: Supervisor) -> Self {
        let (queue, mut waiting) = mpsc::channel::<Vec<u8>>(QUEUE);
        let input = process.clone();
        let writer = tokio::spawn(async move {
            while let Some(message) = waiting.recv().await {
                if input.write(&message).await.is_err() {
                    return;
                }
            }
        });
        Self {
            process,
            supervisor,
            queue,
            writer,
            fault: LineFault::default(),
            pending: Vec::new(),
            scanned: 0,
            chunk: vec![0; CHUNK],
        }
    }

    /// Why the pipe ended, once it did.
    pub fn fault(&self) -> LineFault {
        self.fault.clone()
    }

    /// Removes the first whole line from the pending bytes.
    fn take_line(&mut self) -> Option<Vec<u8>> {
        let fresh = self.pending.get(self.scanned..).unwrap_or_default();
        let Some(end) = fresh.iter().position(|byte| *byte == b'\n') else {
            self.scanned = self.pending.len();
            return None;
        };
        let rest = self.pending.split_off(self.scanned + end + 1);
        let line = std::mem::replace(&mut self.pending, rest);
        self.scanned = 0;
        Some(line)
    }

    /// Queues a message. Does not wait.
    ///
    /// # Errors
    /// If the program does not read its input, or has ended.
    pub fn send(&mut self, mut message: Vec<u8>) -> io::Result<()> {
        message.push(b'\n');
        self.queue.try_send(message).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => {
                self.fault.set(format!("it does not read its input: {QUEUE} messages wait"));
                io::Error::other("it does not read its input")
            }
            mpsc::error::TrySendError::Closed(_) => io::ErrorKind::BrokenPipe.into(),
        })
    }

    /// Waits for the next line that is not empty; `None` after the end. Dropping the future loses nothing.
    pub async fn receive(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some(line) = self.take_line() {
                if line.iter().all(u8::is_ascii_whitespace) {
                    continue;
                }
                return Some(line);
            }
            if self.pending.len() > MAX_MESSAGE {
                self.fault.set(format!("it sent a message of more than {} MiB", MAX_MESSAGE >> 20));
                return None;
            }
            if self.fault.reason().is_some() {
                return None;
            }
            let read = self.process.read_output(&mut self.chunk).await.ok()?;
            if read == 0 {
                return None;
            }
            self.pending.extend_from_slice(self.chunk.get(..read).unwrap_or_default());
        }
    }

    /// Closes the input of the program, gives it a moment to end, and ends what still runs.
    pub async fn close(&mut self) {
        self.pending = Vec::new();
        // A write to a program that does not read would keep the input open.
        self.writer.abort();
        self.process.close_input().await;
        // A program that broke the rules gets no time; nor does one that keeps running.
        let is_faulty = self.fault.reason().is_some();
        if is_faulty || tokio::time::timeout(GRACE, self.process.wait()).await.is_err() {
            self.process.stop().await;
        }
        self.supervisor.forget(self.process.id());
    }
}

/// Ends the program of a pipe that was dropped without being closed, for example when its start was cancelled.
impl Drop for LinePipe {
    fn drop(&mut self) {
        self.writer.abort();
        if self.process.exit().is_none()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let (process, supervisor) = (self.process.clone(), self.supervisor.clone());
            runtime.spawn(async move {
                process.stop().await;
                supervisor.forget(process.id());
            });
        }
    }
}
