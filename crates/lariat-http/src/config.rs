//! Holds the settings of a client: proxies, certificates, timeout and user agent.
//!
//! The embedding program sets them; this crate reads no environment variable.

use std::sync::Arc;
use std::time::Duration;

/// Proxies, certificates and timeouts of the client.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientConfig {
    /// Proxy for all requests: `http://`, `https://` or `socks5://` (`socks5h://` lets the proxy resolve names). The
    /// client does not read one from the environment.
    pub proxy: Option<String>,
    /// Proxy for `http://` addresses, where it differs from [`proxy`](Self::proxy).
    pub http_proxy: Option<String>,
    /// Hosts that bypass the proxy, comma-separated.
    pub no_proxy: Option<String>,
    /// Certificates (PEM) to trust in addition to the system's.
    pub extra_certificates: Vec<Arc<[u8]>>,
    /// Maximum time to establish a connection.
    pub connect_timeout: Duration,
    /// Value of the `user-agent` header.
    pub user_agent: String,
}

impl Default for ClientConfig {
    fn default() -> Self {
        Self {
            proxy: None,
            http_proxy: None,
            no_proxy: None,
            extra_certificates: Vec::new(),
            connect_timeout: Duration::from_secs(30),
            user_agent: concat!("lariat/", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }
}
