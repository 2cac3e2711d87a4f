//! Implements the store contracts as [`PostgresStore`] and delegates to the other modules.

use std::sync::Arc;
use std::time::Duration;

use lariat_core::BoxFuture;
use lariat_core::archive::{GarbageReport, ListQuery, SessionArchive, SessionSummary, VerificationReport};
use lariat_core::event::Event;
use lariat_core::id::SessionId;
use lariat_core::store::{Ack, Append, BlobHash, Durability, Epoch, SessionStore, Snapshot, StoreError};
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::{NoTls, Socket};

use super::config::PostgresConfig;
use super::connection::{ConnectionPool, column, position, query_opt};
use super::notifier::Notifier;
use super::session_row::SessionRow;
use super::writer::Writers;
use super::{
    blobs, check, fork, garbage, list, projections, read, repair, schema, search, session_row, snapshots,
};
use crate::StoreOptions;

/// A [`SessionArchive`] in a PostgreSQL database (15 or newer), which any number of nodes can share.
///
/// Session ids have at most 1,024 bytes. [`Durability::Batched`] and [`Durability::Fast`] are the same here: the server
/// syncs within three times its `wal_writer_delay` (0.6 s by default) and does not report an earlier sync.
///
/// ```no_run
/// use lariat_store::StoreOptions;
/// use lariat_store::postgres::PostgresStore;
///
/// # async fn example() -> Result<(), lariat_core::store::StoreError> {
/// let config = "postgres://lariat@localhost/lariat".parse()?;
/// let store = PostgresStore::connect(config, StoreOptions::default()).await?;
/// # Ok(())
/// # }
/// ```
pub struct PostgresStore {
    shared: Arc<StoreState>,
}

/// State that an append needs even after its caller is gone.
pub(super) struct StoreState {
    pub(super) pool: Arc<ConnectionPool>,
    pub(super) notifier: Arc<Notifier>,
    pub(super) writers: Writers,
    /// The durability level of appends.
    pub(super) durability: Durability,
}

impl StoreState {
    /// Returns the value of `synchronous_commit` for appends.
    pub(super) fn level(&self) -> &'static str {
        if self.durability == Durability::Durable { "on" } else { "off" }
    }
}

/// A server with `fsync` off promises no durability.
const SYNCS: &str = "SELECT current_setting('fsync') = 'on'";

const HEAD: &str = "SELECT head, deleted FROM lariat.sessions WHERE id = $1";

impl PostgresStore {
    /// Connects, with TLS if the configuration requires it, and migrates the schema of the database.
    ///
    /// # Errors
    /// When the server cannot be reached, cannot be verified or rejects the connection, or when a newer program migrated
    /// the database.
    pub async fn connect(config: PostgresConfig, options: StoreOptions) -> Result<Self, StoreError> {
        if config.server.get_ssl_mode() == SslMode::Disable {
            return Self::connect_tls(config, NoTls, options).await;
        }
        #[cfg(feature = "postgres-tls")]
        return {
            let connector = super::connector::connector(&config)?;
            Self::connect_tls(config, connector, options).await
        };
        #[cfg(not(feature = "postgres-tls"))]
        Err(StoreError::Unavailable(
            "PostgreSQL: this build has no TLS; enable the feature `postgres-tls` of lariat-store, \
             or use `connect_tls` with your own connector"
                .to_owned(),
        ))
    }

    /// Connects with a TLS connector of the caller, and migrates the schema of the database.
    ///
    /// # Errors
    /// As [`PostgresStore::connect`].
    pub async fn connect_tls<T>(
        config: PostgresConfig,
        tls: T,
        options: StoreOptions,
    ) -> Result<Self, StoreError>
    where
        T: MakeTlsConnect<Socket> + Clone + Send + Sync + 'static,
        T::Stream: Send + Sync,
        T::TlsConnect: Send + Sync,
        <T::TlsConnect as TlsConnect<Socket>>::Future: Send,
    {
        let pool = Arc::new(ConnectionPool::new(&config, tls)?);
        let mut client = pool.client().await?;
        schema::migrate(&mut client, config.partitions).await?;
        let syncs = query_opt(&client, SYNCS, &[]).await?;
        let syncs = syncs.map(|row| column::<bool>(&row, 0)).transpose()?.unwrap_or_default();
        let durability = match options.durability {
            _ if !syncs => Durability::Fast,
            Durability::Durable => Durability::Durable,
            Durability::Batched | Durability::Fast | Durability::Memory => Durability::Batched,
        };
        let notifier = Arc::new(Notifier::default());
        tokio::spawn(Arc::clone(&notifier).send(Arc::clone(&pool)));
        Ok(Self { shared: Arc::new(StoreState { pool, notifier, writers: Writers::default(), durability }) })
    }

    /// Rebuilds the tables of checkpoints, learnings and goals from the journals.
    ///
    /// # Errors
    /// When the server fails. Skips damaged events.
    pub async fn rebuild_projections(&self) -> Result<(), StoreError> {
        projections::rebuild(&mut self.shared.pool.client().await?).await
    }

    /// Indexes the words of all events since the last search. Searching does this by itself.
    ///
    /// # Errors
    /// When the server fails.
    pub async fn index(&self) -> Result<(), StoreError> {
        search::catch_up(&mut self.shared.pool.client().await?).await
    }

