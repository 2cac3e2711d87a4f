//! One request over one connection to a Unix socket.
//!
//! Invariant: hyper ends the task that drives a connection when the request or its [`Exchange`] is dropped, so dropping a
//! stream closes its connection.

use std::io;
use std::path::Path;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use lariat_api::{Problem, ProblemCode};
use tokio::net::UnixStream;

use crate::unix;

/// Why a request has no response.
#[derive(Debug)]
pub(super) enum ExchangeError {
    /// The connection could not be made, or it broke. Another attempt can succeed.
    Broken(Problem),
    /// The host refused the request. The same request fails again.
    Refused(Problem),
    /// The host accepts connections and sends nothing. Another attempt would wait as long.
    Silent(Problem),
}

/// A response whose body is still arriving.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) response: Response<Incoming>,
}

impl Exchange {
    /// Connects and sends the request. Returns when the head of the response is there.
    pub(super) async fn start(socket: &Path, request: Request<Full<Bytes>>) -> Result<Self, ExchangeError> {
        let stream = UnixStream::connect(socket).await.map_err(|error| unreachable(socket, &error))?;
        if !unix::is_own(&stream) {
            let message = format!("the host at `{}` belongs to another user", socket.display());
            return Err(ExchangeError::Refused(Problem::new(ProblemCode::Forbidden, message)));
        }
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(lost)?;
        // Its error arrives with the response or with the body, and it ends when both are dropped.
        tokio::spawn(async move { drop(connection.await) });
        let response = sender.send_request(request).await.map_err(lost)?;
        Ok(Self { response })
    }

    /// Reads the whole body.
    pub(super) async fn collect(self) -> Result<Bytes, ExchangeError> {
        Ok(self.response.into_body().collect().await.map_err(lost)?.to_bytes())
    }

    /// Reads the next piece of the body; `None` at its end, or if the connection broke.
    pub(super) async fn piece(&mut self) -> Option<Bytes> {
        loop {
            // Frames without data are trailers, which the protocol does not use.
            if let Ok(bytes) = self.response.frame().await?.ok()?.into_data() {
                return Some(bytes);
            }
        }
    }
}

fn unreachable(socket: &Path, error: &io::Error) -> ExchangeError {
    let path = socket.display();
    let problem = Problem::new(ProblemCode::Unavailable, format!("no host responds at `{path}`: {error}"));
    ExchangeError::Broken(problem.with_hint("start one with `lariat host`"))
}

fn lost(error: hyper::Error) -> ExchangeError {
    let message = format!("the connection to the host broke: {error}");
    let problem = Problem::new(ProblemCode::Unavailable, message);
    ExchangeError::Broken(
        problem.with_hint("start the host again with `lariat host`, then repeat the command"),
    )
}
