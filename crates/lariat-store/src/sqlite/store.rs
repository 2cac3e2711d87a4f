//! Implements the store contract as [`SqliteStore`]: each method is a task for the writer or a query for a reader.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lariat_core::BoxFuture;
use lariat_core::archive::{
    Checkpoint, GarbageReport, ListQuery, SessionArchive, SessionGoal, SessionLearning, SessionSummary,
    VerificationReport,
};
use lariat_core::event::Event;
use lariat_core::id::SessionId;
use lariat_core::store::{Ack, Append, BlobHash, Durability, Epoch, SessionStore, Snapshot, StoreError};
use rusqlite::Connection;

use super::append::{self, Batch};
use super::database::{DatabaseLocation, ReaderPool};
use super::fault::{SqliteFault, no_session};
use super::repair::PageHealth;
use super::rows::{self, JournalEnd, SessionRow};
use super::settle::SettleMode;
use super::transaction::WriteTransaction;
use super::watch::{JournalChange, Watchers};
use super::writer::WriterHandle;
use super::{check, list, manage, projection, repair, settle};
use crate::{StoreOptions, content};

/// How often a caller that waits for a journal polls for changes by other processes.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Stores journals in one SQLite database.
///
/// ```
/// use lariat_core::id::SessionId;
/// use lariat_core::store::{Append, SessionStore};
/// use lariat_store::sqlite::SqliteStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), lariat_core::store::StoreError> {
/// let store = SqliteStore::in_memory().await?;
/// let session = SessionId::from("s");
/// let epoch = store.claim(&session).await?;
/// let ack = store.append(Append::new(&session, epoch, 0, &[])).await?;
/// assert_eq!(ack.next_seq, 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct SqliteStore {
    writer: WriterHandle,
    /// `None` for a database in memory, which only the writer's connection sees.
    readers: Option<Arc<ReaderPool>>,
    watchers: Arc<Watchers>,
    durability: Durability,
}

impl SqliteStore {
    /// Opens the database in a file, creates it if needed, and migrates it to the current version.
    ///
    /// Dropping the store waits for pending writes and releases the sessions it claimed.
    ///
    /// # Errors
    /// When the file cannot be opened, or when a newer version of this program wrote it.
    pub async fn open(path: impl Into<PathBuf>, options: StoreOptions) -> Result<Self, StoreError> {
        let path = path.into();
        let durability = options.durability.max(Durability::Fast);
        let readers = Some(ReaderPool::new(path.clone()));
        Self::start(DatabaseLocation::File(path), StoreOptions { durability, ..options }, readers).await
    }

    /// Opens an empty store in memory.
    ///
    /// # Errors
    /// When SQLite cannot allocate it.
    pub async fn in_memory() -> Result<Self, StoreError> {
        Self::start(DatabaseLocation::Memory, StoreOptions::with_durability(Durability::Memory), None).await
    }

    async fn start(
        location: DatabaseLocation,
        options: StoreOptions,
        readers: Option<Arc<ReaderPool>>,
    ) -> Result<Self, StoreError> {
        let watchers = Arc::new(Watchers::default());
        let (theirs, notified) = (readers.clone(), Arc::clone(&watchers));
        let opening =
            tokio::task::spawn_blocking(move || WriterHandle::start(location, options, theirs, notified));
        let writer = opening.await.map_err(|error| StoreError::Unavailable(error.to_string()))??;
        readers.iter().for_each(ReaderPool::prepare);
        Ok(Self { writer, readers, watchers, durability: options.durability })
    }