    async fn length(&self, session_id: &SessionId) -> Result<Option<u64>, StoreError> {
        self.shared.writers.wait_for_append(session_id).await;
        let client = self.shared.pool.client().await?;
        match query_opt(&client, HEAD, &[&session_row::id(session_id)]).await? {
            Some(row) if column(&row, 1)? => Ok(None),
            Some(row) => Ok(Some(position(column(&row, 0)?))),
            None => Ok(Some(0)),
        }
    }
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        self.shared.notifier.close();
    }
}

impl std::fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresStore").field("durability", &self.shared.durability).finish_non_exhaustive()
    }
}

impl SessionStore for PostgresStore {
    fn claim<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<Epoch, StoreError>> {
        Box::pin(self.shared.claim(session_id))
    }

    fn release<'a>(
        &'a self,
        session_id: &'a SessionId,
        epoch: Epoch,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.shared.release(session_id, epoch))
    }

    fn append<'a>(&'a self, append: Append<'a>) -> BoxFuture<'a, Result<Ack, StoreError>> {
        Box::pin(self.shared.append(append))
    }

    fn read<'a>(
        &'a self,
        session_id: &'a SessionId,
        from_seq: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Event>, StoreError>> {
        Box::pin(async move {
            let client = self.shared.pool.client().await?;
            read::events(&client, session_id, from_seq, from_seq.saturating_add(limit as u64)).await
        })
    }

    fn head<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<u64, StoreError>> {
        Box::pin(async move { Ok(self.length(session_id).await?.unwrap_or_default()) })
    }

    fn put_blob<'a>(&'a self, bytes: &'a [u8]) -> BoxFuture<'a, Result<BlobHash, StoreError>> {
        Box::pin(
            async move { blobs::put(&self.shared.pool.client().await?, bytes, self.shared.level()).await },
        )
    }

    fn blob<'a>(&'a self, hash: &'a BlobHash) -> BoxFuture<'a, Result<Vec<u8>, StoreError>> {
        Box::pin(async move { blobs::get(&self.shared.pool.client().await?, hash).await })
    }

    fn put_snapshot<'a>(
        &'a self,
        session_id: &'a SessionId,
        snapshot: Snapshot,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(
            async move { snapshots::put(&mut self.shared.pool.client().await?, session_id, &snapshot).await },
        )
    }

    fn snapshot<'a>(
        &'a self,
        session_id: &'a SessionId,
        seq: u64,
    ) -> BoxFuture<'a, Result<Option<Snapshot>, StoreError>> {
        Box::pin(async move { snapshots::newest(&self.shared.pool.client().await?, session_id, seq).await })
    }
}

impl SessionArchive for PostgresStore {
    fn read_backwards<'a>(
        &'a self,
        session_id: &'a SessionId,
        before_seq: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Event>, StoreError>> {
        Box::pin(async move {
            let to = self.length(session_id).await?.unwrap_or_default().min(before_seq);
            let client = self.shared.pool.client().await?;
            let mut events = read::events(&client, session_id, to.saturating_sub(limit as u64), to).await?;
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
            let mut waiter = self.shared.notifier.waiter(&self.shared.pool, session_id);
            loop {
                let head =
                    self.length(session_id).await?.ok_or_else(|| session_row::not_found(session_id))?;
                if head > beyond {
                    return Ok(head);
                }
                let reported = waiter.wait().await;
                if reported > beyond {
                    return Ok(reported);
                }
            }
        })
    }

    fn summary<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<SessionSummary, StoreError>> {
        Box::pin(async move {
            let found = SessionRow::load(&self.shared.pool.client().await?, session_id).await?;
            found.map(|found| found.summary).ok_or_else(|| session_row::not_found(session_id))
        })
    }

    fn list<'a>(&'a self, query: &'a ListQuery) -> BoxFuture<'a, Result<Vec<SessionSummary>, StoreError>> {
        Box::pin(async move {
            let mut client = self.shared.pool.client().await?;
            if !query.words().is_empty() {
                search::catch_up(&mut client).await?;
            }
            list::list(&client, query).await
        })
    }

    fn fork<'a>(
        &'a self,
        from: &'a SessionId,
        at_seq: u64,
        to: &'a SessionId,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            fork::fork(&mut self.shared.pool.client().await?, from, at_seq, to).await?;
            self.shared.notifier.journal_grew(to, at_seq);
            Ok(())
        })
    }

    fn delete<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            fork::delete(&self.shared.pool.client().await?, session_id).await?;
            self.shared.notifier.journal_grew(session_id, 0);
            Ok(())
        })
    }

    fn verify<'a>(
        &'a self,
        session_id: &'a SessionId,
    ) -> BoxFuture<'a, Result<VerificationReport, StoreError>> {
        Box::pin(async move { check::verify(&mut self.shared.pool.client().await?, session_id).await })
    }

    fn repair<'a>(
        &'a self,
        session_id: &'a SessionId,
    ) -> BoxFuture<'a, Result<VerificationReport, StoreError>> {
        Box::pin(async move { repair::repair(&mut self.shared.pool.client().await?, session_id).await })
    }

    fn collect_garbage(&self, grace: Duration) -> BoxFuture<'_, Result<GarbageReport, StoreError>> {
        Box::pin(async move { garbage::collect(&mut self.shared.pool.client().await?, grace).await })
    }
}
