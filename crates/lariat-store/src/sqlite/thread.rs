//! Runs the one thread that writes.
//!
//! The thread owns the writing connection. It runs all tasks that wait in the queue in one transaction (group commit)
//! and answers them after the commit. If the queue is empty, a caller runs a small task that needs no sync on its own
//! thread ([`WriterThread::run_inline`]), because waking the writer would take longer than the task. Everything that
//! may take long stays with the writer thread: waiting for other processes, moving the WAL into the database, opening,
//! retrying. After a failure, the thread abandons the connection. The next transaction opens a new one with an empty
//! cache and trusts only the file.
//! Invariant: a successful answer follows a commit at the stated level, in the file that is at the path.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lariat_core::store::{Durability, StoreError};
use rusqlite::Connection;

use super::database::{BUSY, DatabaseLocation, IfMissing, ReaderPool, abandon};
use super::fault::{SqliteFault, is_busy, is_io};
use super::file_identity::FileIdentity;
use super::settle::SettleMode;
use super::sync::{SyncScope, WalSync};
use super::transaction::{JournalChanges, TransactionEffects, WriteTransaction, WriterCache};
use super::watch::Watchers;
use super::writer::{PendingWrite, WriteTask};
use crate::StoreOptions;
use crate::files;

/// Maximum number of tasks in one transaction.
const GROUP: usize = 512;

/// Approximate maximum number of bytes in one transaction: more would delay the tasks behind it.
const GROUP_BYTES: usize = 8 << 20;

/// Maximum number of consecutive inline transactions. Then the thread runs one and may move the WAL into the database.
const MAX_INLINE: u32 = 64;

/// Length of the WAL, in pages, at which a commit moves it into the database: SQLite's default.
const WAL_PAGES: u32 = 1_000;

/// The state of the writer thread, which callers share to run small tasks inline.
#[derive(Debug)]
pub(super) struct WriterThread {
    location: DatabaseLocation,
    options: StoreOptions,
    readers: Option<Arc<ReaderPool>>,
    watchers: Arc<Watchers>,
    locks: Option<PathBuf>,
    connection: Option<WriterConnection>,
    cache: WriterCache,
    /// Committed data may not be on disk, although the operating system reported success.
    in_doubt: bool,
    /// Inline transactions since the thread ran one.
    inline_count: u32,
}

#[derive(Debug)]
struct WriterConnection {
    connection: Connection,
    sync: Option<WalSync>,
    /// Identities of the database files, to detect replaced files.
    files: Vec<(PathBuf, FileIdentity)>,
    /// Whether a commit may move the WAL into the database.
    wal_checkpoint: WalCheckpoint,
}

/// What a commit does with a long WAL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WalCheckpoint {
    /// WalCheckpoint it into the database, with syncs.
    Allowed,
    /// Leaves it to a later commit.
    Deferred,
}

/// Whether a transaction is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TransactionState {
    Open,
    NotBegun,
}

/// What remains to do after a task ran inline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FollowUp {
    /// Nothing.
    None,
    /// Wake the thread, so that it schedules a sync.
    WakeThread,
}

impl WriterThread {
    pub(super) fn new(
        location: DatabaseLocation,
        options: StoreOptions,
        readers: Option<Arc<ReaderPool>>,
        watchers: Arc<Watchers>,
    ) -> Self {
        let locks = location.sibling(".locks");
        let (connection, cache) = (None, WriterCache::default());
        Self {
            location,
            options,
            readers,
            watchers,
            locks,
            connection,
            cache,
            in_doubt: false,
            inline_count: 0,
        }
    }

    pub(super) fn open(&mut self, missing: IfMissing) -> Result<(), StoreError> {
        if self.connection.is_some() {
            return Ok(());
        }
        self.cache.forget();
        let connection = self.location.open(self.options.durability, missing)?;
        // A process that ended after a failed sync may have left such data too.
        if let Some(wal) = self.location.sibling("-wal") {
            rewrite_wal(&connection, &wal)?;
        }
        self.in_doubt = false;
        let failed = |error: std::io::Error| StoreError::Unavailable(error.to_string());
        let mut files = Vec::new();
        if let DatabaseLocation::File(path) = &self.location {
            for path in [Some(path.clone()), self.location.sibling("-wal")].into_iter().flatten() {
                let identity = FileIdentity::of(&path).map_err(failed)?;
                files.push((path, identity));
            }
        }
        let sync = match self.location.sibling("-wal") {
            Some(wal) if self.options.durability == Durability::Batched => {
                Some(WalSync::open(&wal, self.options.batch_window).map_err(failed)?)
            }
            _ => None,
        };
        self.connection =
            Some(WriterConnection { connection, sync, files, wal_checkpoint: WalCheckpoint::Allowed });
        Ok(())
    }

