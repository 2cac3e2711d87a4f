//! The one thread that writes, and its queue.
//!
//! Owns the writing connection and the life of a transaction: what waits in the queue is done in one transaction (group
//! commit), and nobody is answered before it is committed. A connection that failed is abandoned, and the next
//! transaction begins with a new one and with nothing in mind: what is in the file is what counts.
//! The queue holds [`QUEUE`] pieces of work; whoever brings more waits for a place.
//! Invariant: an answer other than an error follows a commit at the stated level in the file that is at the path.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;

use lariat_core::store::{Durability, StoreError};
use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::database::{Home, Missing, Readers, abandon};
use super::desk::{Desk, Memory};
use super::fault::{Fault, is_busy, is_io};
use super::settle::Then;
use super::sync::WalSync;
use super::watch::Watchers;
use crate::StoreOptions;
use crate::files;

/// Pieces of work that may wait.
const QUEUE: usize = 1024;

/// Pieces of work in one transaction.
const GROUP: usize = 512;

/// Bytes in one transaction, about: more would make those behind it wait.
const GROUP_BYTES: usize = 8 << 20;

/// Something to be done in a transaction, and answered after it.
trait Work: Send {
    /// Does it. May be called again when the transaction came to nothing.
    fn run(&mut self, desk: &mut Desk<'_>) -> Result<(), Fault>;
    /// Answers: with what it came to, or with why the transaction did not.
    fn answer(self: Box<Self>, committed: Result<(), StoreError>);
    /// About how many bytes it writes.
    fn bytes(&self) -> usize;
}

struct Task<T, F> {
    work: F,
    bytes: usize,
    outcome: Option<Result<T, StoreError>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
    _place: OwnedSemaphorePermit,
}

impl<T: Send, F: FnMut(&mut Desk<'_>) -> Result<T, Fault> + Send> Work for Task<T, F> {
    fn run(&mut self, desk: &mut Desk<'_>) -> Result<(), Fault> {
        self.outcome = Some(match (self.work)(desk) {
            Ok(done) => Ok(done),
            Err(Fault::Refused(error)) => Err(error),
            Err(failed) => return Err(failed),
        });
        Ok(())
    }

    fn answer(self: Box<Self>, committed: Result<(), StoreError>) {
        let Self { outcome, reply, .. } = *self;
        let lost = || Err(StoreError::Unavailable("it was not tried".to_owned()));
        let answer = committed.and_then(|()| outcome.unwrap_or_else(lost));
        // Whoever asked may have gone.
        let _ = reply.send(answer);
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}

/// The way to the writer. Dropping it ends the thread, after what is in the queue was done.
#[derive(Debug)]
pub(super) struct Writer {
    queue: Option<Sender<Box<dyn Work>>>,
    places: Arc<Semaphore>,
    thread: Option<JoinHandle<()>>,
}

impl std::fmt::Debug for dyn Work {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Work")
    }
}

impl Writer {
    /// Opens the database and starts the thread. Blocks.
    pub(super) fn start(
        home: Home,
        options: StoreOptions,
        readers: Option<Arc<Readers>>,
        watchers: Arc<Watchers>,
    ) -> Result<Self, StoreError> {
        let mut thread = Thread::new(home, options, readers, watchers);
        thread.open(Missing::Create)?;
        let (queue, work) = mpsc::channel();
        let started = std::thread::Builder::new().name("lariat-sqlite".to_owned());
        let started = started.spawn(move || thread.run(&work));
        let thread = started.map_err(|error| StoreError::Unavailable(error.to_string()))?;
        Ok(Self { queue: Some(queue), places: Arc::new(Semaphore::new(QUEUE)), thread: Some(thread) })
    }

    /// Does something in a transaction and waits for its commit. Dropping the future does not undo it.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl FnMut(&mut Desk<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        let ended = || StoreError::Unavailable("the writer has ended".to_owned());
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(|_| ended())?;
        let (reply, answer) = oneshot::channel();
        let task: Box<dyn Work> = Box::new(Task { work, bytes, outcome: None, reply, _place: place });
        self.queue.as_ref().ok_or_else(ended)?.send(task).map_err(|_| ended())?;
        answer.await.map_err(|_| ended())?
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // It panicked, or it has given everything back: there is nothing to do about the former.
            let _ = thread.join();
        }
    }
}

