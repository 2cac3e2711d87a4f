//! [`Remote`]: the sessions of a host behind a Unix socket.
//!
//! - `exchange`: one request over one connection.
//! - `retry`: how often to repeat a request whose connection broke.
//! - `patience`: how long to wait for a host that sends nothing.
//! - `feed`: reads the events of a stream, and connects again where it was cut.
//!
//! Invariants: every request has its own connection, so no request waits for another; a [`Problem`] of the host arrives
//! unchanged; a request whose connection broke is repeated, which is safe because every request of the protocol is
//! idempotent; no request waits without limit for a host that does not respond; a reader of a log receives every event exactly once, over any number of lost connections.

mod exchange;
mod feed;
mod patience;
mod retry;

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, header};
use http_body_util::Full;
use lariat_api::{
    ContextUse, CreateSession, FileDiff, FileList, ItemStream, Live, LogItem, LogRequest, Problem,
    ProblemCode, Receipt, SessionChange, SessionCommand, SessionFilter, SessionPage, SessionView, Sessions,
};
use lariat_core::BoxFuture;
use lariat_core::id::SessionId;
use lariat_core::store::BlobHash;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::host::HostStatus;
use crate::wire;
use exchange::{Exchange, ExchangeError};
use feed::{ChangesFeed, LiveFeed, LogFeed};
pub use patience::Patience;
pub use retry::RetryPolicy;

/// The sessions of a host behind a Unix socket. Clones share nothing but the address.
#[derive(Clone, Debug)]
pub struct Remote {
    socket: Arc<PathBuf>,
    retry: RetryPolicy,
    patience: Patience,
}

/// What a request sends.
struct OutgoingRequest {
    method: Method,
    path: String,
    body: Option<Bytes>,
}

impl OutgoingRequest {
    fn get(path: String) -> Self {
        Self { method: Method::GET, path, body: None }
    }

    fn post(path: String, body: &impl Serialize) -> Result<Self, Problem> {
        let body = serde_json::to_vec(body).map_err(|error| {
            Problem::new(ProblemCode::Invalid, format!("the request cannot be written: {error}"))
        })?;
        // A host refuses it before it read everything, which looks like a lost connection.
        if body.len() > wire::MAX_BODY {
            return Err(wire::too_large());
        }
        Ok(Self { method: Method::POST, path, body: Some(body.into()) })
    }

    fn request(&self) -> Result<Request<Full<Bytes>>, Problem> {
        let mut request =
            Request::builder().method(&self.method).uri(&self.path).header(header::HOST, "lariat");
        if self.body.is_some() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        request.body(Full::new(self.body.clone().unwrap_or_default())).map_err(|error| {
            Problem::new(ProblemCode::Invalid, format!("the request cannot be written: {error}"))
        })
    }
}

impl Remote {
    /// Creates a client of the host that serves `socket`. It does not connect before the first request.
    pub fn new(socket: impl Into<PathBuf>) -> Self {
        let (retry, patience) = (RetryPolicy::default(), Patience::default());
        Self { socket: Arc::new(socket.into()), retry, patience }
    }

    /// Sets how long to wait for a host that sends nothing.
    #[must_use]
    pub const fn with_patience(mut self, patience: Patience) -> Self {
        self.patience = patience;
        self
    }

