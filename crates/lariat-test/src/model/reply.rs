//! The script of one reply: a list of steps that reads like the reply it makes. `stream` plays it.
//!
//! Invariant: a reply ends in exactly one way, with `Done`, with an error, by the end of the stream, or
//! never.

use std::time::Duration;

use lariat_core::content::{Content, ToolCall};
use lariat_core::id::ToolCallId;
use lariat_core::message::StopReason;
use lariat_core::model::{ProviderError, StreamEvent};
use lariat_core::time::Timestamp;
use lariat_core::usage::Usage;
use serde_json::Value;

/// The usage that a reply reports by default: ten input tokens, five output tokens.
pub const DEFAULT_USAGE: Usage = Usage::new(10, 5);

/// A scripted reply to one request.
///
/// ```
/// use lariat_core::message::StopReason;
/// use lariat_core::model::ProviderError;
/// use lariat_test::Reply;
/// use serde_json::json;
///
/// let script = [
///     Reply::thinking("where is it?", Some("signature")).then_call("c1", "read", json!({"path": "a.rs"})),
///     Reply::text("It is cut off he").stop(StopReason::Length),
///     Reply::text("half a sent").then_fail(ProviderError::Network("reset".into())),
///     Reply::error(ProviderError::Auth("bad key".into())),
/// ];
/// ```
#[derive(Clone, Debug)]
pub struct Reply {
    pub(super) opens: ReplyOpening,
    pub(super) steps: Vec<ReplyStep>,
    pub(super) ending: Ending,
    pub(super) on_cancel: OnCancel,
    stop_reason: Option<StopReason>,
    usage: Usage,
    blocks: usize,
}

/// Whether the provider accepts the request before anything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplyOpening {
    Start,
    Nothing,
}

/// How a stream ends after its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Done,
    Silence,
}

/// What a stream does when its token is cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnCancel {
    Stop,
    Ignore,
}

/// One step of a reply.
#[derive(Clone, Debug)]
pub(super) enum ReplyStep {
    Emit(StreamEvent),
    Wait(Duration),
    WaitUntil(Timestamp),
    Stall,
    Fail(ProviderError),
}

impl Reply {
    /// A reply without content: `Start`, `Done`. Real models do this.
    pub const fn empty() -> Self {
        Self {
            opens: ReplyOpening::Start,
            steps: Vec::new(),
            ending: Ending::Done,
            on_cancel: OnCancel::Stop,
            stop_reason: None,
            usage: DEFAULT_USAGE,
            blocks: 0,
        }
    }