    /// Rebuilds everything that is derived from the journals: checkpoints, learnings and goals at once, summaries and the
    /// search index at the next use.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn rebuild_projections(&self) -> Result<(), StoreError> {
        self.writer
            .write(0, |transaction| {
                transaction.with_savepoint(|transaction| {
                    projection::rebuild(transaction.connection)?;
                    settle::reset(transaction)?;
                    list::reset(transaction.connection)
                })
            })
            .await
    }

    async fn read<T: Send + 'static>(
        &self,
        mut work: impl FnMut(&Connection) -> Result<T, SqliteFault> + Send + 'static,
    ) -> Result<T, StoreError> {
        match &self.readers {
            Some(readers) => readers.read(work).await,
            None => self.writer.write(0, move |transaction| work(transaction.connection)).await,
        }
    }

    async fn events(&self, session_id: &SessionId, from: u64, to: u64) -> Result<Vec<Event>, StoreError> {
        let session_id = session_id.clone();
        self.read(move |connection| {
            let mut events = Vec::new();
            let Some(session) = SessionRow::existing(connection, &session_id)? else { return Ok(events) };
            let head = JournalEnd::of(connection, &session)?.head;
            let wanted = from.min(head)..to.min(head);
            rows::walk(connection, &rows::segments(connection, &session, wanted.end)?, &wanted, |found| {
                events.push(Event::new(rows::event(connection, found)?));
                Ok(())
            })?;
            Ok(events)
        })
        .await
    }

    /// Updates the rows of sessions: first from the writer's cache, then from events that other processes, or this one
    /// before a crash, left unsettled.
    async fn settle(&self) -> Result<(), StoreError> {
        let mut settled =
            self.writer.write(0, |transaction| transaction.settle_all(SettleMode::KeepOpen)).await?;
        settled.sort_unstable();
        let folded = self.read(move |connection| settle::fold_unsettled(connection, &settled)).await?;
        if !folded.is_empty() {
            self.writer
                .write(0, move |transaction| {
                    transaction.with_savepoint(|transaction| settle::store(transaction, &folded))
                })
                .await?;
        }
        Ok(())
    }

    async fn index(&self) -> Result<(), StoreError> {
        loop {
            let ranges = self.read(list::unindexed_ranges).await?;
            if ranges.is_empty() {
                return Ok(());
            }
            self.writer.write(0, move |transaction| list::index(transaction.connection, &ranges)).await?;
        }
    }
}

impl SessionStore for SqliteStore {
    fn claim<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<Epoch, StoreError>> {
        let session_id = session_id.clone();
        Box::pin(self.writer.write(0, move |transaction| transaction.claim(&session_id).map(Epoch)))
    }

    fn release<'a>(
        &'a self,
        session_id: &'a SessionId,
        epoch: Epoch,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let id = session_id.clone();
            self.writer.write_short(0, move |transaction| transaction.release(&id, epoch.0)).await?;
            self.watchers.forget(session_id);
            Ok(())
        })
    }

    fn append<'a>(&'a self, append: Append<'a>) -> BoxFuture<'a, Result<Ack, StoreError>> {
        Box::pin(async move {
            let batch = Batch::new(&append)?;
            let next_seq =
                self.writer.write_short(batch.bytes, move |transaction| batch.append(transaction)).await?;
            Ok(Ack { next_seq, durability: self.durability })
        })
    }

    fn read<'a>(
        &'a self,
        session_id: &'a SessionId,
        from_seq: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Event>, StoreError>> {
        Box::pin(self.events(session_id, from_seq, from_seq.saturating_add(limit as u64)))
    }

    fn head<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<u64, StoreError>> {
        let session_id = session_id.clone();
        Box::pin(self.read(move |connection| rows::head(connection, &session_id)))
    }

    fn put_blob<'a>(&'a self, bytes: &'a [u8]) -> BoxFuture<'a, Result<BlobHash, StoreError>> {
        Box::pin(async move {
            append::check_size(bytes.len())?;
            let (address, bytes) = (content::address(bytes), bytes.to_vec());
            let put = move |transaction: &mut WriteTransaction<'_>| {
                append::put_blob(transaction.connection, &address, &bytes).map(|()| address.clone())
            };
            self.writer.write(0, put).await
        })
    }

    fn blob<'a>(&'a self, hash: &'a BlobHash) -> BoxFuture<'a, Result<Vec<u8>, StoreError>> {
        let hash = hash.clone();
        Box::pin(self.read(move |connection| rows::blob(connection, &hash)))
    }

    fn put_snapshot<'a>(
        &'a self,
        session_id: &'a SessionId,
        snapshot: Snapshot,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let session_id = session_id.clone();
        Box::pin(
            self.writer
                .write(0, move |transaction| manage::put_snapshot(transaction, &session_id, &snapshot)),
        )
    }

    fn snapshot<'a>(
        &'a self,
        session_id: &'a SessionId,
        seq: u64,
    ) -> BoxFuture<'a, Result<Option<Snapshot>, StoreError>> {
        let session_id = session_id.clone();
        Box::pin(self.read(move |connection| manage::snapshot(connection, &session_id, seq)))
    }
}

impl SessionArchive for SqliteStore {
    fn read_backwards<'a>(
        &'a self,
        session_id: &'a SessionId,
        before_seq: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Event>, StoreError>> {
        Box::pin(async move {
            let head = self.head(session_id).await?;
            let before = before_seq.min(head);
            let mut events = self.events(session_id, before.saturating_sub(limit as u64), before).await?;
            events.reverse();
            Ok(events)
        })
    }

