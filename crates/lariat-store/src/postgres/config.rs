//! Where the database is and how much of it a store may use.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use lariat_core::store::StoreError;

use super::tls;

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
    /// Root certificates (PEM); those of the system when there are none.
    #[cfg_attr(not(feature = "postgres-tls"), expect(dead_code, reason = "only the TLS connector reads it"))]
    pub(super) roots: Vec<Vec<u8>>,
    /// A file with root certificates, as the connection string names it.
    #[cfg_attr(not(feature = "postgres-tls"), expect(dead_code, reason = "only the TLS connector reads it"))]
    pub(super) root_file: Option<PathBuf>,
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
        Self { server, connections: CONNECTIONS, partitions: PARTITIONS, roots: Vec::new(), root_file: None }
    }

    /// Verifies the server with these root certificates (PEM) in place of the system's.
    #[must_use]
    pub fn with_root_certificates(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.roots.push(pem.into());
        self
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

    /// From a URL or `key=value` pairs, as `libpq` takes them, with `sslmode` and `sslrootcert`. A server certificate is always
    /// verified. Without `sslmode`, a database on another machine is reached by TLS only.
    fn from_str(text: &str) -> Result<Self, StoreError> {
        let tls::Spoken { rest, mode, root } = tls::spoken(text)?;
        let mut server: tokio_postgres::Config = rest.parse().map_err(super::link::failed)?;
        let mode = mode.unwrap_or_else(|| tls::default_mode(&server));
        server.ssl_mode(mode);
        let mut config = Self::new(server);
        config.root_file = root;
        Ok(config)
    }
}
