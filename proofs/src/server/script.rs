//! Decides how the server responds: from a queue of responses, or with a function of the request.
//!
//! Also adapts a response to the request (model, usage, encrypted reasoning). `render` makes the bytes,
//! `host` has the sockets.
//! Invariant: every valid request consumes exactly one response; an empty queue responds with 500.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::HeaderMap;
use serde_json::Value;

use super::render::{self, ApiError};
use super::{Turn, TurnBlock, Wire, json, tool_loop};

/// A request as the server received it.
#[derive(Debug, Clone)]
pub struct Request {
    /// The protocol.
    pub wire: Wire,
    /// `GET` or `POST`.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The parsed body; null if there is none or it is not JSON.
    pub body: Value,
    /// The requested model, from the path or the body.
    pub model: String,
    /// Whether the client requested a stream.
    pub streaming: bool,
    /// Why the request was rejected before the script saw it; empty if it was not.
    pub problems: Vec<String>,
}

/// How the server responds to a request.
#[derive(Debug, Clone)]
pub enum Answer {
    /// A reply of the model, streamed or not, as requested.
    Turn(Turn),
    /// A failed reply.
    Error(ApiError),
    /// Any bytes.
    Raw(RawResponse),
}

/// A response in bytes.
#[derive(Debug, Clone)]
pub struct RawResponse {
    /// The HTTP status.
    pub status: u16,
    /// The headers; the content type defaults to that of the protocol.
    pub headers: Vec<(String, String)>,
    /// The body, in order.
    pub frames: Vec<Frame>,
}

/// A part of a raw response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// Bytes, sent as one chunk.
    Bytes(Vec<u8>),
    /// A pause.
    Pause(Duration),
    /// No more data until the client gives up.
    Stall,
    /// The connection (HTTP/1.1) or the stream (HTTP/2) is aborted.
    Reset,
}

impl Answer {
    /// A stream of whole frames with status 200.
    #[must_use]
    pub fn frames(frames: impl IntoIterator<Item = Vec<u8>>) -> Self {
        let frames = frames.into_iter().map(Frame::Bytes).collect();
        Self::Raw(RawResponse { status: 200, headers: Vec::new(), frames })
    }

    /// An error in the API's own wording for a status.
    #[must_use]
    pub fn error(wire: Wire, status: u16, message: &str) -> Self {
        Self::Error(ApiError::new(wire, status, message))
    }
}

impl From<Turn> for Answer {
    fn from(turn: Turn) -> Self {
        Self::Turn(turn)
    }
}

/// Whether requests are validated before the script sees them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Strictness {
    Checked,
    Unchecked,
}

type Function = Box<dyn Fn(&Request) -> Answer + Send + Sync>;

enum Source {
    Queue(Mutex<VecDeque<Answer>>),
    Function(Function),
}

/// How a server responds.
pub struct Script {
    source: Source,
    count: fn(&Value) -> u64,
    strictness: Strictness,
    /// Whether requests are not recorded.
    forgets: bool,
}

impl fmt::Debug for Script {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = match &self.source {
            Source::Queue(queue) => {
                format!("{} answers", queue.lock().unwrap_or_else(PoisonError::into_inner).len())
            }
            Source::Function(_) => "a function".to_owned(),
        };
        formatter
            .debug_struct("Script")
            .field("source", &source)
            .field("strictness", &self.strictness)
            .finish()
    }
}

impl Script {
    /// Gives the responses in order.
    #[must_use]
    pub fn queue<I>(answers: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<Answer>,
    {
        let answers = answers.into_iter().map(Into::into).collect();
        Self::of(Source::Queue(Mutex::new(answers)))
    }

    /// Computes each response from its request.
    #[must_use]
    pub fn answer(function: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        Self::of(Source::Function(Box::new(function)))
    }

    fn of(source: Source) -> Self {
        Self { source, count: quarter, strictness: Strictness::Checked, forgets: false }
    }

    /// Plays a model that uses tools. The reply to a prompt has (thinking, if requested,) text and a call of
    /// each of the first two tools; the reply to results quotes them. A prompt can also request errors:
    /// `!status N`, `!overflow`, `!stream-error`, `!stop length|refusal|pause|context|sequence`.
    #[must_use]
    pub fn tool_loop() -> Self {
        Self::answer(tool_loop::answer)
    }

    /// Passes every request to the script without validation.
    #[must_use]
    pub fn unchecked(mut self) -> Self {
        self.strictness = Strictness::Unchecked;
        self
    }

    /// Sets the function that counts the tokens of a request.
    #[must_use]
    pub fn counting(mut self, count: fn(&Value) -> u64) -> Self {
        self.count = count;
        self
    }

    pub(super) fn count(&self, body: &Value) -> u64 {
        (self.count)(body)
    }

    /// Does not record requests: for runs that send gigabytes.
    #[must_use]
    pub fn forgetting(mut self) -> Self {
        self.forgets = true;
        self
    }

    pub(super) const fn forgets(&self) -> bool {
        self.forgets
    }

    pub(super) fn is_checked(&self) -> bool {
        self.strictness == Strictness::Checked
    }

    pub(super) fn play(&self, request: &Request) -> Answer {
        match &self.source {
            Source::Function(function) => function(request),
            Source::Queue(queue) => queue
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .pop_front()
                .unwrap_or_else(|| Answer::error(request.wire, 500, "the script has no more answers")),
        }
    }
}

/// Assumes a token per four characters of JSON.
fn quarter(body: &Value) -> u64 {
    body.to_string().len() as u64 / 4
}

/// Adapts the turn to a request: sets the requested model, and omits what was not requested.
pub(super) fn adapt_to_request(mut turn: Turn, request: &Request) -> Turn {
    if turn.model.is_empty() {
        turn.model.clone_from(&request.model);
    }
    match request.wire {
        Wire::OpenAiChat if request.streaming => {
            let options = request.body.get("stream_options");
            if options.and_then(|options| options.get("include_usage")) != Some(&Value::Bool(true)) {
                turn.usage = None;
            }
        }
        Wire::OpenAiResponses | Wire::AzureResponses => {
            let wanted = Value::from("reasoning.encrypted_content");
            if !json::list(&request.body, "include").contains(&wanted) {
                for block in &mut turn.blocks {
                    if let TurnBlock::Thinking { signature, .. } = block {
                        *signature = None;
                    }
                }
            }
        }
        _ => {}
    }
    turn
}

/// Any response as raw bytes.
pub(super) fn raw(answer: Answer, request: &Request) -> RawResponse {
    let json = || vec![("content-type".to_owned(), "application/json".to_owned())];
    match answer {
        Answer::Raw(raw) => raw,
        Answer::Error(error) => {
            let headers = json().into_iter().chain(error.headers).collect();
            RawResponse { status: error.status, headers, frames: vec![Frame::Bytes(error.body)] }
        }
        Answer::Turn(turn) => {
            let turn = adapt_to_request(turn, request);
            if request.streaming {
                let frames = render::stream(request.wire, &turn).into_iter().map(Frame::Bytes).collect();
                RawResponse { status: 200, headers: Vec::new(), frames }
            } else {
                let body = render::whole(request.wire, &turn);
                RawResponse { status: 200, headers: json(), frames: vec![Frame::Bytes(body)] }
            }
        }
    }
}
