//! Queues tasks for the writer thread.
//!
//! A task runs in a transaction, on the writer thread or, if the queue is empty, on the caller's. The queue has room for
//! [`QUEUE`] tasks; further callers wait. Invariant: every task is answered once, after its transaction ended.

use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use lariat_core::store::StoreError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::database::{DatabaseLocation, IfMissing, ReaderPool};
use super::fault::SqliteFault;
use super::thread::{FollowUp, WriterThread};
use super::transaction::WriteTransaction;
use super::watch::Watchers;
use crate::StoreOptions;

/// Maximum number of queued tasks.
const QUEUE: usize = 1024;

/// Largest write that runs on the caller's thread: for larger ones, waking the thread costs little in comparison.
const INLINE_BYTES: usize = 64 << 10;

/// A task that runs in a transaction and is answered after it.
pub(super) trait WriteTask: Send {
    /// Runs the task. Called again if the transaction was rolled back.
    fn run(&mut self, transaction: &mut WriteTransaction<'_>) -> Result<(), SqliteFault>;
    /// Sends the result of the task, or the error of the transaction.
    fn answer(self: Box<Self>, committed: Result<(), StoreError>);
    /// Approximate number of bytes that the task writes.
    fn bytes(&self) -> usize;
}

pub(super) struct PendingWrite<T, F> {
    work: F,
    bytes: usize,
    outcome: Option<Result<T, StoreError>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
    /// Room in the queue, released with the answer.
    _permit: Option<OwnedSemaphorePermit>,
}

impl<T, F> PendingWrite<T, F> {
    /// Creates a task that takes no room in the queue, and the receiver of its answer.
    pub(super) fn new(work: F) -> (Self, oneshot::Receiver<Result<T, StoreError>>) {
        let (reply, answer) = oneshot::channel();
        (Self { work, bytes: 0, outcome: None, reply, _permit: None }, answer)
    }
}

impl<T: Send, F: FnMut(&mut WriteTransaction<'_>) -> Result<T, SqliteFault> + Send> WriteTask
    for PendingWrite<T, F>
{
    fn run(&mut self, transaction: &mut WriteTransaction<'_>) -> Result<(), SqliteFault> {
        self.outcome = Some(match (self.work)(transaction) {
            Ok(done) => Ok(done),
            Err(SqliteFault::Refused(error)) => Err(error),
            Err(failed) => return Err(failed),
        });
        Ok(())
    }

    fn answer(self: Box<Self>, committed: Result<(), StoreError>) {
        let Self { outcome, reply, .. } = *self;
        let lost = || Err(StoreError::Unavailable("the task did not run".to_owned()));
        let answer = committed.and_then(|()| outcome.unwrap_or_else(lost));
        // The caller may have stopped waiting.
        let _ = reply.send(answer);
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}

/// A handle to the writer thread. Dropping it ends the thread after the queued tasks.
#[derive(Debug)]
pub(super) struct WriterHandle {
    queue: Option<Sender<Box<dyn WriteTask>>>,
    permits: Arc<Semaphore>,
    shared: Arc<Mutex<WriterThread>>,
    thread: Option<JoinHandle<()>>,
}

impl std::fmt::Debug for dyn WriteTask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WriteTask")
    }
}

impl WriterHandle {
    /// Opens the database and starts the thread. Blocks.
    pub(super) fn start(
        location: DatabaseLocation,
        options: StoreOptions,
        readers: Option<Arc<ReaderPool>>,
        watchers: Arc<Watchers>,
    ) -> Result<Self, StoreError> {
        let mut thread = WriterThread::new(location, options, readers, watchers);
        thread.open(IfMissing::Create)?;
        let shared = Arc::new(Mutex::new(thread));
        let (queue, work) = mpsc::channel();
        let started = std::thread::Builder::new().name("lariat-sqlite".to_owned());
        let theirs = Arc::clone(&shared);
        let started = started.spawn(move || WriterThread::run(&theirs, &work));
        let thread = started.map_err(|error| StoreError::Unavailable(error.to_string()))?;
        Ok(Self {
            queue: Some(queue),
            permits: Arc::new(Semaphore::new(QUEUE)),
            shared,
            thread: Some(thread),
        })
    }

    /// Runs `work` in a transaction and waits for its commit. Dropping the future does not cancel it.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl FnMut(&mut WriteTransaction<'_>) -> Result<T, SqliteFault> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.write_by(bytes, work, Err).await
    }

    /// As [`WriterHandle::write`], for short work: runs it on the caller's thread if no other task is waiting or running.
    pub(super) async fn write_short<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl FnMut(&mut WriteTransaction<'_>) -> Result<T, SqliteFault> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.write_by(bytes, work, |task| self.run_inline(task)).await
    }

    async fn write_by<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl FnMut(&mut WriteTransaction<'_>) -> Result<T, SqliteFault> + Send + 'static,
        run_inline: impl FnOnce(Box<dyn WriteTask>) -> Result<(), Box<dyn WriteTask>>,
    ) -> Result<T, StoreError> {
        let permit = Arc::clone(&self.permits).acquire_owned().await.map_err(|_| writer_ended())?;
        let (task, answer) = PendingWrite::new(work);
        let task = PendingWrite { bytes, _permit: Some(permit), ..task };
        if let Err(task) = run_inline(Box::new(task)) {
            self.send(task)?;
        }
        answer.await.map_err(|_| writer_ended())?
    }

    fn send(&self, task: Box<dyn WriteTask>) -> Result<(), StoreError> {
        self.queue.as_ref().ok_or_else(writer_ended)?.send(task).map_err(|_| writer_ended())
    }

    /// Runs a small task on this thread if it is the only one and no transaction is running.
    fn run_inline(&self, task: Box<dyn WriteTask>) -> Result<(), Box<dyn WriteTask>> {
        let alone = self.permits.available_permits() + 1 == QUEUE;
        if !alone || task.bytes() > INLINE_BYTES {
            return Err(task);
        }
        let Ok(mut thread) = self.shared.try_lock() else { return Err(task) };
        let after = thread.run_inline(task)?;
        drop(thread);
        if after == FollowUp::WakeThread {
            let (nothing, _) = PendingWrite::new(|_: &mut WriteTransaction<'_>| Ok(()));
            // Sending fails only if the thread ended, and then this code would not run.
            let _ = self.send(Box::new(nothing));
        }
        Ok(())
    }
}

fn writer_ended() -> StoreError {
    StoreError::Unavailable("the writer thread ended".to_owned())
}

impl Drop for WriterHandle {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // Joining fails if the thread panicked. Nothing can be done about that here.
            let _ = thread.join();
        }
    }
}
