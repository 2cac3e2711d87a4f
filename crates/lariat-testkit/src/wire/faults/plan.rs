//! What a server does to one request, as data.
//!
//! Owns the vocabulary of misbehaviour: heads that never come, bodies that stall, break, repeat. Knows no protocol.
//! Invariant: a plan says everything; playing it twice gives the same bytes at the same virtual times.

use std::time::Duration;

use bytes::Bytes;
use lariat_model::http::TransportError;
use serde_json::Value;

/// Time that a run may take by the virtual clock, unless its plan says otherwise: the longest silence that the driver
/// and the machine allow (10 minutes without progress), and the waits before retries.
const USUAL_DEADLINE: Duration = Duration::from_secs(620);

/// How one request is answered.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Time before anything happens.
    pub delay: Duration,
    /// Status and headers, or what comes instead.
    pub head: Head,
    /// The body, beat by beat; after the last it ends cleanly.
    pub body: Vec<Beat>,
}

/// How an answer begins.
#[derive(Clone, Debug)]
pub enum Head {
    /// With a status.
    Status {
        /// The status.
        status: u16,
        /// Headers.
        headers: Vec<(String, String)>,
    },
    /// Not at all: the transport fails.
    Fails(TransportError),
    /// Never.
    Never,
}

/// A moment of a body.
#[derive(Clone, Debug)]
pub enum Beat {
    /// Bytes arrive in one chunk.
    Bytes(Bytes),
    /// Time passes.
    Wait(Duration),
    /// The same bytes arrive again and again.
    Repeat {
        /// The bytes.
        bytes: Bytes,
        /// How often; `None` for ever.
        times: Option<u32>,
        /// Time before each.
        every: Duration,
    },
    /// The transport fails.
    Fails(TransportError),
    /// Nothing ever comes again.
    Hangs,
}

impl Beat {
    /// Bytes in one chunk.
    pub fn bytes(bytes: impl Into<Bytes>) -> Self {
        Self::Bytes(bytes.into())
    }

    /// The connection breaks.
    pub fn reset() -> Self {
        Self::Fails(TransportError::Broken("connection reset by peer".to_owned()))
    }
}

impl Answer {
    /// An answer that comes at once.
    pub const fn new(status: u16, headers: Vec<(String, String)>, body: Vec<Beat>) -> Self {
        Self { delay: Duration::ZERO, head: Head::Status { status, headers }, body }
    }

    /// An answer that does not come.
    pub const fn without_body(head: Head) -> Self {
        Self { delay: Duration::ZERO, head, body: Vec::new() }
    }

    /// The same, later.
    #[must_use]
    pub const fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }
}

/// A faulty answer, and what is true about it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// To the first request. All others are answered well, unless it is repeated.
    pub answer: Answer,
    /// Whether every request is answered so.
    pub repeated: Repeated,
    /// Arguments of the calls that the faulty reply may lead to, one entry for each call.
    pub calls: Vec<Value>,
    /// Whether the reply may count as complete.
    pub reply: Completeness,
    /// Whether the text arrives as it was scripted, as far as it arrives.
    pub text: Text,
    /// The exact time between the failure and the next request, where the server asked for one.
    pub wait: Option<Duration>,
    /// Whether there is a long conversation, and room is made in it after an overflow.
    pub compaction: Compaction,
    /// Time that the whole run may take.
    pub deadline: Duration,
}

/// How often a server misbehaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeated {
    /// At the first request.
    Once,
    /// At every request.
    Always,
}

/// Whether the server said that the reply is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completeness {
    /// It did.
    Said,
    /// It did not: whoever takes this for a reply is wrong.
    Unsaid,
}

/// What happened to the scripted text on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text {
    /// Nothing: what arrives is a prefix of it.
    Faithful,
    /// The server itself sent something else.
    Tampered,
}

/// Whether a run can make room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compaction {
    /// It cannot.
    Off,
    /// It can, and there is something to leave out.
    On,
}

impl Plan {
    /// A plan with the usual truths: no call, an incomplete reply, faithful text.
    pub const fn new(answer: Answer) -> Self {
        Self {
            answer,
            repeated: Repeated::Once,
            calls: Vec::new(),
            reply: Completeness::Unsaid,
            text: Text::Faithful,
            wait: None,
            compaction: Compaction::Off,
            deadline: USUAL_DEADLINE,
        }
    }

    /// The reply may be complete, and these are its calls.
    #[must_use]
    pub fn complete(mut self, calls: Vec<Value>) -> Self {
        self.reply = Completeness::Said;
        self.calls = calls;
        self
    }

    /// The server never does better.
    #[must_use]
    pub const fn for_ever(mut self) -> Self {
        self.repeated = Repeated::Always;
        self
    }

    /// The server changes the text.
    #[must_use]
    pub const fn tampered(mut self) -> Self {
        self.text = Text::Tampered;
        self
    }

    /// The server asks to wait.
    #[must_use]
    pub const fn asking_to_wait(mut self, wait: Duration) -> Self {
        self.wait = Some(wait);
        self
    }

    /// The run can make room.
    #[must_use]
    pub const fn compacting(mut self) -> Self {
        self.compaction = Compaction::On;
        self
    }

    /// The run may take longer.
    #[must_use]
    pub const fn within(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }
}
