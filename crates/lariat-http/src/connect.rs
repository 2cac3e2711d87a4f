//! Makes connections: resolves a name, checks its addresses, connects, goes through a proxy, and sets up TLS.
//!
//! Invariant: with an [`AddressCheck`], the client connects only to addresses that passed it, or to a configured proxy.
//! The check sees the address that is connected to, whatever the text of the request's address was.

use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use std::{io, vec};

use http::header::USER_AGENT;
use http::uri::Scheme;
use http::{HeaderMap, HeaderValue, Uri};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::client::legacy::connect::proxy::{SocksV4, SocksV5, Tunnel};
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::client::proxy::matcher::Intercept;
use hyper_util::rt::TokioIo;
use lariat_core::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};
use tower_service::Service;

use crate::failure::{BoxError, UnreachableError};
use crate::proxies::Proxies;
use crate::tls::{Peer, Tls, is_http2};

/// Time without traffic before the first probe of a connection. Probes detect a dead connection while a model thinks.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(30);
/// Time between further probes.
const PROBE_INTERVAL: Duration = Duration::from_secs(15);
/// Probes without an answer after which a connection is dead.
const PROBES: u32 = 3;
/// How long sent bytes may stay unacknowledged (Linux).
#[cfg(target_os = "linux")]
const UNACKNOWLEDGED: Duration = Duration::from_secs(30);
/// The port of a SOCKS proxy whose address names none.
const SOCKS_PORT: u16 = 1080;

/// Decides which addresses a client may connect to.
pub trait AddressCheck: Send + Sync {
    /// Checks `address`, to which `host` resolved, or which is `host` itself.
    ///
    /// # Errors
    /// Returns the reason why the client must not connect there. It becomes part of the client's error.
    fn check(&self, host: &str, address: IpAddr) -> Result<(), String>;
}

/// What a client needs to make connections. Clones share it.
#[derive(Clone)]
pub(crate) struct Connector(Arc<Routes>);

struct Routes {
    servers: HttpConnector<HostResolver>,
    /// The user chose the addresses of proxies, so they are not checked.
    proxy_servers: HttpConnector<HostResolver>,
    resolver: HostResolver,
    proxies: Arc<Proxies>,
    tls: Tls,
    agent: HeaderValue,
    timeout: Duration,
}

impl Connector {
    pub(crate) fn new(
        check: Option<Arc<dyn AddressCheck>>,
        proxies: Arc<Proxies>,
        tls: Tls,
        agent: HeaderValue,
        timeout: Duration,
    ) -> Self {
        let resolver = HostResolver { check };
        Self(Arc::new(Routes {
            servers: tcp(resolver.clone(), timeout),
            proxy_servers: tcp(HostResolver { check: None }, timeout),
            resolver,
            proxies,
            tls,
            agent,
            timeout,
        }))
    }
}

fn tcp(resolver: HostResolver, timeout: Duration) -> HttpConnector<HostResolver> {
    let mut tcp = HttpConnector::new_with_resolver(resolver);
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(timeout));
    tcp.set_keepalive(Some(KEEP_ALIVE));
    tcp.set_keepalive_interval(Some(PROBE_INTERVAL));
    tcp.set_keepalive_retries(Some(PROBES));
    #[cfg(target_os = "linux")]
    tcp.set_tcp_user_timeout(Some(UNACKNOWLEDGED));
    tcp
}

impl Service<Uri> for Connector {
    type Response = Link;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Link, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let routes = Arc::clone(&self.0);
        Box::pin(async move {
            let connecting = Box::pin(routes.connect(&uri));
            let timed_out = |_| Err(io::Error::new(io::ErrorKind::TimedOut, "operation timed out").into());
            tokio::time::timeout(routes.timeout, connecting).await.unwrap_or_else(timed_out)
        })
    }
}

impl Routes {
    async fn connect(&self, uri: &Uri) -> Result<Link, BoxError> {
        let Some(proxy) = self.proxies.for_uri(uri) else {
            // An address is not resolved, so the resolver does not check it.
            if let Ok(address) = host(uri)?.parse() {
                self.resolver.check(host(uri)?, address)?;
            }
            let socket = self.servers.clone().call(uri.clone()).await?.into_inner();
            return self.secured(uri, Box::new(socket)).await;
        };
        let socket = self.proxy_socket(&proxy).await?;
        let to_proxy = EstablishedConnection(Some(TokioIo::new(socket)));
        let scheme = proxy.uri().scheme_str().unwrap_or_default();
        let socket = match scheme {
            "socks5" | "socks5h" => {
                let mut socks = SocksV5::new(proxy.uri().clone(), to_proxy);
                if let Some((user, password)) = proxy.raw_auth() {
                    socks = socks.with_auth(user.to_owned(), password.to_owned());
                }
                socks.call(self.socks_target(scheme, uri).await?).await?
            }
            "socks4" | "socks4a" => {
                SocksV4::new(proxy.uri().clone(), to_proxy)
                    .call(self.socks_target(scheme, uri).await?)
                    .await?
            }
            _ if uri.scheme() == Some(&Scheme::HTTPS) => {
                let agent = HeaderMap::from_iter([(USER_AGENT, self.agent.clone())]);
                let mut tunnel = Tunnel::new(proxy.uri().clone(), to_proxy).with_headers(agent);
                if let Some(authorization) = proxy.basic_auth() {
                    tunnel = tunnel.with_auth(authorization.clone());
                }
                tunnel.call(uri.clone()).await?
            }
            // The proxy reads the request itself.
            _ => return Ok(Link { socket: to_proxy.take()?, protocol: WireProtocol::ProxiedHttp1 }),
        };
        self.secured(uri, socket.into_inner()).await
    }

