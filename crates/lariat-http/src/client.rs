//! The real transport: one pooled HTTP/1.1 and HTTP/2 client (hyper) for all requests.
//!
//! It never follows a redirect, so that a key reaches only the configured server. It repeats a request only if hyper
//! hands it back unsent, because the server had closed an idle connection. Invariant: errors contain no address, because
//! an address can hold the secrets of a proxy or a gateway; only the reason of an [`AddressCheck`] may name a host.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, PROXY_AUTHORIZATION, USER_AGENT};
use http::uri::{Authority, Scheme};
use http::{HeaderValue, Request, Uri};
use http_body_util::Full;
use hyper_util::client::legacy::{self, Client};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use lariat_core::BoxFuture;
use percent_encoding::percent_decode_str;

use crate::body;
use crate::config::ClientConfig;
#[cfg(feature = "http2")]
use crate::connect;
use crate::connect::{AddressCheck, Connector};
use crate::failure::{UnreachableError, cause, causes};
use crate::proxies::Proxies;
use crate::tls::Tls;
use crate::transport::{HttpResponse, Transport, TransportError};

/// How long idle connections stay open: less than the minute after which load balancers silently drop them.
const POOL_IDLE: Duration = Duration::from_secs(50);

/// Creates its connection pool with the first request and shares it among all later ones.
#[derive(Default)]
pub struct HttpClient {
    config: ClientConfig,
    check: Option<Arc<dyn AddressCheck>>,
    pool: OnceLock<Result<Pool, TransportError>>,
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClient").finish_non_exhaustive()
    }
}

impl HttpClient {
    /// Creates a client. It does not connect before the first request.
    pub fn new(config: ClientConfig) -> Self {
        Self { config, check: None, pool: OnceLock::new() }
    }

    /// Connects only to addresses that pass `check`, and to the configured proxies. A proxy that resolves names itself
    /// connects to addresses that no check sees.
    #[must_use]
    pub fn with_address_check(self, check: Arc<dyn AddressCheck>) -> Self {
        Self { check: Some(check), pool: OnceLock::new(), ..self }
    }
}

impl Transport for HttpClient {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'static, Result<HttpResponse, TransportError>> {
        let pool = self.pool.get_or_init(|| Pool::new(&self.config, self.check.clone())).clone();
        Box::pin(async move {
            let pool = pool?;
            let request = pool.prepare(request)?;
            let response = pool.client.request(request).await.map_err(|error| convert(&error))?;
            let (mut head, body) = response.into_parts();
            let body = body::stream(&mut head.headers, body);
            Ok(HttpResponse { status: head.status.as_u16(), headers: head.headers, body })
        })
    }
}

/// The connections of a client. Clones share them.
#[derive(Clone)]
struct Pool {
    client: Client<Connector, Full<Bytes>>,
    agent: HeaderValue,
    proxies: Arc<Proxies>,
}

impl Pool {
    fn new(config: &ClientConfig, check: Option<Arc<dyn AddressCheck>>) -> Result<Self, TransportError> {
        let proxies = Arc::new(Proxies::new(config)?);
        let tls = Tls::new(&config.extra_certificates)?;
        let agent = HeaderValue::from_str(&config.user_agent)
            .map_err(|_| TransportError::Impossible("the user agent is not a valid header".to_owned()))?;
        let connector =
            Connector::new(check, Arc::clone(&proxies), tls, agent.clone(), config.connect_timeout);
        let mut builder = Client::builder(TokioExecutor::new());
        builder.timer(TokioTimer::new()).pool_timer(TokioTimer::new()).pool_idle_timeout(POOL_IDLE);
        #[cfg(feature = "http2")]
        builder
            .http2_keep_alive_interval(connect::KEEP_ALIVE)
            .http2_keep_alive_timeout(connect::KEEP_ALIVE)
            .http2_adaptive_window(true);
        Ok(Self { client: builder.build(connector), agent, proxies })
    }

    /// Completes a request with the headers that every request has.
    fn prepare(&self, request: Request<Bytes>) -> Result<Request<Full<Bytes>>, TransportError> {
        let mut request = request.map(Full::new);
        let (uri, user) = without_user(request.uri()).ok_or_else(|| {
            let text = "cannot send the request: the address must be `http://` or `https://` with a host";
            TransportError::Impossible(text.to_owned())
        })?;
        let authorization = self.proxies.authorization(&uri);
        *request.uri_mut() = uri;
        let headers = request.headers_mut();
        headers.entry(USER_AGENT).or_insert_with(|| self.agent.clone());
        headers.entry(ACCEPT).or_insert(HeaderValue::from_static("*/*"));
        #[cfg(feature = "compression")]
        headers.entry(http::header::ACCEPT_ENCODING).or_insert(HeaderValue::from_static("gzip, br"));
        if let Some(user) = user {
            headers.entry(AUTHORIZATION).or_insert(user);
        }
        if let Some(authorization) = authorization {
            headers.entry(PROXY_AUTHORIZATION).or_insert(authorization);
        }
        Ok(request)
    }
}

/// Takes user and password out of an address, as the header that carries them. They must not be part of the address that
/// is sent and logged.
fn without_user(uri: &Uri) -> Option<(Uri, Option<HeaderValue>)> {
    let is_http = uri.scheme() == Some(&Scheme::HTTP) || uri.scheme() == Some(&Scheme::HTTPS);
    let authority = uri.authority().filter(|authority| is_http && !authority.host().is_empty())?;
    let Some((user, host)) = authority.as_str().rsplit_once('@') else {
        return Some((uri.clone(), None));
    };
    let (user, password) = user.split_once(':').unwrap_or((user, ""));
    let [user, password] = [user, password].map(|text| percent_decode_str(text).collect::<Vec<u8>>());
    let encoded = STANDARD.encode([user, password].join(&b':'));
    let mut header = HeaderValue::from_str(&format!("Basic {encoded}")).ok()?;
    header.set_sensitive(true);
    let mut parts = uri.clone().into_parts();
    parts.authority = Some(host.parse::<Authority>().ok()?);
    Some((Uri::from_parts(parts).ok()?, Some(header)))
}

fn convert(error: &legacy::Error) -> TransportError {
    let message = cause(error);
    if !error.is_connect() {
        return TransportError::Broken(format!("the request failed: {message}"));
    }
    let message = format!("no connection: {message}");
    match causes(error).any(|error| error.is::<UnreachableError>()) {
        true => TransportError::Impossible(message),
        false => TransportError::Broken(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_and_password_become_a_header_that_is_not_shown() {
        let uri = Uri::from_static("https://me:a%40b@host:8/v1?x=a@b");
        let (uri, header) = without_user(&uri).unwrap();
        assert_eq!(uri, "https://host:8/v1?x=a@b");
        // `me:a@b`
        let header = header.unwrap();
        assert_eq!(header, "Basic bWU6YUBi");
        assert!(header.is_sensitive());
        assert_eq!(without_user(&Uri::from_static("http://host/a@b")).unwrap().1, None);
        for other in ["gopher://host/", "/path", "host:80"] {
            assert!(without_user(&Uri::from_static(other)).is_none(), "{other}");
        }
    }

    #[test]
    fn debug_output_shows_no_settings() {
        let config = ClientConfig { proxy: Some("http://me:word@proxy".into()), ..ClientConfig::default() };
        assert!(!format!("{:?}", HttpClient::new(config)).contains("word"));
    }
}
