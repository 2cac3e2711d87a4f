//! Runs the one thread that writes.
//!
//! The thread owns the writing connection. It runs all tasks that wait in the queue in one transaction (group commit) and
//! answers them after the commit. If the queue is empty, a caller runs a small task that needs no sync on its own thread
//! ([`Thread::at_once`]), because waking the writer would take longer than the task. Everything that may take long stays
//! with the writer thread: waiting for other processes, moving the WAL into the database, opening, retrying.
//! After a failure, the thread abandons the connection. The next transaction opens a new one with an empty cache and
//! trusts only the file.
//! Invariant: a successful answer follows a commit at the stated level, in the file that is at the path.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lariat_core::store::{Durability, StoreError};
use rusqlite::Connection;

use super::database::{BUSY, Home, Missing, Readers, abandon};
use super::desk::{Desk, Grown, Memory, Outcome};
use super::fault::{Fault, is_busy, is_io};
use super::settle::Then;
use super::sync::{Due, WalSync};
use super::watch::Watchers;
use super::writer::{Task, Work};
use crate::StoreOptions;
use crate::files;

/// Maximum number of tasks in one transaction.
const GROUP: usize = 512;

/// Approximate maximum number of bytes in one transaction: more would delay the tasks behind it.
const GROUP_BYTES: usize = 8 << 20;

/// Maximum number of consecutive inline transactions. Then the thread runs one and may move the WAL into the database.
const UNATTENDED: u32 = 64;

/// Length of the WAL, in pages, at which a commit moves it into the database: SQLite's default.
const WAL_PAGES: u32 = 1_000;

/// The state of the writer thread, which callers share to run small tasks inline.
#[derive(Debug)]
pub(super) struct Thread {
    home: Home,
    options: StoreOptions,
    readers: Option<Arc<Readers>>,
    watchers: Arc<Watchers>,
    locks: Option<PathBuf>,
    connection: Option<Opened>,
    memory: Memory,
    /// Committed data may not be on disk, although the operating system reported success.
    in_doubt: bool,
    /// Inline transactions since the thread ran one.
    unattended: u32,
}

#[derive(Debug)]
struct Opened {
    connection: Connection,
    sync: Option<WalSync>,
    /// Identities of the database files, to detect replaced files.
    files: Vec<(PathBuf, files::Identity)>,
    /// Whether a commit may move the WAL into the database.
    moves: Moves,
}

/// What a commit does with a long WAL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moves {
    /// Moves it into the database, with syncs.
    Now,
    /// Leaves it to a later commit.
    Later,
}

/// Whether a transaction is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begun {
    Already,
    NotYet,
}

/// What remains to do after a task ran inline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// Nothing.
    Nothing,
    /// Wake the thread, so that it schedules a sync.
    Wake,
}

impl Thread {
    pub(super) fn new(
        home: Home,
        options: StoreOptions,
        readers: Option<Arc<Readers>>,
        watchers: Arc<Watchers>,
    ) -> Self {
        let locks = home.beside(".locks");
        let (connection, memory) = (None, Memory::default());
        Self { home, options, readers, watchers, locks, connection, memory, in_doubt: false, unattended: 0 }
    }