    /// Connects to a proxy, with TLS if its address says so.
    async fn proxy_socket(&self, proxy: &Intercept) -> Result<Box<dyn Socket>, BoxError> {
        let scheme = proxy.uri().scheme_str().unwrap_or_default();
        let is_socks = scheme.starts_with("socks");
        let uri = match proxy.uri().port() {
            None if is_socks => with_port(scheme, host_text(proxy.uri())?, SOCKS_PORT)?,
            _ => proxy.uri().clone(),
        };
        let socket = self.proxy_servers.clone().call(uri).await?.into_inner();
        if proxy.uri().scheme() != Some(&Scheme::HTTPS) {
            return Ok(Box::new(socket));
        }
        Ok(Box::new(self.tls.connect(Peer::Proxy, host(proxy.uri())?, socket).await?))
    }

    /// The address that a SOCKS proxy connects to. The schemes without a suffix resolve names here.
    async fn socks_target(&self, scheme: &str, uri: &Uri) -> Result<Uri, BoxError> {
        let default = if uri.scheme() == Some(&Scheme::HTTPS) { 443 } else { 80 };
        let port = uri.port_u16().unwrap_or(default);
        if !matches!(scheme, "socks5" | "socks4") {
            return with_port("http", host_text(uri)?, port);
        }
        let addresses = match host(uri)?.parse::<IpAddr>() {
            Ok(address) => {
                self.resolver.check(host(uri)?, address).map(|()| vec![SocketAddr::new(address, port)])?
            }
            Err(_) => self.resolver.resolve(host(uri)?).await?,
        };
        // SOCKS 4 knows no IPv6 addresses.
        let usable = |address: &&SocketAddr| scheme == "socks5" || address.is_ipv4();
        let address =
            addresses.iter().find(usable).ok_or("the name has no address that the proxy supports")?;
        Ok(format!("http://{}", SocketAddr::new(address.ip(), port)).parse()?)
    }

    /// Sets up TLS with the server if the address says so.
    async fn secured(&self, uri: &Uri, socket: Box<dyn Socket>) -> Result<Link, BoxError> {
        if uri.scheme() != Some(&Scheme::HTTPS) {
            return Ok(Link { socket: TokioIo::new(socket), protocol: WireProtocol::Http1 });
        }
        let stream = self.tls.connect(Peer::Server, host(uri)?, socket).await?;
        let protocol = if is_http2(&stream) { WireProtocol::Http2 } else { WireProtocol::Http1 };
        let socket: Box<dyn Socket> = Box::new(stream);
        Ok(Link { socket: TokioIo::new(socket), protocol })
    }
}

/// The host as an address writes it: an IPv6 address in brackets.
fn host_text(uri: &Uri) -> Result<&str, BoxError> {
    uri.host().ok_or_else(|| "the address has no host".into())
}

/// The host without brackets.
fn host(uri: &Uri) -> Result<&str, BoxError> {
    Ok(host_text(uri)?.trim_start_matches('[').trim_end_matches(']'))
}

fn with_port(scheme: &str, host: &str, port: u16) -> Result<Uri, BoxError> {
    Ok(format!("{scheme}://{host}:{port}/").parse()?)
}

/// Resolves names, and leaves out the addresses that the check denies.
#[derive(Clone)]
struct HostResolver {
    check: Option<Arc<dyn AddressCheck>>,
}

impl HostResolver {
    fn check(&self, host: &str, address: IpAddr) -> Result<(), UnreachableError> {
        self.check.as_ref().map_or(Ok(()), |check| check.check(host, address)).map_err(UnreachableError)
    }

    async fn resolve(&self, host: &str) -> Result<Vec<SocketAddr>, BoxError> {
        let mut denied = None;
        let mut addresses = Vec::new();
        for address in tokio::net::lookup_host((host, 0)).await? {
            match self.check(host, address.ip()) {
                Ok(()) => addresses.push(address),
                Err(reason) => denied = Some(reason),
            }
        }
        match denied {
            Some(reason) if addresses.is_empty() => Err(reason.into()),
            _ => Ok(addresses),
        }
    }
}

impl Service<Name> for HostResolver {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let resolver = self.clone();
        Box::pin(async move { Ok(resolver.resolve(name.as_str()).await?.into_iter()) })
    }
}

/// Hands a connection to a proxy to the handshakes of hyper-util, which would make it themselves and then hide why that
/// failed.
struct EstablishedConnection(Option<TokioIo<Box<dyn Socket>>>);

impl EstablishedConnection {
    fn take(mut self) -> io::Result<TokioIo<Box<dyn Socket>>> {
        self.0.take().ok_or_else(|| io::Error::other("the connection is in use"))
    }
}

impl Service<Uri> for EstablishedConnection {
    type Response = TokioIo<Box<dyn Socket>>;
    type Error = io::Error;
    type Future = std::future::Ready<io::Result<Self::Response>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        std::future::ready(Self(self.0.take()).take())
    }
}

/// A byte stream in both directions.
trait Socket: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Socket for T {}

/// What is spoken on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WireProtocol {
    Http1,
    /// Requests name the whole address, because a proxy reads them.
    ProxiedHttp1,
    Http2,
}

/// A connection that is ready for requests.
pub(crate) struct Link {
    socket: TokioIo<Box<dyn Socket>>,
    protocol: WireProtocol,
}

impl Connection for Link {
    fn connected(&self) -> Connected {
        match self.protocol {
            WireProtocol::Http1 => Connected::new(),
            WireProtocol::ProxiedHttp1 => Connected::new().proxy(true),
            WireProtocol::Http2 => Connected::new().negotiated_h2(),
        }
    }
}

impl Read for Link {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(cx, buffer)
    }
}

impl Write for Link {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write_vectored(cx, pieces)
    }
}
