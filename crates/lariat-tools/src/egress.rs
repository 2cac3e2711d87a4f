//! How requests leave this machine: which proxy they take and which certificates they trust.
//!
//! Owns the data and how an HTTP client is built from it. Reads no environment: the program says what it found there.

/// How requests leave this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Egress {
    /// Proxy for all requests: `http://`, `https://` or `socks5://`.
    pub proxy: Option<String>,
    /// Proxy for `http://` addresses, where it differs.
    pub http_proxy: Option<String>,
    /// Hosts that are reached without a proxy, comma-separated.
    pub no_proxy: Option<String>,
    /// Certificates (PEM) that are trusted besides the system's.
    pub certificates: Vec<Vec<u8>>,
}

#[cfg(feature = "fetch")]
impl Egress {
    /// Whether a proxy may carry requests.
    pub(crate) fn has_proxy(&self) -> bool {
        self.proxy.is_some() || self.http_proxy.is_some()
    }

    /// The hosts of the proxies: their names may be internal.
    pub(crate) fn proxy_hosts(&self) -> impl Iterator<Item = String> {
        let proxies = self.proxy.iter().chain(&self.http_proxy);
        proxies.filter_map(|proxy| reqwest::Url::parse(proxy).ok()?.host_str().map(str::to_ascii_lowercase))
    }

    /// A client builder that goes this way.
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
