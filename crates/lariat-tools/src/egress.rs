//! Configures how HTTP requests leave this machine: proxies and trusted certificates.
//!
//! Reads no environment variables: the embedding program passes what it found there.

use std::sync::Arc;

/// Proxies and certificates for outgoing requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutgoingHttp {
    /// Proxy for all requests: `http://`, `https://` or `socks5://`.
    pub proxy: Option<String>,
    /// Proxy for `http://` addresses, if it differs.
    pub http_proxy: Option<String>,
    /// Hosts to connect to without a proxy, comma-separated.
    pub no_proxy: Option<String>,
    /// Trusted certificates (PEM) besides those of the system.
    pub certificates: Vec<Arc<[u8]>>,
}

#[cfg(feature = "fetch")]
impl OutgoingHttp {
    /// Whether requests may go through a proxy.
    pub(crate) fn has_proxy(&self) -> bool {
        self.proxy.is_some() || self.http_proxy.is_some()
    }

    /// The same settings for the HTTP client.
    pub(crate) fn client_config(&self) -> lariat_http::ClientConfig {
        let mut config = lariat_http::ClientConfig::default();
        config.proxy = self.proxy.clone();
        config.http_proxy = self.http_proxy.clone();
        config.no_proxy = self.no_proxy.clone();
        config.extra_certificates = self.certificates.clone();
        config
    }
}
