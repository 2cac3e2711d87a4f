//! The one thread that writes.
//!
//! Owns the writing connection and the life of a transaction: what waits in the queue is done in one transaction (group
//! commit), and nobody is answered before it is committed. A small piece of work that nothing is before, and that needs
//! no sync, is done by whoever brings it ([`Thread::at_once`]): waking the thread would take longer than the work. What
//! may take long stays with the thread: waiting for other processes, moving the WAL into the database, opening, repeating.
//! A connection that failed is abandoned, and the next
//! transaction begins with a new one and with nothing in mind: what is in the file is what counts.
//! Invariant: an answer other than an error follows a commit at the stated level in the file that is at the path.

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

/// Pieces of work in one transaction.
const GROUP: usize = 512;

/// Bytes in one transaction, about: more would make those behind it wait.
const GROUP_BYTES: usize = 8 << 20;

/// Transactions in a row that are done at once, before the thread gets one and may move the WAL into the database.
const UNATTENDED: u32 = 64;

/// Pages in the WAL from which on they are moved into the database: SQLite's own default.
const WAL_PAGES: u32 = 1_000;

/// The thread's own.
#[derive(Debug)]
pub(super) struct Thread {
    home: Home,
    options: StoreOptions,
    readers: Option<Arc<Readers>>,
    watchers: Arc<Watchers>,
    locks: Option<PathBuf>,
    connection: Option<Opened>,
    memory: Memory,
    /// Something committed may not be where the operating system said it is.
    in_doubt: bool,
    /// Transactions that were done at once since the thread did one.
    unattended: u32,
}

#[derive(Debug)]
struct Opened {
    connection: Connection,
    sync: Option<WalSync>,
    /// Which files these are.
    files: Vec<(PathBuf, files::Identity)>,
    /// Whether a commit may move the WAL into the database.
    moves: Moves,
}

/// What a commit does with a WAL that has become long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moves {
    /// Moves it into the database, with syncs.
    Now,
    /// Leaves it to a later one.
    Later,
}

/// Whether a transaction was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begun {
    Already,
    NotYet,
}

/// What is left to do after a piece of work was done at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// Nothing.
    Nothing,
    /// The thread has to know that there is something to sync.
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

    /// The thread: does what is in the queue until nobody can bring more.
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

    /// How long until a sync is due.
    fn due(&self) -> Option<Duration> {
        self.connection.as_ref()?.sync.as_ref()?.due()
    }

    /// Does a piece of work on the caller's own thread, if that takes no wait; gives it back otherwise.
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

    /// Does all of it in one transaction; or, when one piece spoils it for the others, each in its own.
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
            // A database in memory has no other connection to go on with; it was rolled back, and that is all.
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

    /// A transaction from its beginning to its commit. The journals that changed.
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
        // From here on it may have happened.
        let unclear = |what: String, trust| (Failure::OfAll(StoreError::Unavailable(what)), trust);
        if let Err(error) = execute(&opened.connection, "COMMIT") {
            opened.roll_back();
            let trust = if is_io(&error) { Trust::LostWithFile } else { Trust::Lost };
            return Err(unclear(error.to_string(), trust));
        }
        for (path, identity) in &opened.files {
            if files::identity(path).ok().as_ref() != Some(identity) {
                let what = format!("{} was removed or replaced while it was open", path.display());
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
        // What was acknowledged may not be on the disk: the next transaction first writes it there again.
        self.in_doubt = true;
        self.memory.forget();
        if let Some(opened) = self.connection.take() {
            abandon(opened.connection);
        }
    }

    fn close(&mut self) {
        let (settle, _) = Task::new(|desk: &mut Desk<'_>| desk.settle_all(Then::Forget).map(drop));
        // A cache of what the journals say: when it cannot be written, it is made anew.
        let _ = self.transact(&mut [Box::new(settle) as Box<dyn Work>], Begun::NotYet);
        self.sync(Due::Ever);
        if let Some(readers) = &self.readers {
            readers.renew();
        }
    }
}

impl Opened {
    /// Says what commits do with a long WAL from now on.
    fn moves(&mut self, moves: Moves) -> Result<(), (Failure, Trust)> {
        if self.moves != moves {
            let pages = if moves == Moves::Now { WAL_PAGES } else { 0 };
            let set = self.connection.pragma_update_and_check(None, "wal_autocheckpoint", pages, |_| Ok(()));
            set.map_err(|error| failed(error.into(), Failure::OfAll))?;
            self.moves = moves;
        }
        Ok(())
    }

    /// Begins a transaction that writes. Waits for other processes so long, but no sync waits with it.
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

    /// After some failures SQLite has done it already.
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

/// A panic elsewhere left a connection that was taken out: it is opened again, with nothing in mind.
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

/// Why a transaction came to nothing, as far as is known.
enum Failure {
    /// One piece of work spoilt it, and it was taken back: the others may do better without.
    OfOne(StoreError),
    /// None of them can do better, or it may have happened after all.
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
#[path = "thread_tests.rs"]
mod tests;