    /// A reply of one text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::empty().then_text(text)
    }

    /// A reply that begins with reasoning.
    pub fn thinking(text: impl Into<String>, signature: Option<&str>) -> Self {
        Self::empty().then_thinking(text, signature)
    }

    /// A reply of one tool call.
    pub fn tool_call(id: impl Into<ToolCallId>, name: impl Into<String>, arguments: Value) -> Self {
        Self::empty().then_call(id, name, arguments)
    }

    /// A reply of several tool calls: id, name, arguments.
    pub fn calls<I, N>(calls: impl IntoIterator<Item = (I, N, Value)>) -> Self
    where
        I: Into<ToolCallId>,
        N: Into<String>,
    {
        calls.into_iter().fold(Self::empty(), |reply, (id, name, args)| reply.then_call(id, name, args))
    }

    /// Makes the request fail before anything arrives, like an HTTP error status.
    pub fn error(error: ProviderError) -> Self {
        Self { opens: ReplyOpening::Nothing, ..Self::empty() }.then_fail(error)
    }

    /// Never responds to the request, not even with a first byte.
    pub fn stall_forever() -> Self {
        Self { opens: ReplyOpening::Nothing, ..Self::empty() }.then_stall()
    }

    /// Adds a text block.
    pub fn then_text(self, text: impl Into<String>) -> Self {
        let index = self.blocks;
        self.block([StreamEvent::TextDelta { index, delta: text.into() }])
    }

    /// Adds a reasoning block.
    pub fn then_thinking(self, text: impl Into<String>, signature: Option<&str>) -> Self {
        let index = self.blocks;
        let delta = StreamEvent::ThinkingDelta { index, delta: text.into() };
        let signature = signature
            .map(|signature| StreamEvent::ThinkingSignature { index, signature: signature.to_owned() });
        self.block(std::iter::once(delta).chain(signature))
    }

    /// Adds a tool call.
    pub fn then_call(self, id: impl Into<ToolCallId>, name: impl Into<String>, arguments: Value) -> Self {
        let index = self.blocks;
        let call = ToolCall { id: id.into(), name: name.into(), arguments, signature: None };
        self.block([StreamEvent::ToolCallEnd { index, call }])
    }

    /// Adds a complete block of another kind.
    pub fn then_block(self, content: Content) -> Self {
        let index = self.blocks;
        self.block([StreamEvent::Block { index, content }])
    }

    /// Adds any event, even one that no valid provider would send.
    pub fn then_event(mut self, event: StreamEvent) -> Self {
        self.steps.push(ReplyStep::Emit(event));
        self
    }

    /// Waits on the model's clock for this duration.
    pub fn then_wait(mut self, duration: Duration) -> Self {
        self.steps.push(ReplyStep::Wait(duration));
        self
    }

    /// Waits on the model's clock until an instant.
    pub fn then_wait_until(mut self, instant: Timestamp) -> Self {
        self.steps.push(ReplyStep::WaitUntil(instant));
        self
    }

    /// Sends nothing more, and does not end the stream.
    pub fn then_stall(mut self) -> Self {
        self.steps.push(ReplyStep::Stall);
        self
    }

    /// Fails at this point.
    pub fn then_fail(mut self, error: ProviderError) -> Self {
        self.steps.push(ReplyStep::Fail(error));
        self
    }

    /// Ends the stream without `Done`, like a closed connection.
    pub const fn cut(mut self) -> Self {
        self.ending = Ending::Silence;
        self
    }

    /// Sets the stop reason. The default is `ToolUse` for a reply with tool calls, otherwise `Stop`.
    pub const fn stop(mut self, reason: StopReason) -> Self {
        self.stop_reason = Some(reason);
        self
    }

    /// Sets the usage that the reply reports.
    pub const fn with_usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    /// Continues the stream even if it is cancelled.
    pub const fn ignoring_cancel(mut self) -> Self {
        self.on_cancel = OnCancel::Ignore;
        self
    }

    /// Delivers text and reasoning in chunks of this many characters, and tool call arguments in fragments,
    /// as a provider does.
    pub fn split(mut self, characters: usize) -> Self {
        let mut steps = Vec::with_capacity(self.steps.len());
        for step in self.steps {
            match step {
                ReplyStep::Emit(StreamEvent::TextDelta { index, delta }) => steps.extend(
                    pieces(&delta, characters)
                        .map(|delta| ReplyStep::Emit(StreamEvent::TextDelta { index, delta })),
                ),
                ReplyStep::Emit(StreamEvent::ThinkingDelta { index, delta }) => steps.extend(
                    pieces(&delta, characters)
                        .map(|delta| ReplyStep::Emit(StreamEvent::ThinkingDelta { index, delta })),
                ),
                ReplyStep::Emit(StreamEvent::ToolCallEnd { index, call }) => {
                    let json = call.arguments.to_string();
                    steps.extend(
                        pieces(&json, characters)
                            .map(|delta| ReplyStep::Emit(StreamEvent::ToolCallDelta { index, delta })),
                    );
                    steps.push(ReplyStep::Emit(StreamEvent::ToolCallEnd { index, call }));
                }
                other => steps.push(other),
            }
        }
        self.steps = steps;
        self
    }

    /// The event a complete reply ends with.
    pub(super) fn done(&self) -> StreamEvent {
        let calls =
            || self.steps.iter().any(|step| matches!(step, ReplyStep::Emit(StreamEvent::ToolCallEnd { .. })));
        let stop_reason = match self.stop_reason {
            Some(reason) => reason,
            None if calls() => StopReason::ToolUse,
            None => StopReason::Stop,
        };
        StreamEvent::Done { stop_reason, usage: self.usage }
    }

    fn block(mut self, events: impl IntoIterator<Item = StreamEvent>) -> Self {
        self.steps.extend(events.into_iter().map(ReplyStep::Emit));
        self.blocks += 1;
        self
    }
}

/// Splits a text into chunks, never inside a character.
fn pieces(text: &str, characters: usize) -> impl Iterator<Item = String> {
    let mut rest = text.chars();
    std::iter::from_fn(move || {
        let piece: String = rest.by_ref().take(characters.max(1)).collect();
        (!piece.is_empty()).then_some(piece)
    })
}
