//! A server on HTTP, for programs of this machine.
//!
//! Invariants: the address is a loopback one; each request needs the bearer token, unless the caller decided otherwise, and is
//! refused without it before its body is read; a request whose `Host` is not this machine, or that a web page sent (`Origin`),
//! is refused, so that a page which resolves its name to this machine gains nothing.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use lariat_core::cancel::CancellationToken;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::ToolServer;
use super::handler::Handler;
use crate::line_pipe::MAX_MESSAGE;

/// The path of the server.
const PATH: &str = "/mcp";
/// Maximum number of connections at a time. Further clients wait in the queue of the kernel.
const MAX_CONNECTIONS: usize = 64;
/// How long a client may take to send the headers of a request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the server waits after it could not accept a connection, for example without free file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

type Service = StreamableHttpService<Handler, LocalSessionManager>;
type ResponseBody = BoxBody<Bytes, Infallible>;

/// An address on which a server accepts clients.
#[derive(Debug)]
pub struct HttpServer {
    listener: TcpListener,
    address: SocketAddr,
    /// The hash of the token: comparing hashes takes the same time wherever two tokens differ.
    token: Option<blake3::Hash>,
}

impl HttpServer {
    /// Binds an address of this machine. `token` is what clients must send; `None` lets every program of this machine in.
    ///
    /// # Errors
    /// If the address is not a loopback one, or the system refuses it.
    pub async fn bind(address: SocketAddr, token: Option<&str>) -> io::Result<Self> {
        if !address.ip().is_loopback() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the address is not a loopback one, such as 127.0.0.1",
            ));
        }
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address, token: token.map(|token| blake3::hash(token.as_bytes())) })
    }

    /// The URL for clients.
    pub fn url(&self) -> String {
        format!("http://{}{PATH}", self.address)
    }

    /// Serves clients until `stop` is cancelled, which ends their calls.
    pub async fn serve(self, server: &ToolServer, stop: CancellationToken) {
        let config = StreamableHttpServerConfig::default()
            .enforce_origin_validation()
            .with_max_request_body_bytes(MAX_MESSAGE);
        let ending = config.cancellation_token.clone();
        let handler = server.0.clone();
        let service = Service::new(move || Ok(handler.clone()), Arc::default(), config);
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                Some(_) = connections.join_next() => {}
                accepted = self.listener.accept(), if connections.len() < MAX_CONNECTIONS => {
                    let Ok((stream, _)) = accepted else {
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                        continue;
                    };
                    let (service, token) = (service.clone(), self.token);
                    let respond = move |request| respond(service.clone(), token, request);
                    let mut builder = http1::Builder::new();
                    builder.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
                    connections.spawn(builder.serve_connection(TokioIo::new(stream), service_fn(respond)));
                }
            }
        }
        ending.cancel();
        connections.shutdown().await;
    }
}

async fn respond(
    service: Service,
    token: Option<blake3::Hash>,
    request: Request<Incoming>,
) -> Result<Response<ResponseBody>, Infallible> {
    if token.is_some_and(|token| sent_token(&request) != Some(token)) {
        let mut refused = refusal(StatusCode::UNAUTHORIZED, "a valid bearer token is required");
        refused.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        return Ok(refused);
    }
    if request.uri().path() != PATH {
        return Ok(refusal(StatusCode::NOT_FOUND, "the path of this server is /mcp"));
    }
    Ok(service.handle(request).await)
}

fn sent_token(request: &Request<Incoming>) -> Option<blake3::Hash> {
    let sent = request.headers().get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = sent.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| blake3::hash(token.trim().as_bytes()))
}

fn refusal(status: StatusCode, text: &'static str) -> Response<ResponseBody> {
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())).boxed());
    *response.status_mut() = status;
    response
}
