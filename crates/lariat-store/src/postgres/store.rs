//! The store as its users see it: both contracts, each method a line that names who does it.

use std::sync::Arc;
use std::time::Duration;

use lariat_core::BoxFuture;
use lariat_core::archive::{Freed, ListQuery, SessionArchive, SessionSummary, Verdict};
use lariat_core::event::Event;
use lariat_core::id::SessionId;
use lariat_core::store::{Ack, Append, BlobHash, Durability, Epoch, SessionStore, Snapshot, StoreError};
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::{NoTls, Socket};

use super::config::PostgresConfig;
use super::link::{Link, column, position, query_opt};
use super::standing::Standing;
use super::wake::Wake;
use super::writer::Writers;
use super::{
    blobs, check, fork, garbage, list, projections, read, repair, schema, search, snapshots, standing,
};
use crate::StoreOptions;

/// A [`SessionArchive`] in a PostgreSQL database (15 or newer), for any number of nodes at once.
///
/// Ids of sessions have at most 1,024 bytes. [`Durability::Batched`] and [`Durability::Fast`] are the same here: the
/// server syncs within three times its `wal_writer_delay` (0.6 s unless configured), and says nothing earlier.
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
    shared: Arc<Shared>,
}

/// What an append that outlives its caller needs, too.
pub(super) struct Shared {
    pub(super) link: Arc<Link>,
    pub(super) wake: Arc<Wake>,
    pub(super) writers: Writers,
    /// The level that appends meet.
    pub(super) met: Durability,
}

impl Shared {
    /// What `synchronous_commit` is during an append.
    pub(super) fn level(&self) -> &'static str {
        if self.met == Durability::Durable { "on" } else { "off" }
    }
}

/// As long as nobody changes it, a server that does not sync promises nothing.
const SYNCS: &str = "SELECT current_setting('fsync') = 'on'";

const HEAD: &str = "SELECT head, deleted FROM lariat.sessions WHERE id = $1";

impl PostgresStore {
    /// Connects, by TLS where the configuration asks for it, and brings the schema of the database up to date.
    ///
    /// # Errors
    /// When the server cannot be reached, verified or refuses, or the database belongs to a newer program.
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

    /// Connects through a TLS connector of the caller's own, and brings the schema of the database up to date.
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
        let link = Arc::new(Link::new(&config, tls)?);
        let mut client = link.client().await?;
        schema::migrate(&mut client, config.partitions).await?;
        let syncs = query_opt(&client, SYNCS, &[]).await?;
        let syncs = syncs.map(|row| column::<bool>(&row, 0)).transpose()?.unwrap_or_default();
        let met = match options.durability {
            _ if !syncs => Durability::Fast,
            Durability::Durable => Durability::Durable,
            Durability::Batched | Durability::Fast | Durability::Memory => Durability::Batched,
        };
        let wake = Arc::new(Wake::default());
        tokio::spawn(Arc::clone(&wake).send(Arc::clone(&link)));
        Ok(Self { shared: Arc::new(Shared { link, wake, writers: Writers::default(), met }) })
    }

    /// Makes the tables of checkpoints, learnings and goals again, from the journals.
    ///
    /// # Errors
    /// When the server fails. Damaged events are left out.
    pub async fn rebuild_projections(&self) -> Result<(), StoreError> {
        projections::rebuild(&mut self.shared.link.client().await?).await
    }

    /// Takes in the words of everything that was said since somebody searched last; searching does it by itself.
    ///
    /// # Errors
    /// When the server fails.
    pub async fn index(&self) -> Result<(), StoreError> {
        search::catch_up(&mut self.shared.link.client().await?).await
    }

    async fn length(&self, session_id: &SessionId) -> Result<Option<u64>, StoreError> {
        self.shared.writers.settled(session_id).await;
        let client = self.shared.link.client().await?;
        match query_opt(&client, HEAD, &[&standing::id(session_id)]).await? {
            Some(row) if column(&row, 1)? => Ok(None),
            Some(row) => Ok(Some(position(column(&row, 0)?))),
            None => Ok(Some(0)),
        }
    }
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        self.shared.wake.close();
    }
}

