//! Where the database is and how much of it a store may use.

use std::str::FromStr;
use std::time::Duration;

use lariat_core::store::StoreError;

/// Connections a store keeps at most, besides the one that listens. PostgreSQL gives each a process.
const CONNECTIONS: usize = 16;

/// Hash partitions of the events, when the database is new.
const PARTITIONS: u32 = 8;

/// How long a server that answers nothing is believed to be there.
const SILENCE: Duration = Duration::from_secs(30);

/// How to reach a database.
///
/// ```
/// # fn main() -> Result<(), lariat_core::store::StoreError> {
/// use lariat_store::postgres::PostgresConfig;
///
/// let config: PostgresConfig = "postgres://lariat@localhost/lariat".parse()?;
/// let config = config.with_connections(32);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct PostgresConfig {
    pub(super) server: tokio_postgres::Config,
    pub(super) connections: usize,
    pub(super) partitions: u32,
}

impl PostgresConfig {
    /// With the server's own configuration.
    pub fn new(mut server: tokio_postgres::Config) -> Self {
        // By default a connection to a machine that vanished is waited on for hours.
        if server.get_connect_timeout().is_none() {
            server.connect_timeout(SILENCE);
        }
        if server.get_tcp_user_timeout().is_none() {
            server.tcp_user_timeout(SILENCE);
        }
        server.keepalives_idle(server.get_keepalives_idle().min(SILENCE));
        if server.get_application_name().is_none() {
            server.application_name("lariat");
        }
        Self { server, connections: CONNECTIONS, partitions: PARTITIONS }
    }

    /// With this many connections at most, at least one.
    #[must_use]
    pub fn with_connections(mut self, connections: usize) -> Self {
        self.connections = connections.max(1);
        self
    }

    /// With this many partitions of the events, at least one. Counts only when the database is new.
    #[must_use]
    pub fn with_partitions(mut self, partitions: u32) -> Self {
        self.partitions = partitions.max(1);
        self
    }
}

impl FromStr for PostgresConfig {
    type Err = StoreError;

    /// From a URL or `key=value` pairs, as `libpq` takes them.
    fn from_str(text: &str) -> Result<Self, StoreError> {
        text.parse().map(Self::new).map_err(super::link::failed)
    }
}