struct Thread {
    home: Home,
    options: StoreOptions,
    readers: Option<Arc<Readers>>,
    watchers: Arc<Watchers>,
    locks: Option<PathBuf>,
    connection: Option<Opened>,
    memory: Memory,
    /// Something committed may not be where the operating system said it is.
    in_doubt: bool,
}

struct Opened {
    connection: Connection,
    sync: Option<WalSync>,
    /// Which files these are.
    files: Vec<(PathBuf, files::Identity)>,
}

impl Thread {
    fn new(
        home: Home,
        options: StoreOptions,
        readers: Option<Arc<Readers>>,
        watchers: Arc<Watchers>,
    ) -> Self {
        let locks = home.beside(".locks");
        let (connection, memory) = (None, Memory::default());
        Self { home, options, readers, watchers, locks, connection, memory, in_doubt: false }
    }

    fn open(&mut self, missing: Missing) -> Result<(), StoreError> {
        if self.connection.is_some() {
            return Ok(());
        }
        if missing == Missing::Fail && matches!(self.home, Home::Memory) {
            return Err(StoreError::Unavailable(
                "a database in memory does not outlive a failure".to_owned(),
            ));
        }
        self.memory.forget();
        let connection = self.home.open(self.options.durability, missing)?;
        if self.in_doubt {
            rewrite(&connection)?;
            self.in_doubt = false;
        }
        let failed = |error: std::io::Error| StoreError::Unavailable(error.to_string());
        let mut files = Vec::new();
        if let Home::File(path) = &self.home {
            for path in [Some(path.clone()), self.home.beside("-wal")].into_iter().flatten() {
                let identity = files::identity(&path).map_err(failed)?;
                files.push((path, identity));
            }
        }
        let sync = match self.home.beside("-wal") {
            Some(wal) if self.options.durability == Durability::Batched => {
                Some(WalSync::open(&wal, self.options.batch_window).map_err(failed)?)
            }
            _ => None,
        };
        self.connection = Some(Opened { connection, sync, files });
        Ok(())
    }

