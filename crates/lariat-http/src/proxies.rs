//! Decides which requests go through which proxy.
//!
//! The matching of hosts is hyper-util's, which follows curl. Invariant: an address of a proxy that cannot be used is an
//! error, never a direct connection, and the error does not show the address.

use http::uri::Scheme;
use http::{HeaderValue, Uri};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use crate::config::ClientConfig;
use crate::transport::TransportError;

/// What a user name or a password may contain and an address may not. A `%` stays, because it begins an encoded byte.
const NOT_IN_USER: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'<')
    .add(b'>')
    .add(b'@')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// The proxies of a client.
#[derive(Debug)]
pub(crate) struct Proxies(Matcher);

impl Proxies {
    pub(crate) fn new(config: &ClientConfig) -> Result<Self, TransportError> {
        let mut matcher = Matcher::builder();
        if let Some(proxy) = &config.proxy {
            matcher = matcher.all(usable(proxy)?);
        }
        if let Some(proxy) = &config.http_proxy {
            matcher = matcher.http(usable(proxy)?);
        }
        if let Some(hosts) = &config.no_proxy {
            matcher = matcher.no(hosts);
        }
        Ok(Self(matcher.build()))
    }

    /// The proxy for a request to `uri`, or `None` for a direct connection.
    pub(crate) fn for_uri(&self, uri: &Uri) -> Option<Intercept> {
        self.0.intercept(uri)
    }

    /// The `proxy-authorization` of a request that the proxy itself reads: one without TLS, and not through SOCKS.
    pub(crate) fn authorization(&self, uri: &Uri) -> Option<HeaderValue> {
        let is_plain = uri.scheme() == Some(&Scheme::HTTP);
        self.for_uri(uri).filter(|_| is_plain)?.basic_auth().cloned()
    }
}

/// Returns the address as the matcher can read it. The matcher ignores what it cannot read, so this tries it first.
fn usable(proxy: &str) -> Result<String, TransportError> {
    let proxy = with_encoded_user(proxy.trim());
    let any = Uri::from_static("http://host/");
    match Matcher::builder().all(&proxy).build().intercept(&any) {
        Some(_) => Ok(proxy),
        None => Err(TransportError::Impossible(
            "invalid proxy address: it must be like `http://HOST:PORT`, `https://HOST:PORT` or `socks5://HOST:PORT`"
                .to_owned(),
        )),
    }
}

/// The last `@` ends user and password, and they may contain what an address may not.
fn with_encoded_user(proxy: &str) -> String {
    let (scheme, rest) = proxy.split_at(proxy.find("://").map_or(0, |colon| colon + 3));
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    match authority.rsplit_once('@') {
        Some((user, host)) => format!("{scheme}{}@{host}{path}", utf8_percent_encode(user, NOT_IN_USER)),
        None => proxy.to_owned(),
    }
}

#[cfg(test)]
#[path = "proxies_tests.rs"]
mod tests;