    fn wait_for_growth<'a>(
        &'a self,
        session_id: &'a SessionId,
        beyond: u64,
    ) -> BoxFuture<'a, Result<u64, StoreError>> {
        Box::pin(async move {
            let mut changes = self.watchers.watch(session_id);
            loop {
                let id = session_id.clone();
                let head = self.read(move |connection| match SessionRow::of(connection, &id)? {
                    Some(session) if session.kept.is_some() => Err(no_session(&id)),
                    Some(session) => Ok(JournalEnd::of(connection, &session)?.head),
                    None => Ok(0),
                });
                let head = head.await?;
                if head > beyond {
                    return Ok(head);
                }
                // Whether a notification or the timeout ended the wait: the next read decides.
                let _ = tokio::time::timeout(
                    POLL_INTERVAL,
                    changes.wait_for(|change| match change {
                        JournalChange::Unknown => false,
                        JournalChange::Head(head) => *head > beyond,
                        JournalChange::Gone => true,
                    }),
                )
                .await;
            }
        })
    }

    fn summary<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<SessionSummary, StoreError>> {
        let session_id = session_id.clone();
        Box::pin(self.read(move |connection| {
            settle::current_summary(connection, &session_id)?.ok_or_else(|| no_session(&session_id))
        }))
    }

    fn list<'a>(&'a self, query: &'a ListQuery) -> BoxFuture<'a, Result<Vec<SessionSummary>, StoreError>> {
        Box::pin(async move {
            let (searched, query) = (!query.words().is_empty(), query.clone());
            match self.settle().await {
                Ok(()) => {}
                Err(StoreError::Unavailable(_)) if !searched => {
                    return self.read(move |connection| list::list_without_writer(connection, &query)).await;
                }
                Err(error) => return Err(error),
            }
            if searched {
                self.index().await?;
            }
            self.read(move |connection| list::list(connection, &query)).await
        })
    }

    fn fork<'a>(
        &'a self,
        from: &'a SessionId,
        at_seq: u64,
        to: &'a SessionId,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let (from, to) = (from.clone(), to.clone());
        Box::pin(self.writer.write(0, move |transaction| manage::fork(transaction, &from, at_seq, &to)))
    }

    fn delete<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<(), StoreError>> {
        let session_id = session_id.clone();
        Box::pin(self.writer.write(0, move |transaction| {
            transaction.with_savepoint(|transaction| manage::delete(transaction, &session_id))
        }))
    }

    fn verify<'a>(
        &'a self,
        session_id: &'a SessionId,
    ) -> BoxFuture<'a, Result<VerificationReport, StoreError>> {
        let session_id = session_id.clone();
        Box::pin(self.read(move |connection| check::verify(connection, &session_id)))
    }

    fn repair<'a>(
        &'a self,
        session_id: &'a SessionId,
    ) -> BoxFuture<'a, Result<VerificationReport, StoreError>> {
        Box::pin(async move {
            let verdict = self.verify(session_id).await?;
            if verdict.is_sound() {
                return Ok(verdict);
            }
            let sound = verdict.damage.iter().all(|damage| damage.seq.is_some());
            let pages = if sound { PageHealth::Sound } else { PageHealth::Damaged };
            let (id, readers) = (session_id.clone(), self.readers.clone());
            let repair = move |transaction: &mut WriteTransaction<'_>| {
                let source = readers.as_ref().map(|readers| readers.open()).transpose()?;
                let source = source.as_ref().unwrap_or(transaction.connection);
                transaction.with_savepoint(|transaction| repair::repair(transaction, source, &id, pages))
            };
            self.writer.write(0, repair).await?;
            Ok(verdict)
        })
    }

    fn collect_garbage(&self, grace: Duration) -> BoxFuture<'_, Result<GarbageReport, StoreError>> {
        Box::pin(self.writer.write(0, move |transaction| {
            transaction.with_savepoint(|transaction| manage::collect_garbage(transaction, grace))
        }))
    }

    fn checkpoints<'a>(
        &'a self,
        session_id: &'a SessionId,
    ) -> BoxFuture<'a, Result<Vec<Checkpoint>, StoreError>> {
        let session_id = session_id.clone();
        Box::pin(self.read(move |connection| projection::checkpoints(connection, &session_id)))
    }

    fn learnings<'a>(
        &'a self,
        tag: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<SessionLearning>, StoreError>> {
        let tag = tag.map(str::to_owned);
        Box::pin(self.read(move |connection| projection::learnings(connection, tag.as_deref(), limit)))
    }

    fn goals(&self) -> BoxFuture<'_, Result<Vec<SessionGoal>, StoreError>> {
        Box::pin(self.read(projection::goals))
    }
}