    fn run(mut self, queue: &Receiver<Box<dyn Work>>) {
        loop {
            let first = match self.connection.as_ref().and_then(|opened| opened.sync.as_ref()?.due()) {
                Some(wait) => queue.recv_timeout(wait),
                None => queue.recv().map_err(RecvTimeoutError::from),
            };
            match first {
                Ok(first) => self.group(group(first, queue)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.sync(false);
        }
        self.close();
    }

    /// Does all of it in one transaction; or, when one piece spoils it for the others, each in its own.
    fn group(&mut self, mut works: Vec<Box<dyn Work>>) {
        match self.transact(&mut works) {
            Ok(()) => works.into_iter().for_each(|work| work.answer(Ok(()))),
            Err(Failure::OfOne(_)) if works.len() > 1 => {
                for work in works {
                    self.group(vec![work]);
                }
            }
            Err(Failure::OfOne(error) | Failure::OfAll(error)) => {
                works.into_iter().for_each(|work| work.answer(Err(error.clone())));
            }
        }
    }

    fn transact(&mut self, works: &mut [Box<dyn Work>]) -> Result<(), Failure> {
        self.open(Missing::Fail).map_err(Failure::OfAll)?;
        let Some(mut opened) = self.connection.take() else { return Ok(()) };
        match self.attempt(&mut opened, works) {
            Ok(grown) => {
                if let Some(sync) = &mut opened.sync {
                    sync.wrote();
                }
                self.connection = Some(opened);
                self.watchers.tell(grown);
                Ok(())
            }
            Err((failure, Trust::Kept)) => {
                self.memory.forget();
                self.connection = Some(opened);
                Err(failure)
            }
            Err((failure, trust)) => {
                self.memory.forget();
                self.in_doubt |= trust == Trust::LostWithFile;
                abandon(opened.connection);
                if let Some(readers) = &self.readers {
                    readers.renew();
                }
                Err(failure)
            }
        }
    }

    #[expect(clippy::type_complexity, reason = "what changed, or what failed and what that means")]
    fn attempt(
        &mut self,
        opened: &mut Opened,
        works: &mut [Box<dyn Work>],
    ) -> Result<Vec<(lariat_core::id::SessionId, Option<u64>)>, (Failure, Trust)> {
        let of_all = |fault: Fault| {
            let trust = trust(&fault);
            (Failure::OfAll(fault.into()), trust)
        };
        let begun = opened.connection.transaction_with_behavior(TransactionBehavior::Immediate);
        let transaction = begun.map_err(|error| of_all(error.into()))?;
        let mut desk = Desk::new(&transaction, &mut self.memory, self.locks.clone()).map_err(of_all)?;
        for work in works {
            work.run(&mut desk).map_err(|fault| {
                let trust = trust(&fault);
                (Failure::OfOne(fault.into()), trust)
            })?;
        }
        let outcome = desk.finish();
        // From here on it may have happened.
        let unclear = |what: String, trust| (Failure::OfAll(StoreError::Unavailable(what)), trust);
        transaction.commit().map_err(|error| {
            let trust = if is_io(&error) { Trust::LostWithFile } else { Trust::Lost };
            unclear(error.to_string(), trust)
        })?;
        for (path, identity) in &opened.files {
            if files::identity(path).ok().as_ref() != Some(identity) {
                let what = format!("{} was removed or replaced while it was open", path.display());
                return Err(unclear(what, Trust::Lost));
            }
        }
        Ok(self.memory.committed(outcome))
    }

    /// Syncs what is due, or everything.
    fn sync(&mut self, everything: bool) {
        let Some(sync) = self.connection.as_mut().and_then(|opened| opened.sync.as_mut()) else { return };
        if sync.sync(everything).is_ok() {
            return;
        }
        // What was acknowledged may not be on the disk: the next transaction first writes it there again.
        self.in_doubt = true;
        self.memory.forget();
        if let Some(opened) = self.connection.take() {
            abandon(opened.connection);
        }
    }

    fn close(mut self) {
        let mut settle: Vec<Box<dyn Work>> = Vec::new();
        let (reply, _answer) = oneshot::channel();
        let Ok(place) = Arc::new(Semaphore::new(1)).try_acquire_owned() else { return };
        let work = |desk: &mut Desk<'_>| desk.settle_all(Then::Forget).map(drop);
        settle.push(Box::new(Task { work, bytes: 0, outcome: None, reply, _place: place }));
        // A cache of what the journals say: when it cannot be written, it is made anew.
        let _ = self.transact(&mut settle);
        self.sync(true);
        if let Some(readers) = &self.readers {
            readers.renew();
        }
    }
}

fn group(first: Box<dyn Work>, queue: &Receiver<Box<dyn Work>>) -> Vec<Box<dyn Work>> {
    let mut bytes = first.bytes();
    let mut works = vec![first];
    while works.len() < GROUP && bytes < GROUP_BYTES {
        let Ok(work) = queue.try_recv() else { break };
        bytes += work.bytes();
        works.push(work);
    }
    works
}

/// Why a transaction came to nothing, as far as is known.
enum Failure {
    /// One piece of work spoilt it, and it was taken back: the others may do better without.
    OfOne(StoreError),
    /// None of them can do better, or it may have happened after all.
    OfAll(StoreError),
}

/// What a failure says about the connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trust {
    /// It is as good as before.
    Kept,
    /// It is replaced.
    Lost,
    /// It is replaced, and what is in the file is written again.
    LostWithFile,
}

fn trust(fault: &Fault) -> Trust {
    match fault {
        Fault::Failed(error) if is_busy(error) => Trust::Kept,
        Fault::Failed(error) if is_io(error) => Trust::LostWithFile,
        Fault::Refused(_) => Trust::Kept,
        Fault::Failed(_) => Trust::Lost,
    }
}

/// After a failed sync the operating system may have dropped what it could not write and call the file clean. Moving
/// the WAL into the database writes and syncs all of it by other pages.
fn rewrite(connection: &Connection) -> Result<(), Fault> {
    let busy: i64 = connection.query_row("PRAGMA wal_checkpoint(FULL)", [], |row| row.get(0))?;
    if busy != 0 {
        let what = "the database is being read or written elsewhere; what a failed sync left in doubt waits";
        return Err(Fault::Refused(StoreError::Unavailable(what.to_owned())));
    }
    Ok(())
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
