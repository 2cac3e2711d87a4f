//! Connects to the database and converts its errors.
//!
//! The caller that creates a [`ConnectionPool`] chooses the TLS connector; no other module knows about it.
//! Invariant: an error that leaves open whether the server executed the statement is `Unavailable`.

use std::error::Error as _;
use std::time::Duration;

use deadpool_postgres::{
    Client, GenericClient, Hook, HookError, Manager, ManagerConfig, Pool, PoolError, RecyclingMethod, Runtime,
};
use futures_util::stream::{BoxStream, StreamExt, poll_fn};
use lariat_core::BoxFuture;
use lariat_core::store::StoreError;
use tokio_postgres::error::SqlState;
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, Row, Socket};

use super::config::PostgresConfig;

/// How long to wait for a free connection, or for a new one.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Disables JIT: compiling our short statements takes longer than running them, and a server that overestimates their cost
/// would compile them each time.
const SETTINGS: &str = "SET jit = off";

/// A parameter of a statement.
pub(super) type Value<'a> = &'a (dyn ToSql + Sync);

/// The parameters of a statement.
pub(super) type Values<'a> = &'a [Value<'a>];

/// Erases the type of a parameter.
pub(super) fn value(value: &(impl ToSql + Sync)) -> Value<'_> {
    value
}

/// A connection outside the pool, and the messages that the server sends on it.
pub(super) type DirectConnection =
    (tokio_postgres::Client, BoxStream<'static, Result<AsyncMessage, tokio_postgres::Error>>);

trait DirectConnect: Send + Sync {
    fn connect_direct(&self) -> BoxFuture<'_, Result<DirectConnection, tokio_postgres::Error>>;
}

struct DirectConnector<T> {
    server: tokio_postgres::Config,
    tls: T,
}

impl<T> DirectConnect for DirectConnector<T>
where
    T: MakeTlsConnect<Socket> + Clone + Send + Sync + 'static,
    T::Stream: Send + Sync,
    T::TlsConnect: Send + Sync,
    <T::TlsConnect as TlsConnect<Socket>>::Future: Send,
{
    fn connect_direct(&self) -> BoxFuture<'_, Result<DirectConnection, tokio_postgres::Error>> {
        Box::pin(async move {
            let (client, mut connection) = self.server.connect(self.tls.clone()).await?;
            Ok((client, poll_fn(move |context| connection.poll_message(context)).boxed()))
        })
    }
}

/// Connections to one database.
pub(super) struct ConnectionPool {
    pool: Pool,
    direct: Box<dyn DirectConnect>,
}

impl ConnectionPool {
    pub(super) fn new<T>(config: &PostgresConfig, tls: T) -> Result<Self, StoreError>
    where
        T: MakeTlsConnect<Socket> + Clone + Send + Sync + 'static,
        T::Stream: Send + Sync,
        T::TlsConnect: Send + Sync,
        <T::TlsConnect as TlsConnect<Socket>>::Future: Send,
    {
        let server = config.server.clone();
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let pool = Pool::builder(Manager::from_config(server.clone(), tls.clone(), recycling))
            .max_size(config.connections)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(CONNECT_TIMEOUT))
            .create_timeout(Some(CONNECT_TIMEOUT))
            .post_create(Hook::async_fn(|client, _| {
                Box::pin(async move { client.batch_execute(SETTINGS).await.map_err(HookError::Backend) })
            }))
            .build()
            .map_err(|error| StoreError::Unavailable(error.to_string()))?;
        Ok(Self { pool, direct: Box::new(DirectConnector { server, tls }) })
    }

    /// Returns a connection of the pool.
    pub(super) async fn client(&self) -> Result<Client, StoreError> {
        self.pool.get().await.map_err(|error| match error {
            PoolError::Backend(error) => failed(error),
            other => StoreError::Unavailable(other.to_string()),
        })
    }

    /// Opens a connection outside the pool.
    pub(super) async fn connect_direct(&self) -> Result<DirectConnection, StoreError> {
        self.direct.connect_direct().await.map_err(failed)
    }
}

/// Runs a prepared statement and returns its rows.
pub(super) async fn query(
    client: &impl GenericClient,
    sql: &str,
    values: Values<'_>,
) -> Result<Vec<Row>, StoreError> {
    let statement = client.prepare_cached(sql).await.map_err(failed)?;
    client.query(&statement, values).await.map_err(failed)
}

/// Runs a prepared statement and returns its row, if it has one.
pub(super) async fn query_opt(
    client: &impl GenericClient,
    sql: &str,
    values: Values<'_>,
) -> Result<Option<Row>, StoreError> {
    let statement = client.prepare_cached(sql).await.map_err(failed)?;
    client.query_opt(&statement, values).await.map_err(failed)
}

/// Runs a prepared statement and returns the number of changed rows.
pub(super) async fn execute(
    client: &impl GenericClient,
    sql: &str,
    values: Values<'_>,
) -> Result<u64, StoreError> {
    let statement = client.prepare_cached(sql).await.map_err(failed)?;
    client.execute(&statement, values).await.map_err(failed)
}

/// Converts an error of the server.
pub(super) fn failed(error: tokio_postgres::Error) -> StoreError {
    let Some(refusal) = error.as_db_error() else {
        let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
        return StoreError::Unavailable(format!("PostgreSQL: {error}{cause}"));
    };
    let words = format!("PostgreSQL: {} ({})", refusal.message(), refusal.code().code());
    match *refusal.code() {
        // A record where none should be, or pages that the server itself reports as damaged.
        SqlState::UNIQUE_VIOLATION | SqlState::DATA_CORRUPTED | SqlState::INDEX_CORRUPTED => {
            StoreError::Damaged(words)
        }
        _ => StoreError::Unavailable(words),
    }
}

/// Converts a position for the database.
pub(super) fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Converts a position from the database.
pub(super) fn position(value: i64) -> u64 {
    u64::try_from(value).unwrap_or_default()
}

/// Returns a column of a row.
pub(super) fn column<'a, T: tokio_postgres::types::FromSql<'a>>(
    row: &'a Row,
    index: usize,
) -> Result<T, StoreError> {
    row.try_get(index).map_err(failed)
}