    /// The thread's main loop: runs the tasks in the queue until all senders are gone.
    pub(super) fn run(shared: &Mutex<Self>, queue: &Receiver<Box<dyn WriteTask>>) {
        loop {
            let due = lock_unpoisoned(shared).due();
            let first = match due {
                Some(wait) => queue.recv_timeout(wait),
                None => queue.recv().map_err(RecvTimeoutError::from),
            };
            let mut thread = lock_unpoisoned(shared);
            match first {
                Ok(first) => thread.group(group(first, queue)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            thread.sync(SyncScope::Due);
        }
        lock_unpoisoned(shared).close();
    }

    /// Returns the time until the next sync is due.
    fn due(&self) -> Option<Duration> {
        self.connection.as_ref()?.sync.as_ref()?.due()
    }

    /// Runs a task on the caller's thread if it does not have to wait. Returns the task otherwise.
    pub(super) fn run_inline(&mut self, work: Box<dyn WriteTask>) -> Result<FollowUp, Box<dyn WriteTask>> {
        if self.options.durability == Durability::Durable || self.in_doubt || self.inline_count >= MAX_INLINE
        {
            return Err(work);
        }
        let Some(opened) = self.connection.as_mut() else { return Err(work) };
        let idle = opened.sync.as_ref().is_some_and(|sync| sync.due().is_none());
        if opened.set_wal_checkpoint(WalCheckpoint::Deferred).is_err()
            || opened.begin(Duration::ZERO).is_err()
        {
            return Err(work);
        }
        self.inline_count += 1;
        let mut tasks = vec![work];
        let done = self.transact(&mut tasks, TransactionState::Open);
        answer(tasks, done.map_err(TransactionFailure::error));
        Ok(if idle { FollowUp::WakeThread } else { FollowUp::None })
    }

    /// Runs all tasks in one transaction. If one task fails the transaction, runs each task in its own.
    fn group(&mut self, mut tasks: Vec<Box<dyn WriteTask>>) {
        self.inline_count = 0;
        match self.transact(&mut tasks, TransactionState::NotBegun) {
            Err(TransactionFailure::OneTask(_)) if tasks.len() > 1 => {
                for work in tasks {
                    self.group(vec![work]);
                }
            }
            done => answer(tasks, done.map_err(TransactionFailure::error)),
        }
    }

    fn transact(
        &mut self,
        tasks: &mut [Box<dyn WriteTask>],
        begun: TransactionState,
    ) -> Result<(), TransactionFailure> {
        self.open(IfMissing::Fail).map_err(TransactionFailure::AllTasks)?;
        let Some(mut opened) = self.connection.take() else { return Ok(()) };
        match self.attempt(&mut opened, tasks, begun) {
            Ok(changes) => {
                if let Some(sync) = &mut opened.sync {
                    sync.wrote();
                }
                self.connection = Some(opened);
                self.watchers.notify(changes);
                Ok(())
            }
            // A database in memory exists only on this connection. The rollback is enough.
            Err((failure, trust))
                if trust == ConnectionTrust::Kept || matches!(self.location, DatabaseLocation::Memory) =>
            {
                self.cache.forget();
                self.connection = Some(opened);
                Err(failure)
            }
            Err((failure, trust)) => {
                self.cache.forget();
                self.in_doubt |= trust == ConnectionTrust::LostWithFile;
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
        opened: &mut WriterConnection,
        tasks: &mut [Box<dyn WriteTask>],
        begun: TransactionState,
    ) -> Result<JournalChanges, (TransactionFailure, ConnectionTrust)> {
        if begun == TransactionState::NotBegun {
            opened.set_wal_checkpoint(WalCheckpoint::Allowed)?;
            opened.begin(BUSY)?;
        }
        let done = self.perform(&opened.connection, tasks);
        let outcome = done.inspect_err(|_| opened.roll_back())?;
        // From here on, the commit may have happened.
        let unclear =
            |what: String, trust| (TransactionFailure::AllTasks(StoreError::Unavailable(what)), trust);
        if let Err(error) = execute(&opened.connection, "COMMIT") {
            opened.roll_back();
            let trust = if is_io(&error) { ConnectionTrust::LostWithFile } else { ConnectionTrust::Lost };
            return Err(unclear(error.to_string(), trust));
        }
        for (path, identity) in &opened.files {
            if FileIdentity::of(path).ok().as_ref() != Some(identity) {
                let what = format!("{} was removed or replaced while the store was open", path.display());
                return Err(unclear(what, ConnectionTrust::Lost));
            }
        }
        Ok(self.cache.apply_committed(outcome))
    }

    fn perform(
        &mut self,
        connection: &Connection,
        tasks: &mut [Box<dyn WriteTask>],
    ) -> Result<TransactionEffects, (TransactionFailure, ConnectionTrust)> {
        let mut transaction = WriteTransaction::new(connection, &mut self.cache, self.locks.clone())
            .map_err(|fault| failed(fault, TransactionFailure::AllTasks))?;
        for work in tasks {
            work.run(&mut transaction).map_err(|fault| failed(fault, TransactionFailure::OneTask))?;
        }
        Ok(transaction.finish())
    }

    /// Syncs what is due, or everything.
    fn sync(&mut self, due: SyncScope) {
        let Some(sync) = self.connection.as_mut().and_then(|opened| opened.sync.as_mut()) else { return };
        if sync.sync(due).is_ok() {
            return;
        }
        // Acknowledged data may not be on disk: the next transaction first writes it again.
        self.in_doubt = true;
        self.cache.forget();
        if let Some(opened) = self.connection.take() {
            abandon(opened.connection);
        }
    }

    fn close(&mut self) {
        let (settle, _) = PendingWrite::new(|transaction: &mut WriteTransaction<'_>| {
            transaction.settle_all(SettleMode::Close).map(drop)
        });
        // Summaries are derived from the journals: if they cannot be written now, they are folded later.
        let _ = self.transact(&mut [Box::new(settle) as Box<dyn WriteTask>], TransactionState::NotBegun);
        self.sync(SyncScope::All);
        if let Some(readers) = &self.readers {
            readers.renew();
        }
    }
}

impl WriterConnection {
    /// Sets what later commits do with a long WAL.
    fn set_wal_checkpoint(
        &mut self,
        wal_checkpoint: WalCheckpoint,
    ) -> Result<(), (TransactionFailure, ConnectionTrust)> {
        if self.wal_checkpoint != wal_checkpoint {
            let pages = if wal_checkpoint == WalCheckpoint::Allowed { WAL_PAGES } else { 0 };
            let set = self.connection.pragma_update_and_check(None, "wal_autocheckpoint", pages, |_| Ok(()));
            set.map_err(|error| failed(error.into(), TransactionFailure::AllTasks))?;
            self.wal_checkpoint = wal_checkpoint;
        }
        Ok(())
    }

    /// Begins a write transaction. Waits up to `patience` for other processes, but still syncs on time.
    fn begin(&mut self, patience: Duration) -> Result<(), (TransactionFailure, ConnectionTrust)> {
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
                other => return other.map_err(|error| failed(error.into(), TransactionFailure::AllTasks)),
            }
            if let Some(Err(error)) = self.sync.as_mut().map(|sync| sync.sync(SyncScope::Due)) {
                let error = StoreError::Unavailable(error.to_string());
                return Err((TransactionFailure::AllTasks(error), ConnectionTrust::LostWithFile));
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

fn failed(
    fault: SqliteFault,
    failure: impl FnOnce(StoreError) -> TransactionFailure,
) -> (TransactionFailure, ConnectionTrust) {
    let trust = trust_after(&fault);
    (failure(fault.into()), trust)
}

fn answer(tasks: Vec<Box<dyn WriteTask>>, done: Result<(), StoreError>) {
    tasks.into_iter().for_each(|work| work.answer(done.clone()));
}

/// Locks the state. A panic elsewhere left it without a connection: the next task opens one with an empty cache.
fn lock_unpoisoned(shared: &Mutex<WriterThread>) -> MutexGuard<'_, WriterThread> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn group(first: Box<dyn WriteTask>, queue: &Receiver<Box<dyn WriteTask>>) -> Vec<Box<dyn WriteTask>> {
    let mut bytes = first.bytes();
    let mut tasks = vec![first];
    while tasks.len() < GROUP && bytes < GROUP_BYTES {
        let Ok(work) = queue.try_recv() else { break };
        bytes += work.bytes();
        tasks.push(work);
    }
    tasks
}

/// Why a transaction failed, as far as is known.
enum TransactionFailure {
    /// One task failed and the transaction was rolled back: the other tasks may succeed without it.
    OneTask(StoreError),
    /// No task can succeed, or the commit may have happened after all.
    AllTasks(StoreError),
}

impl TransactionFailure {
    fn error(self) -> StoreError {
        match self {
            Self::OneTask(error) | Self::AllTasks(error) => error,
        }
    }
}

/// What a failure says about the connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ConnectionTrust {
    /// It is still usable.
    Kept,
    /// Replace it.
    Lost,
    /// Replace it, and write the content of the WAL again.
    LostWithFile,
}

fn trust_after(fault: &SqliteFault) -> ConnectionTrust {
    match fault {
        SqliteFault::Failed(error) if is_busy(error) => ConnectionTrust::Kept,
        SqliteFault::Failed(error) if is_io(error) => ConnectionTrust::LostWithFile,
        SqliteFault::Refused(_) => ConnectionTrust::Kept,
        SqliteFault::Failed(_) => ConnectionTrust::Lost,
    }
}

/// Writes the bytes of the WAL again and syncs them. After a failed sync, the operating system may have dropped them and marked
/// the pages as clean: readers still see them, and a second sync succeeds without writing them.
fn rewrite_wal(connection: &Connection, wal: &Path) -> Result<(), SqliteFault> {
    let failed = |error: std::io::Error| SqliteFault::Refused(StoreError::Unavailable(error.to_string()));
    if files::state(wal).map_err(failed)?.is_none_or(|wal| wal.length == 0) {
        return Ok(());
    }
    // No process may write the WAL meanwhile.
    execute(connection, "BEGIN IMMEDIATE")?;
    let rewritten = files::rewrite(wal).map_err(failed);
    execute(connection, "ROLLBACK")?;
    rewritten
}

#[cfg(test)]
#[path = "thread_tests.rs"]
mod tests;
