//! Describes, as data, how a server responds to one request: heads that never arrive, bodies that stall,
//! break or repeat. Independent of protocols.
//!
//! Invariant: playing a plan twice gives the same bytes at the same virtual times.

use std::time::Duration;

use bytes::Bytes;
use lariat_model::http::TransportError;
use serde_json::Value;

/// Default time limit of a run on the virtual clock: the longest silence that the driver and the machine
/// allow (10 minutes without progress), plus the waits before retries.
const USUAL_DEADLINE: Duration = Duration::from_secs(620);

/// The response to one request.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Delay before anything happens.
    pub delay: Duration,
    /// Status and headers, or what happens instead.
    pub head: Head,
    /// The body, step by step; after the last step it ends cleanly.
    pub body: Vec<BodyStep>,
}

/// How a response begins.
#[derive(Clone, Debug)]
pub enum Head {
    /// With a status.
    Status {
        /// The status.
        status: u16,
        /// Headers.
        headers: Vec<(String, String)>,
    },
    /// The transport fails.
    Fails(TransportError),
    /// Nothing ever arrives.
    Never,
}

/// A step of a body.
#[derive(Clone, Debug)]
pub enum BodyStep {
    /// Bytes arrive in one chunk.
    Bytes(Bytes),
    /// A delay.
    Wait(Duration),
    /// The same bytes arrive repeatedly.
    Repeat {
        /// The bytes.
        bytes: Bytes,
        /// How often; `None` means forever.
        times: Option<u32>,
        /// Delay before each.
        every: Duration,
    },
    /// The transport fails.
    Fails(TransportError),
    /// Nothing more arrives.
    Hangs,
}

impl BodyStep {
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
    /// A response without delay.
    pub const fn new(status: u16, headers: Vec<(String, String)>, body: Vec<BodyStep>) -> Self {
        Self { delay: Duration::ZERO, head: Head::Status { status, headers }, body }
    }

    /// A response without a body.
    pub const fn without_body(head: Head) -> Self {
        Self { delay: Duration::ZERO, head, body: Vec::new() }
    }

    /// Adds a delay.
    #[must_use]
    pub const fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }
}

/// A faulty response, and the facts about it that the judge needs.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The response to the first request. All others get a valid response, unless it is repeated.
    pub answer: Answer,
    /// Whether every request gets this response.
    pub repeated: Repetition,
    /// Arguments of the tool calls that the faulty reply may cause, one entry per call.
    pub calls: Vec<Value>,
    /// Whether the reply may be treated as complete.
    pub reply: Completeness,
    /// Whether the text arrives as scripted, as far as it arrives.
    pub text: Text,
    /// The exact time between the failure and the next request, if the server requested one.
    pub wait: Option<Duration>,
    /// Whether the conversation is long and can be compacted after an overflow.
    pub compaction: Compaction,
    /// Time limit of the whole run.
    pub deadline: Duration,
}

/// How often a server misbehaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repetition {
    /// Only at the first request.
    Once,
    /// At every request.
    Always,
}

/// Whether the server marked the reply as complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completeness {
    /// It did.
    Declared,
    /// It did not: treating this as a reply is wrong.
    Undeclared,
}

/// What happened to the scripted text in transit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text {
    /// Nothing: what arrives is a prefix of it.
    Faithful,
    /// The server sent something else.
    Tampered,
}

/// Whether a run can compact its conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compaction {
    /// It cannot.
    Off,
    /// It can, and there is something to drop.
    On,
}

impl Plan {
    /// A plan with the defaults: no tool call, an incomplete reply, faithful text.
    pub const fn new(answer: Answer) -> Self {
        Self {
            answer,
            repeated: Repetition::Once,
            calls: Vec::new(),
            reply: Completeness::Undeclared,
            text: Text::Faithful,
            wait: None,
            compaction: Compaction::Off,
            deadline: USUAL_DEADLINE,
        }
    }

    /// Marks the reply as complete, with these tool calls.
    #[must_use]
    pub fn complete(mut self, calls: Vec<Value>) -> Self {
        self.reply = Completeness::Declared;
        self.calls = calls;
        self
    }

    /// Repeats the response for every request.
    #[must_use]
    pub const fn for_ever(mut self) -> Self {
        self.repeated = Repetition::Always;
        self
    }

    /// Marks the text as changed by the server.
    #[must_use]
    pub const fn tampered(mut self) -> Self {
        self.text = Text::Tampered;
        self
    }

    /// The server requests this wait.
    #[must_use]
    pub const fn asking_to_wait(mut self, wait: Duration) -> Self {
        self.wait = Some(wait);
        self
    }

    /// Enables compaction.
    #[must_use]
    pub const fn compacting(mut self) -> Self {
        self.compaction = Compaction::On;
        self
    }

    /// Sets another time limit.
    #[must_use]
    pub const fn within(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }
}
