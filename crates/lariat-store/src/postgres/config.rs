//! Configures the connection to the database.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use lariat_core::store::StoreError;

use super::tls;

/// Default maximum number of connections, in addition to the listening one. PostgreSQL starts a process for each.
const CONNECTIONS: usize = 16;

/// Default number of hash partitions of the events in a new database.
const PARTITIONS: u32 = 8;

/// How long to wait for a server that does not respond.
const SERVER_TIMEOUT: Duration = Duration::from_secs(30);

/// Configuration of a database connection.
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
    /// Root certificates (PEM); the system's if empty.
    pub(super) roots: Vec<Vec<u8>>,
    /// A file with root certificates, named by the connection string.
    pub(super) root_file: Option<PathBuf>,
}

impl PostgresConfig {
    /// Uses a `tokio_postgres` configuration.
    pub fn new(mut server: tokio_postgres::Config) -> Self {
        // By default, a connection to a machine that vanished would hang for hours.
        if server.get_connect_timeout().is_none() {
            server.connect_timeout(SERVER_TIMEOUT);
        }
        if server.get_tcp_user_timeout().is_none() {
            server.tcp_user_timeout(SERVER_TIMEOUT);
        }
        server.keepalives_idle(server.get_keepalives_idle().min(SERVER_TIMEOUT));
        if server.get_application_name().is_none() {
            server.application_name("lariat");
        }
        Self { server, connections: CONNECTIONS, partitions: PARTITIONS, roots: Vec::new(), root_file: None }
    }

    /// Verifies the server with these root certificates (PEM) instead of the system's.
    #[must_use]
    pub fn with_root_certificates(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.roots.push(pem.into());
        self
    }

    /// Sets the maximum number of connections (at least one).
    #[must_use]
    pub fn with_connections(mut self, connections: usize) -> Self {
        self.connections = connections.max(1);
        self
    }

    /// Sets the number of partitions of the events (at least one). Only used for a new database.
    #[must_use]
    pub fn with_partitions(mut self, partitions: u32) -> Self {
        self.partitions = partitions.max(1);
        self
    }
}

impl FromStr for PostgresConfig {
    type Err = StoreError;

    /// Parses a URL or `key=value` pairs as `libpq` does, including `sslmode` and `sslrootcert`. Always verifies the server
    /// certificate. Without `sslmode`, a database on another machine requires TLS.
    fn from_str(text: &str) -> Result<Self, StoreError> {
        let tls::TlsOptions { rest, mode, root } = tls::parse_tls_options(text)?;
        let mut server: tokio_postgres::Config = rest.parse().map_err(super::connection::failed)?;
        let mode = mode.unwrap_or_else(|| tls::default_mode(&server));
        server.ssl_mode(mode);
        let mut config = Self::new(server);
        config.root_file = root;
        Ok(config)
    }
}