impl std::fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresStore").field("met", &self.shared.met).finish_non_exhaustive()
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
            let client = self.shared.link.client().await?;
            read::events(&client, session_id, from_seq, from_seq.saturating_add(limit as u64)).await
        })
    }

    fn head<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<u64, StoreError>> {
        Box::pin(async move { Ok(self.length(session_id).await?.unwrap_or_default()) })
    }

    fn put_blob<'a>(&'a self, bytes: &'a [u8]) -> BoxFuture<'a, Result<BlobHash, StoreError>> {
        Box::pin(
            async move { blobs::put(&self.shared.link.client().await?, bytes, self.shared.level()).await },
        )
    }

    fn blob<'a>(&'a self, hash: &'a BlobHash) -> BoxFuture<'a, Result<Vec<u8>, StoreError>> {
        Box::pin(async move { blobs::get(&self.shared.link.client().await?, hash).await })
    }

    fn put_snapshot<'a>(
        &'a self,
        session_id: &'a SessionId,
        snapshot: Snapshot,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(
            async move { snapshots::put(&mut self.shared.link.client().await?, session_id, &snapshot).await },
        )
    }

    fn snapshot<'a>(
        &'a self,
        session_id: &'a SessionId,
        seq: u64,
    ) -> BoxFuture<'a, Result<Option<Snapshot>, StoreError>> {
        Box::pin(async move { snapshots::newest(&self.shared.link.client().await?, session_id, seq).await })
    }
}

impl SessionArchive for PostgresStore {
    fn read_back<'a>(
        &'a self,
        session_id: &'a SessionId,
        before_seq: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Event>, StoreError>> {
        Box::pin(async move {
            let to = self.length(session_id).await?.unwrap_or_default().min(before_seq);
            let client = self.shared.link.client().await?;
            let mut events = read::events(&client, session_id, to.saturating_sub(limit as u64), to).await?;
            events.reverse();
            Ok(events)
        })
    }

    fn grown<'a>(&'a self, session_id: &'a SessionId, beyond: u64) -> BoxFuture<'a, Result<u64, StoreError>> {
        Box::pin(async move {
            let mut waiter = self.shared.wake.waiter(&self.shared.link, session_id);
            loop {
                let head = self.length(session_id).await?.ok_or_else(|| standing::unknown(session_id))?;
                if head > beyond {
                    return Ok(head);
                }
                let told = waiter.news().await;
                if told > beyond {
                    return Ok(told);
                }
            }
        })
    }

    fn summary<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<SessionSummary, StoreError>> {
        Box::pin(async move {
            let found = Standing::load(&self.shared.link.client().await?, session_id).await?;
            found.map(|found| found.summary).ok_or_else(|| standing::unknown(session_id))
        })
    }

    fn list<'a>(&'a self, query: &'a ListQuery) -> BoxFuture<'a, Result<Vec<SessionSummary>, StoreError>> {
        Box::pin(async move {
            let mut client = self.shared.link.client().await?;
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
            fork::fork(&mut self.shared.link.client().await?, from, at_seq, to).await?;
            self.shared.wake.grew(to, at_seq);
            Ok(())
        })
    }

    fn delete<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            fork::delete(&self.shared.link.client().await?, session_id).await?;
            self.shared.wake.grew(session_id, 0);
            Ok(())
        })
    }

    fn verify<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<Verdict, StoreError>> {
        Box::pin(async move { check::verify(&mut self.shared.link.client().await?, session_id).await })
    }

    fn repair<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<Verdict, StoreError>> {
        Box::pin(async move { repair::repair(&mut self.shared.link.client().await?, session_id).await })
    }

    fn collect_garbage(&self, grace: Duration) -> BoxFuture<'_, Result<Freed, StoreError>> {
        Box::pin(async move { garbage::collect(&mut self.shared.link.client().await?, grace).await })
    }
}