    /// Sets how often to repeat a request whose connection broke.
    #[must_use]
    pub const fn with_retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }

    /// Asks the host to describe itself.
    ///
    /// # Errors
    /// If no host responds.
    pub async fn host(&self) -> Result<HostStatus, Problem> {
        self.get("/v1/host".to_owned()).await
    }

    /// Asks the host to stop. It hands its sessions over first, so it can still respond for a while.
    ///
    /// # Errors
    /// If no host responds.
    pub async fn stop_host(&self) -> Result<HostStatus, Problem> {
        self.read(&OutgoingRequest::post("/v1/host/stop".to_owned(), &())?).await
    }

    async fn get<T: DeserializeOwned>(&self, path: String) -> Result<T, Problem> {
        self.read(&OutgoingRequest::get(path)).await
    }

    async fn read<T: DeserializeOwned>(&self, outgoing: &OutgoingRequest) -> Result<T, Problem> {
        let bytes = self.bytes(outgoing).await?;
        serde_json::from_slice(&bytes).map_err(|error| unreadable(&error))
    }

    /// Sends a request and reads the whole response, again if the connection breaks before the end.
    async fn bytes(&self, outgoing: &OutgoingRequest) -> Result<Bytes, Problem> {
        let mut attempts = self.retry.attempts();
        loop {
            let result = match self.open_once(outgoing).await {
                Ok(exchange) => self.while_host_responds(exchange.collect()).await,
                Err(error) => Err(error),
            };
            match result {
                Ok(bytes) => return Ok(bytes),
                Err(error) => attempts.wait_after(error).await?,
            }
        }
    }

    /// Sends a request and returns the response with its body still arriving, again if the connection breaks before.
    async fn open(&self, outgoing: &OutgoingRequest) -> Result<Exchange, Problem> {
        let mut attempts = self.retry.attempts();
        loop {
            match self.open_once(outgoing).await {
                Ok(exchange) => return Ok(exchange),
                Err(error) => attempts.wait_after(error).await?,
            }
        }
    }

    async fn open_once(&self, outgoing: &OutgoingRequest) -> Result<Exchange, ExchangeError> {
        let request = outgoing.request().map_err(ExchangeError::Refused)?;
        let exchange = self.while_host_responds(Exchange::start(&self.socket, request)).await?;
        if exchange.response.status().is_success() {
            return Ok(exchange);
        }
        let status = exchange.response.status();
        let body = self.while_host_responds(exchange.collect()).await?;
        Err(ExchangeError::Refused(serde_json::from_slice(&body).unwrap_or_else(|_| {
            let message = format!("the host responded with HTTP {status} and no description");
            Problem::new(ProblemCode::Internal, message)
        })))
    }
}

/// The problem of a response that this version cannot read.
fn unreadable(error: &serde_json::Error) -> Problem {
    Problem::new(
        ProblemCode::Internal,
        format!("the host sent a response that this version cannot read: {error}"),
    )
    .with_hint("use the same version of the program as the host")
}

impl Sessions for Remote {
    fn create(&self, request: CreateSession) -> BoxFuture<'_, Result<SessionView, Problem>> {
        Box::pin(async move { self.read(&OutgoingRequest::post("/v1/sessions".to_owned(), &request)?).await })
    }

    fn list(&self, filter: SessionFilter) -> BoxFuture<'_, Result<SessionPage, Problem>> {
        Box::pin(async move { self.get(wire::list_path(&filter).map_err(|error| unreadable(&error))?).await })
    }

    fn view<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<SessionView, Problem>> {
        Box::pin(self.get(wire::session_path(session_id.as_str(), &[])))
    }

    fn send<'a>(
        &'a self,
        session_id: &'a SessionId,
        command: SessionCommand,
    ) -> BoxFuture<'a, Result<Receipt, Problem>> {
        let path = wire::session_path(session_id.as_str(), &["commands"]);
        Box::pin(async move { self.read(&OutgoingRequest::post(path, &command)?).await })
    }

    fn log<'a>(
        &'a self,
        session_id: &'a SessionId,
        request: LogRequest,
    ) -> BoxFuture<'a, Result<ItemStream<LogItem>, Problem>> {
        Box::pin(feed::open(self.clone(), LogFeed::new(session_id.clone(), request)))
    }

    fn live<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<ItemStream<Live>, Problem>> {
        Box::pin(feed::open(self.clone(), LiveFeed::new(session_id.clone())))
    }

    fn changes(&self) -> BoxFuture<'_, Result<ItemStream<SessionChange>, Problem>> {
        Box::pin(feed::open(self.clone(), ChangesFeed))
    }

    fn diff<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<Vec<FileDiff>, Problem>> {
        Box::pin(self.get(wire::session_path(session_id.as_str(), &["diff"])))
    }

    fn files<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<FileList, Problem>> {
        Box::pin(self.get(wire::session_path(session_id.as_str(), &["files"])))
    }

    fn context<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<ContextUse, Problem>> {
        Box::pin(self.get(wire::session_path(session_id.as_str(), &["context"])))
    }

    fn blob<'a>(
        &'a self,
        session_id: &'a SessionId,
        hash: &'a BlobHash,
    ) -> BoxFuture<'a, Result<Vec<u8>, Problem>> {
        let path = wire::session_path(session_id.as_str(), &["blobs", &hash.0]);
        Box::pin(async move { Ok(self.bytes(&OutgoingRequest::get(path)).await?.into()) })
    }
}
