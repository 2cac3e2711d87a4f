//! The real transport: one pooled HTTP/1.1 and HTTP/2 client (reqwest) for all requests, with TLS, proxies
//! and compression.
//!
//! It never follows a redirect, so that a key reaches only the configured server. Invariant: errors contain
//! no address, because an address can hold the secrets of a proxy or a gateway.

use std::error::Error;
use std::sync::OnceLock;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt};
use http::Request;
use lariat_core::BoxFuture;

use super::transport::{HttpResponse, Transport, TransportError};

/// How long idle connections stay open: less than the minute after which load balancers silently drop them.
const POOL_IDLE: Duration = Duration::from_secs(50);
/// Interval of the probes that detect a dead connection while a model thinks.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// Proxies, certificates and timeouts of the client.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientConfig {
    /// Proxy for all requests: `http://`, `https://` or `socks5://`. The client does not read one from the
    /// environment.
    pub proxy: Option<String>,
    /// Proxy for `http://` addresses, where it differs from [`proxy`](Self::proxy).
    pub http_proxy: Option<String>,
    /// Hosts that bypass the proxy, comma-separated.
    pub no_proxy: Option<String>,
    /// Certificates (PEM) to trust in addition to the system's.
    pub extra_certificates: Vec<Vec<u8>>,
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

/// Creates its connection pool with the first request and shares it among all later ones.
///
/// Loading the trusted certificates takes longer than a local server needs to respond, so requests without
/// TLS use a separate client that loads none.
#[derive(Debug, Default)]
pub struct HttpClient {
    config: ClientConfig,
    secure: OnceLock<Result<reqwest::Client, TransportError>>,
    plain: OnceLock<Result<reqwest::Client, TransportError>>,
}

/// Which certificate authorities the client trusts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Roots {
    /// The system's and the configured ones.
    System,
    /// None, for requests without TLS.
    None,
}

impl HttpClient {
    /// Creates a client. It does not connect before the first request.
    pub fn new(config: ClientConfig) -> Self {
        Self { config, secure: OnceLock::new(), plain: OnceLock::new() }
    }

    fn client(&self, request: &Request<Bytes>) -> Result<reqwest::Client, TransportError> {
        // A proxy may require TLS even for plain requests, and configured certificates must be validated.
        let no_proxy = self.config.proxy.is_none() && self.config.http_proxy.is_none();
        let no_tls_settings = no_proxy && self.config.extra_certificates.is_empty();
        let is_plain = no_tls_settings && request.uri().scheme_str() == Some("http");
        let (client, roots) =
            if is_plain { (&self.plain, Roots::None) } else { (&self.secure, Roots::System) };
        client.get_or_init(|| build(&self.config, roots)).clone()
    }
}

impl Transport for HttpClient {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'static, Result<HttpResponse, TransportError>> {
        let client = self.client(&request);
        Box::pin(async move {
            let request =
                reqwest::Request::try_from(request).map_err(|error| convert_error(error, Stage::Sending))?;
            let response =
                client?.execute(request).await.map_err(|error| convert_error(error, Stage::Sending))?;
            let (status, headers) = (response.status().as_u16(), response.headers().clone());
            let body = response.bytes_stream().map_err(|error| convert_error(error, Stage::Reading)).boxed();
            Ok(HttpResponse { status, headers, body })
        })
    }
}

fn build(config: &ClientConfig, roots: Roots) -> Result<reqwest::Client, TransportError> {
    let setup_error = |what: &str, error: reqwest::Error| {
        TransportError::Impossible(format!("{what}: {}", cause(&error.without_url())))
    };
    let mut builder = reqwest::Client::builder()
        .no_proxy()
        .user_agent(&config.user_agent)
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(config.connect_timeout)
        .pool_idle_timeout(POOL_IDLE)
        .tcp_keepalive(KEEP_ALIVE)
        .retry(reqwest::retry::never());
    #[cfg(feature = "http2")]
    {
        builder = builder
            .http2_keep_alive_interval(KEEP_ALIVE)
            .http2_keep_alive_timeout(KEEP_ALIVE)
            .http2_adaptive_window(true);
    }
    // reqwest uses the first proxy that matches, so the more specific one comes first.
    let proxies = [
        config.http_proxy.as_ref().map(reqwest::Proxy::http),
        config.proxy.as_ref().map(reqwest::Proxy::all),
    ];
    for proxy in proxies.into_iter().flatten() {
        let mut proxy = proxy.map_err(|error| setup_error("invalid proxy address", error))?;
        if let Some(hosts) = &config.no_proxy {
            proxy = proxy.no_proxy(reqwest::NoProxy::from_string(hosts));
        }
        builder = builder.proxy(proxy);
    }
    if roots == Roots::None {
        builder = builder.tls_certs_only([]);
        return builder.build().map_err(|error| setup_error("cannot set up the HTTP client", error));
    }
    for pem in &config.extra_certificates {
        let certificates = reqwest::Certificate::from_pem_bundle(pem);
        let certificates = certificates.map_err(|error| setup_error("invalid extra certificate", error))?;
        builder = builder.tls_certs_merge(certificates);
    }
    builder.build().map_err(|error| setup_error("cannot set up the HTTP client", error))
}

enum Stage {
    Sending,
    Reading,
}

fn convert_error(error: reqwest::Error, stage: Stage) -> TransportError {
    let (connect, builder, decode) = (error.is_connect(), error.is_builder(), error.is_decode());
    let message = cause(&error.without_url());
    match stage {
        _ if builder => TransportError::Impossible(format!("cannot send the request: {message}")),
        _ if decode => TransportError::Damaged(format!("the body is damaged: {message}")),
        // A retry does not make a certificate trusted. The prefix is rustls's wording.
        Stage::Sending if message.starts_with("invalid peer certificate") => {
            TransportError::Impossible(format!("no connection: {message}"))
        }
        Stage::Sending if connect => TransportError::Broken(format!("no connection: {message}")),
        Stage::Sending => TransportError::Broken(format!("the request failed: {message}")),
        Stage::Reading => TransportError::Broken(format!("the connection broke: {message}")),
    }
}

/// Returns the innermost error, because the outer ones only repeat that something failed.
fn cause(error: &dyn Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
