//! Runs the scripted server on a socket: HTTP/1.1 and HTTP/2 with prior knowledge, on a loopback port.
//!
//! Validates each request, asks the script for the response and sends the bytes. It must run inside a tokio
//! runtime.
//! Invariant: every request to a known path is recorded, rejected or not, unless the script says not to;
//! dropping the `Server` closes every connection.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame as BodyFrame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use super::script::{self, Answer, Frame, RawResponse, Request, Script};
use super::{Operation, Wire, counting, render, validate};

type Body = UnsyncBoxBody<Bytes, io::Error>;

/// A running server, stopped on drop.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
    accepting: JoinHandle<()>,
}

impl Server {
    /// Starts on a free loopback port.
    ///
    /// # Errors
    ///
    /// Fails if no port can be bound.
    pub async fn start(script: Script) -> io::Result<Self> {
        Self::start_on(0, script).await
    }

    /// Starts on a loopback port; 0 means any free one.
    ///
    /// # Errors
    ///
    /// Fails if the port cannot be bound.
    pub async fn start_on(port: u16, script: Script) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = listener.local_addr()?;
        let requests = Arc::new(Mutex::new(Vec::new()));
        let state = Arc::new(State { script, requests: Arc::clone(&requests) });
        let accepting = tokio::spawn(accept(listener, state));
        Ok(Self { address, requests, accepting })
    }

    /// The address on which the server listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The base URL of a protocol, as its official SDK expects it.
    #[must_use]
    pub fn base_url(&self, wire: Wire) -> String {
        format!("http://{}{}", self.address, wire.base_path())
    }

    /// Every request so far.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Runs until the runtime ends.
    pub async fn wait(mut self) {
        // An error means that the task was aborted: the server is gone either way.
        let _ = (&mut self.accepting).await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

struct State {
    script: Script,
    requests: Arc<Mutex<Vec<Request>>>,
}

/// Accepts connections. They belong to this task's set, which aborts them when the task is aborted.
async fn accept(listener: TcpListener, state: Arc<State>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                // Continue if a client disconnects before it was accepted.
                let Ok((socket, _)) = accepted else { continue };
                connections.spawn(serve(socket, Arc::clone(&state)));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve(socket: TcpStream, state: Arc<State>) {
    // Frames are small and each should be sent at once. If this fails, sending is only slower.
    let _ = socket.set_nodelay(true);
    let service = service_fn(move |request| {
        let state = Arc::clone(&state);
        async move { Ok::<_, Infallible>(state.respond(request).await) }
    });
    let builder = auto::Builder::new(TokioExecutor::new());
    // Ignore errors of clients that hang up or that we disconnect on purpose.
    let _ = builder.serve_connection(TokioIo::new(socket), service).await;
}

impl State {
    async fn respond(&self, request: http::Request<Incoming>) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let bytes = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
        let mut headers = parts.headers;
        // HTTP/2 names the host outside the headers, but it is signed like a header.
        if let Some(authority) = parts.uri.authority()
            && let Ok(value) = HeaderValue::from_str(authority.as_str())
        {
            headers.entry("host").or_insert(value);
        }
        let Some((wire, operation)) = Wire::of_path(parts.uri.path()) else {
            let body = br#"{"error":{"message":"no such path"}}"#.to_vec();
            return reply(
                None,
                RawResponse { status: 404, headers: Vec::new(), frames: vec![Frame::Bytes(body)] },
            );
        };
        let (request, answer) = self.decide(wire, operation, &parts.method, path, headers, &bytes);
        let raw = script::raw(answer, &request);
        if !self.script.forgets() {
            self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        }
        reply(Some(wire), raw)
    }

    fn decide(
        &self,
        wire: Wire,
        operation: Operation,
        method: &Method,
        path: String,
        headers: HeaderMap,
        bytes: &[u8],
    ) -> (Request, Answer) {
        let body: Option<Value> = serde_json::from_slice(bytes).ok();
        let parsed = body.is_some();
        let body = body.unwrap_or_default();
        let (model, streaming) = match &operation {
            Operation::Models => (None, Some(false)),
            Operation::Count { model } => (model.clone(), Some(false)),
            Operation::Generate { model, streaming } => (model.clone(), *streaming),
        };
        let named = || super::json::text(&body, "model").unwrap_or_default().to_owned();
        let flagged = || body.get("stream").and_then(Value::as_bool).unwrap_or_default();
        let mut request = Request {
            wire,
            method: method.to_string(),
            path,
            headers,
            model: model.unwrap_or_else(named),
            streaming: streaming.unwrap_or_else(flagged),
            body,
            problems: Vec::new(),
        };
        let allowed = if operation == Operation::Models { Method::GET } else { Method::POST };
        if *method != allowed {
            return (request, Answer::error(wire, 405, "Method Not Allowed"));
        }
        if operation == Operation::Models {
            let answer = match validate::check_access(wire, &request.path, &request.headers) {
                Ok(()) => listing(wire, &request.path),
                Err(error) => Answer::Error(error),
            };
            return (request, answer);
        }
        if let Operation::Count { .. } = operation {
            let answer = self.count(&mut request, bytes);
            return (request, answer);
        }
        if self.script.is_checked() {
            if !parsed {
                request.problems.push("the body is not JSON".to_owned());
                return (request, Answer::error(wire, 400, "The request body is not valid JSON."));
            }
            let checked =
                validate::check_parsed(wire, &request.path, &request.headers, &request.body, Some(bytes));
            if let Err(refusal) = checked {
                let text = String::from_utf8_lossy(&refusal.answer.body).into_owned();
                request.problems = refusal.problems.iter().map(ToString::to_string).collect();
                if request.problems.is_empty() {
                    request.problems.push(text);
                }
                return (request, Answer::Error(refusal.answer));
            }
        }
        let answer = self.script.play(&request);
        (request, answer)
    }
}

impl State {
    /// Handles a token-counting request: validates the request that it wraps, and responds without the
    /// script.
    fn count(&self, request: &mut Request, bytes: &[u8]) -> Answer {
        let wire = request.wire;
        let refused = |request: &mut Request, why: String| {
            let answer = Answer::error(wire, 400, &why);
            request.problems.push(why);
            answer
        };
        let reply = match counting::unwrap_request(wire, &request.body) {
            Ok(reply) => reply,
            Err(why) => return refused(request, why),
        };
        if let Err(refusal) = validate::check_counted(wire, &request.path, &request.headers, &reply, bytes) {
            let text = String::from_utf8_lossy(&refusal.answer.body).into_owned();
            return refused(request, text);
        }
        counting::answer(wire, self.script.count(&reply))
    }
}

fn listing(wire: Wire, path: &str) -> Answer {
    let query = path.split_once('?').map_or("", |(_, query)| query);
    let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    Answer::Raw(RawResponse { status: 200, headers, frames: vec![Frame::Bytes(render::models(wire, query))] })
}

fn reply(wire: Option<Wire>, raw: RawResponse) -> Response<Body> {
    let mut response = Response::new(body(raw.frames));
    *response.status_mut() = StatusCode::from_u16(raw.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    for (name, value) in raw.headers {
        if let (Ok(name), Ok(value)) = (http::HeaderName::try_from(name), HeaderValue::try_from(value)) {
            headers.append(name, value);
        }
    }
    let kind = wire.map_or("application/json", render::content_type);
    headers.entry("content-type").or_insert(HeaderValue::from_static(kind));
    if let Some(wire) = wire {
        for (name, value) in render::error_headers(wire, 200) {
            if name != "x-amzn-errortype"
                && let (Ok(name), Ok(value)) =
                    (http::HeaderName::try_from(name), HeaderValue::try_from(value))
            {
                headers.entry(name).or_insert(value);
            }
        }
    }
    response
}

fn body(frames: Vec<Frame>) -> Body {
    match <[Frame; 1]>::try_from(frames) {
        // A single chunk has a content length, as a complete reply of a real API has.
        Ok([Frame::Bytes(bytes)]) => {
            Full::new(Bytes::from(bytes)).map_err(|never: Infallible| match never {}).boxed_unsync()
        }
        Ok([other]) => StreamBody::new(play_frames(vec![other])).boxed_unsync(),
        Err(frames) => StreamBody::new(play_frames(frames)).boxed_unsync(),
    }
}

/// Sends the frames in order; a reset ends the body with an error, which makes hyper cut the connection.
fn play_frames(frames: Vec<Frame>) -> impl Stream<Item = io::Result<BodyFrame<Bytes>>> + Send {
    stream::iter(frames).filter_map(|frame| async move {
        match frame {
            Frame::Bytes(bytes) => Some(Ok(BodyFrame::data(Bytes::from(bytes)))),
            Frame::Pause(time) => {
                tokio::time::sleep(time).await;
                None
            }
            Frame::Stall => std::future::pending().await,
            Frame::Reset => Some(Err(io::Error::from(io::ErrorKind::ConnectionReset))),
        }
    })
}
