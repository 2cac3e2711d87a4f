//! What the server answers: a queue of answers, or a function of the request.
//!
//! Owns the choice of an answer and its fitting to the request (model, usage, encrypted reasoning). Bytes are `render`'s,
//! sockets `host`'s.
//! Invariant: every request that passed validation takes exactly one answer; a queue that is empty answers 500.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::HeaderMap;
use serde_json::Value;

use super::render::{self, ApiError};
use super::{Turn, TurnBlock, Wire, json, tool_loop};

/// A request as the server saw it.
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
    /// The parsed body; null when there is none or it is no JSON.
    pub body: Value,
    /// The model that is asked for, in the path or in the body.
    pub model: String,
    /// Whether a stream is asked for.
    pub streaming: bool,
    /// Why the request was refused before the script saw it; empty when it was not.
    pub problems: Vec<String>,
}

/// What the server does with a request.
#[derive(Debug, Clone)]
pub enum Answer {
    /// A reply of the model, streamed or not, as asked.
    Turn(Turn),
    /// A failed reply.
    Error(ApiError),
    /// Anything else.
    Raw(RawAnswer),
}

/// An answer in bytes.
#[derive(Debug, Clone)]
pub struct RawAnswer {
    /// The HTTP status.
    pub status: u16,
    /// The headers; the content type is the protocol's when none is given.
    pub headers: Vec<(String, String)>,
    /// The body, in order.
    pub frames: Vec<Frame>,
}

/// A piece of a raw answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// Bytes, sent as one chunk.
    Bytes(Vec<u8>),
    /// Silence for a while.
    Pause(Duration),
    /// Silence until the client gives up.
    Stall,
    /// The connection (HTTP/1.1) or the stream (HTTP/2) is broken off.
    Reset,
}

impl Answer {
    /// A stream of whole frames with status 200.
    #[must_use]
    pub fn frames(frames: impl IntoIterator<Item = Vec<u8>>) -> Self {
        let frames = frames.into_iter().map(Frame::Bytes).collect();
        Self::Raw(RawAnswer { status: 200, headers: Vec::new(), frames })
    }

    /// A failed reply with the API's own wording of a status.
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

/// Whether requests are checked before the script sees them.
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

/// What a server plays.
pub struct Script {
    source: Source,
    count: fn(&Value) -> u64,
    strictness: Strictness,
    /// Requests are not kept.
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
    /// Plays the answers in order.
    #[must_use]
    pub fn queue<I>(answers: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<Answer>,
    {
        let answers = answers.into_iter().map(Into::into).collect();
        Self::of(Source::Queue(Mutex::new(answers)))
    }

    /// Computes each answer from its request.
    #[must_use]
    pub fn answer(function: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        Self::of(Source::Function(Box::new(function)))
    }

    fn of(source: Source) -> Self {
        Self { source, count: quarter, strictness: Strictness::Checked, forgets: false }
    }

    /// Plays a model that uses tools: a prompt is answered with (thinking, if asked for,) text and a call of each of the
    /// first two tools on offer; results are answered with a text that quotes them. A prompt can also order trouble:
    /// `!status N`, `!overflow`, `!stream-error`, `!stop length|refusal|pause|context|sequence`.
    #[must_use]
    pub fn tool_loop() -> Self {
        Self::answer(tool_loop::answer)
    }

    /// Lets every request through to the script, however wrong.
    #[must_use]
    pub fn unchecked(mut self) -> Self {
        self.strictness = Strictness::Unchecked;
        self
    }

    /// Counts requests so, when it is asked to.
    #[must_use]
    pub fn counting(mut self, count: fn(&Value) -> u64) -> Self {
        self.count = count;
        self
    }

    pub(super) fn count(&self, body: &Value) -> u64 {
        (self.count)(body)
    }

    /// Keeps no requests: for runs that send gigabytes.
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

/// A token is four characters of JSON.
fn quarter(body: &Value) -> u64 {
    body.to_string().len() as u64 / 4
}

/// The turn as this request gets to see it: the model it asked for, and what it did not ask for left out.
pub(super) fn fitted(mut turn: Turn, request: &Request) -> Turn {
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

/// Any answer as raw bytes.
pub(super) fn raw(answer: Answer, request: &Request) -> RawAnswer {
    let json = || vec![("content-type".to_owned(), "application/json".to_owned())];
    match answer {
        Answer::Raw(raw) => raw,
        Answer::Error(error) => {
            let headers = json().into_iter().chain(error.headers).collect();
            RawAnswer { status: error.status, headers, frames: vec![Frame::Bytes(error.body)] }
        }
        Answer::Turn(turn) => {
            let turn = fitted(turn, request);
            if request.streaming {
                let frames = render::stream(request.wire, &turn).into_iter().map(Frame::Bytes).collect();
                RawAnswer { status: 200, headers: Vec::new(), frames }
            } else {
                let body = render::whole(request.wire, &turn);
                RawAnswer { status: 200, headers: json(), frames: vec![Frame::Bytes(body)] }
            }
        }
    }
}
