//! Configures how HTTP requests leave this machine: proxies and trusted certificates.
//!
//! Reads no environment variables: the embedding program passes what it found there.

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
    pub certificates: Vec<Vec<u8>>,
}

#[cfg(feature = "fetch")]
impl OutgoingHttp {
    /// Whether requests may go through a proxy.
    pub(crate) fn has_proxy(&self) -> bool {
        self.proxy.is_some() || self.http_proxy.is_some()
    }

    /// The host names of the proxies, which may be internal.
    pub(crate) fn proxy_hosts(&self) -> impl Iterator<Item = String> {
        let proxies = self.proxy.iter().chain(&self.http_proxy);
        proxies.filter_map(|proxy| reqwest::Url::parse(proxy).ok()?.host_str().map(str::to_ascii_lowercase))
    }

    /// Applies the settings to a client builder.
    pub(crate) fn apply(
        &self,
        mut builder: reqwest::ClientBuilder,
    ) -> Result<reqwest::ClientBuilder, reqwest::Error> {
        builder = builder.no_proxy();
        let proxies = [
            self.http_proxy.as_ref().map(reqwest::Proxy::http),
            self.proxy.as_ref().map(reqwest::Proxy::all),
        ];
        for proxy in proxies.into_iter().flatten() {
            let mut proxy = proxy?;
            if let Some(hosts) = &self.no_proxy {
                proxy = proxy.no_proxy(reqwest::NoProxy::from_string(hosts));
            }
            builder = builder.proxy(proxy);
        }
        for pem in &self.certificates {
            builder = builder.tls_certs_merge(reqwest::Certificate::from_pem_bundle(pem)?);
        }
        Ok(builder)
    }
}