    pub(super) fn open(&mut self, missing: Missing) -> Result<(), StoreError> {
        if self.connection.is_some() {
            return Ok(());
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
        self.connection = Some(Opened { connection, sync, files, moves: Moves::Now });
        Ok(())
    }

    /// The thread's main loop: runs the tasks in the queue until all senders are gone.
    pub(super) fn run(shared: &Mutex<Self>, queue: &Receiver<Box<dyn Work>>) {
        loop {
            let due = locked(shared).due();
            let first = match due {
                Some(wait) => queue.recv_timeout(wait),
                None => queue.recv().map_err(RecvTimeoutError::from),
            };
            let mut thread = locked(shared);
            match first {
                Ok(first) => thread.group(group(first, queue)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            thread.sync(Due::Now);
        }
        locked(shared).close();
    }

    /// Returns the time until the next sync is due.
    fn due(&self) -> Option<Duration> {
        self.connection.as_ref()?.sync.as_ref()?.due()
    }

    /// Runs a task on the caller's thread if it does not have to wait. Returns the task otherwise.
    pub(super) fn at_once(&mut self, work: Box<dyn Work>) -> Result<After, Box<dyn Work>> {
        if self.options.durability == Durability::Durable || self.in_doubt || self.unattended >= UNATTENDED {
            return Err(work);
        }
        let Some(opened) = self.connection.as_mut() else { return Err(work) };
        let idle = opened.sync.as_ref().is_some_and(|sync| sync.due().is_none());
        if opened.moves(Moves::Later).is_err() || opened.begin(Duration::ZERO).is_err() {
            return Err(work);
        }
        self.unattended += 1;
        let mut works = vec![work];
        let done = self.transact(&mut works, Begun::Already);
        answer(works, done.map_err(Failure::error));
        Ok(if idle { After::Wake } else { After::Nothing })
    }

    /// Runs all tasks in one transaction. If one task fails the transaction, runs each task in its own.
    fn group(&mut self, mut works: Vec<Box<dyn Work>>) {
        self.unattended = 0;
        match self.transact(&mut works, Begun::NotYet) {
            Err(Failure::OfOne(_)) if works.len() > 1 => {
                for work in works {
                    self.group(vec![work]);
                }
            }
            done => answer(works, done.map_err(Failure::error)),
        }
    }

    fn transact(&mut self, works: &mut [Box<dyn Work>], begun: Begun) -> Result<(), Failure> {
        self.open(Missing::Fail).map_err(Failure::OfAll)?;
        let Some(mut opened) = self.connection.take() else { return Ok(()) };
        match self.attempt(&mut opened, works, begun) {
            Ok(grown) => {
                if let Some(sync) = &mut opened.sync {
                    sync.wrote();
                }
                self.connection = Some(opened);
                self.watchers.tell(grown);
                Ok(())
            }
            // A database in memory exists only on this connection. The rollback is enough.
            Err((failure, trust)) if trust == Trust::Kept || matches!(self.home, Home::Memory) => {
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

    /// Runs one transaction, including its commit. Returns the journals that changed.
    fn attempt(
        &mut self,
        opened: &mut Opened,
        works: &mut [Box<dyn Work>],
        begun: Begun,
    ) -> Result<Grown, (Failure, Trust)> {
        if begun == Begun::NotYet {
            opened.moves(Moves::Now)?;
            opened.begin(BUSY)?;
        }
        let done = self.perform(&opened.connection, works);
        let outcome = done.inspect_err(|_| opened.roll_back())?;
        // From here on, the commit may have happened.
        let unclear = |what: String, trust| (Failure::OfAll(StoreError::Unavailable(what)), trust);
        if let Err(error) = execute(&opened.connection, "COMMIT") {
            opened.roll_back();
            let trust = if is_io(&error) { Trust::LostWithFile } else { Trust::Lost };
            return Err(unclear(error.to_string(), trust));
        }
        for (path, identity) in &opened.files {
            if files::identity(path).ok().as_ref() != Some(identity) {
                let what = format!("{} was removed or replaced while the store was open", path.display());
                return Err(unclear(what, Trust::Lost));
            }
        }
        Ok(self.memory.committed(outcome))
    }

    fn perform(
        &mut self,
        connection: &Connection,
        works: &mut [Box<dyn Work>],
    ) -> Result<Outcome, (Failure, Trust)> {
        let mut desk = Desk::new(connection, &mut self.memory, self.locks.clone())
            .map_err(|fault| failed(fault, Failure::OfAll))?;
        for work in works {
            work.run(&mut desk).map_err(|fault| failed(fault, Failure::OfOne))?;
        }
        Ok(desk.finish())
    }

    /// Syncs what is due, or everything.
    fn sync(&mut self, due: Due) {
        let Some(sync) = self.connection.as_mut().and_then(|opened| opened.sync.as_mut()) else { return };
        if sync.sync(due).is_ok() {
            return;
        }
        // Acknowledged data may not be on disk: the next transaction first writes it again.
        self.in_doubt = true;
        self.memory.forget();
        if let Some(opened) = self.connection.take() {
            abandon(opened.connection);
        }
    }

    fn close(&mut self) {
        let (settle, _) = Task::new(|desk: &mut Desk<'_>| desk.settle_all(Then::Forget).map(drop));
        // Summaries are derived from the journals: if they cannot be written now, they are folded later.
        let _ = self.transact(&mut [Box::new(settle) as Box<dyn Work>], Begun::NotYet);
        self.sync(Due::Ever);
        if let Some(readers) = &self.readers {
            readers.renew();
        }
    }
}

impl Opened {
    /// Sets what later commits do with a long WAL.
    fn moves(&mut self, moves: Moves) -> Result<(), (Failure, Trust)> {
        if self.moves != moves {
            let pages = if moves == Moves::Now { WAL_PAGES } else { 0 };
            let set = self.connection.pragma_update_and_check(None, "wal_autocheckpoint", pages, |_| Ok(()));
            set.map_err(|error| failed(error.into(), Failure::OfAll))?;
            self.moves = moves;
        }
        Ok(())
    }

    /// Begins a write transaction. Waits up to `patience` for other processes, but still syncs on time.
    fn begin(&mut self, patience: Duration) -> Result<(), (Failure, Trust)> {
        let mut left = patience;
        loop {
            let due = self.sync.as_ref().and_then(WalSync::due);
            let wait = due.map_or(left, |due| due.min(left));
            let begun = self
                .connection
                .busy_timeout(wait)
                .and_then(|()| execute(&self.connection, "BEGIN IMMEDIATE"));
            left = left.saturating_sub(wait);
            match begun {
                Err(error) if is_busy(&error) && due.is_some() && !left.is_zero() => {}
                other => return other.map_err(|error| failed(error.into(), Failure::OfAll)),
            }
            if let Some(Err(error)) = self.sync.as_mut().map(|sync| sync.sync(Due::Now)) {
                let error = StoreError::Unavailable(error.to_string());
                return Err((Failure::OfAll(error), Trust::LostWithFile));
            }
        }
    }

    /// Rolls back, unless SQLite already did so after a failure.
    fn roll_back(&self) {
        if !self.connection.is_autocommit() {
            let _ = execute(&self.connection, "ROLLBACK");
        }
    }
}

fn execute(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}

fn failed(fault: Fault, failure: impl FnOnce(StoreError) -> Failure) -> (Failure, Trust) {
    let trust = trust(&fault);
    (failure(fault.into()), trust)
}

fn answer(works: Vec<Box<dyn Work>>, done: Result<(), StoreError>) {
    works.into_iter().for_each(|work| work.answer(done.clone()));
}

/// Locks the state. A panic elsewhere left it without a connection: the next task opens one with an empty cache.
fn locked(shared: &Mutex<Thread>) -> MutexGuard<'_, Thread> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
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

/// Why a transaction failed, as far as is known.
enum Failure {
    /// One task failed and the transaction was rolled back: the other tasks may succeed without it.
    OfOne(StoreError),
    /// No task can succeed, or the commit may have happened after all.
    OfAll(StoreError),
}

impl Failure {
    fn error(self) -> StoreError {
        match self {
            Self::OfOne(error) | Self::OfAll(error) => error,
        }
    }
}

/// What a failure says about the connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trust {
    /// It is still usable.
    Kept,
    /// Replace it.
    Lost,
    /// Replace it, and write the content of the WAL again.
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

/// After a failed sync, the operating system may have dropped the data and marked the pages as clean. Moving the WAL into
/// the database writes and syncs all of it to other pages.
fn rewrite(connection: &Connection) -> Result<(), Fault> {
    let busy: i64 = connection.query_row("PRAGMA wal_checkpoint(FULL)", [], |row| row.get(0))?;
    if busy != 0 {
        let what = "the database is in use elsewhere; cannot recover from a failed sync yet";
        return Err(Fault::Refused(StoreError::Unavailable(what.to_owned())));
    }
    Ok(())
}

#[cfg(test)]
#[path = "thread_tests.rs"]
mod tests;
