//! A reply while it is understood: where every interpreter puts what arrives.
//!
//! Owns the rules that hold for all services: empty pieces are nothing; tool calls wait until the reply has ended
//! cleanly, and leave only with arguments that parse; a reply that was cut delivers none; ids are given where a service
//! gave none or the same twice. Invariant: `Done` is the last event, and there is one.

use std::borrow::Cow;
use std::collections::{HashSet, VecDeque};

use lariat_core::content::{Content, ToolCall};
use lariat_core::message::StopReason;
use lariat_core::model::{ProviderError, StreamEvent};
use lariat_core::usage::Usage;
use serde_json::{Map, Value};

/// Bytes of text, reasoning and arguments that one reply may hold.
const REPLY_LIMIT: usize = 64 * 1024 * 1024;
/// Calls in one reply: a model that loops must not fill the memory.
const CALL_LIMIT: usize = 1024;

/// A reply in the making.
#[derive(Debug, Default)]
pub struct Reply {
    ready: VecDeque<StreamEvent>,
    calls: Vec<PendingCall>,
    stop: Option<StopReason>,
    usage: Usage,
    bytes: usize,
    progress: u64,
    started: bool,
    spoke: bool,
    done: bool,
}

/// A tool call whose arguments are arriving.
#[derive(Debug)]
struct PendingCall {
    index: usize,
    id: String,
    name: String,
    arguments: Arguments,
    signature: Option<String>,
}

#[derive(Debug)]
enum Arguments {
    Text(String),
    Whole(Value),
}

impl Reply {
    /// The service accepted the request. Later calls change nothing, nor does one after content arrived: a start is the
    /// first event, or there is none.
    pub fn start(&mut self, model: &str) {
        if !std::mem::replace(&mut self.started, true) {
            self.emit(StreamEvent::Start { model: model.to_owned() });
        }
    }

    /// Text arrived.
    ///
    /// # Errors
    /// When the reply is too large; the same for all that arrives.
    pub fn text(&mut self, index: usize, delta: Cow<'_, str>) -> Result<(), ProviderError> {
        if delta.is_empty() {
            return Ok(());
        }
        self.weigh(delta.len())?;
        self.spoke = true;
        self.emit(StreamEvent::TextDelta { index, delta: delta.into_owned() });
        Ok(())
    }

    /// Reasoning arrived.
    ///
    /// # Errors
    /// When the reply is too large.
    pub fn thinking(&mut self, index: usize, delta: Cow<'_, str>) -> Result<(), ProviderError> {
        if delta.is_empty() {
            return Ok(());
        }
        self.weigh(delta.len())?;
        self.emit(StreamEvent::ThinkingDelta { index, delta: delta.into_owned() });
        Ok(())
    }

    /// The signature of a reasoning block arrived, complete.
    ///
    /// # Errors
    /// When the reply is too large.
    pub fn signature(&mut self, index: usize, signature: Cow<'_, str>) -> Result<(), ProviderError> {
        if signature.is_empty() {
            return Ok(());
        }
        self.weigh(signature.len())?;
        self.emit(StreamEvent::ThinkingSignature { index, signature: signature.into_owned() });
        Ok(())
    }

    /// A block of another kind arrived, complete: encrypted reasoning, or one of a kind only its service knows.
    ///
    /// # Errors
    /// When the reply is too large.
    pub fn block(&mut self, index: usize, content: Content) -> Result<(), ProviderError> {
        // Blocks are rare and their service bounds them; what counts is that there is a bound.
        self.weigh(64)?;
        self.spoke |= !matches!(content, Content::RedactedThinking { .. } | Content::Thinking { .. });
        self.emit(StreamEvent::Block { index, content });
        Ok(())
    }

    /// A tool call began, or told more of its id or name. Empty pieces change nothing: services repeat them.
    ///
    /// # Errors
    /// When there are too many calls.
    pub fn call(&mut self, index: usize, id: &str, name: &str) -> Result<(), ProviderError> {
        let Some(call) = self.calls.iter_mut().find(|call| call.index == index) else {
            return self.push_call(index, id, name, Arguments::Text(String::new()), None);
        };
        if !id.is_empty() {
            id.clone_into(&mut call.id);
        }
        if !name.is_empty() {
            name.clone_into(&mut call.name);
        }
        Ok(())
    }

    /// Arguments of a call arrived, as JSON text. For a call that did not begin they are dropped.
    ///
    /// # Errors
    /// When the reply is too large.
    pub fn arguments(&mut self, index: usize, delta: Cow<'_, str>) -> Result<(), ProviderError> {
        if delta.is_empty() {
            return Ok(());
        }
        self.weigh(delta.len())?;
        // The newest first: arguments arrive for the call that began last.
        let Some(call) = self.calls.iter_mut().rev().find(|call| call.index == index) else { return Ok(()) };
        if let Arguments::Text(text) = &mut call.arguments {
            text.push_str(&delta);
        }
        self.emit(StreamEvent::ToolCallDelta { index, delta: delta.into_owned() });
        Ok(())
    }

    /// The complete arguments of a call, as JSON text, replacing what arrived in pieces.
    pub fn arguments_whole(&mut self, index: usize, text: &str) {
        if let Some(call) = self.calls.iter_mut().rev().find(|call| call.index == index) {
            call.arguments = Arguments::Text(text.to_owned());
        }
    }

    /// A tool call arrived in one piece.
    ///
    /// # Errors
    /// When the reply is too large or there are too many calls.
    pub fn whole_call(
        &mut self,
        index: usize,
        id: &str,
        name: &str,
        arguments: Value,
        signature: Option<String>,
    ) -> Result<(), ProviderError> {
        let delta = arguments.to_string();
        self.weigh(delta.len())?;
        self.emit(StreamEvent::ToolCallDelta { index, delta });
        self.push_call(index, id, name, Arguments::Whole(arguments), signature)
    }

    fn push_call(
        &mut self,
        index: usize,
        id: &str,
        name: &str,
        arguments: Arguments,
        signature: Option<String>,
    ) -> Result<(), ProviderError> {
        if self.calls.len() >= CALL_LIMIT {
            return Err(ProviderError::InvalidReply(format!("more than {CALL_LIMIT} tool calls").into()));
        }
        let (id, name) = (id.to_owned(), name.to_owned());
        self.calls.push(PendingCall { index, id, name, arguments, signature });
        self.progress += 1;
        Ok(())
    }

    /// What the reply used, to be updated as the service reports it.
    pub const fn usage_mut(&mut self) -> &mut Usage {
        &mut self.usage
    }

    /// The service said why it stopped. The last word counts.
    pub const fn stop(&mut self, reason: StopReason) {
        self.stop = Some(reason);
    }

    /// Whether the service said why it stopped.
    pub const fn has_stopped(&self) -> bool {
        self.stop.is_some()
    }

    /// Whether a tool call began.
    pub const fn has_calls(&self) -> bool {
        !self.calls.is_empty()
    }

    /// The reply is complete: tool calls are delivered, then `Done`.
    ///
    /// # Errors
    /// When the service never said why it stopped, when a call has no name or its arguments do not parse, or when the
    /// reply is empty. Nothing of the calls is delivered then.
    pub fn finish(&mut self) -> Result<(), ProviderError> {
        if self.done {
            return Ok(());
        }
        let Some(stop) = self.stop else {
            return Err(ProviderError::Network(
                "the stream ended without saying why the model stopped".into(),
            ));
        };
        // A reply that was cut, refused or overflowed is not a clean end: its last call may be half of one that parses.
        let calls = match stop {
            StopReason::Stop | StopReason::ToolUse | StopReason::Pause => self.finished_calls()?,
            _ => Vec::new(),
        };
        let stop = match stop {
            StopReason::Stop if !calls.is_empty() => StopReason::ToolUse,
            StopReason::ToolUse if calls.is_empty() => StopReason::Stop,
            other => other,
        };
        if stop == StopReason::Stop && !self.spoke {
            return Err(ProviderError::EmptyReply(
                "the model ended its reply without saying anything".into(),
            ));
        }
        for (index, call) in calls {
            self.emit(StreamEvent::ToolCallEnd { index, call });
        }
        self.done = true;
        let usage = self.usage;
        self.emit(StreamEvent::Done { stop_reason: stop, usage });
        Ok(())
    }

    fn finished_calls(&mut self) -> Result<Vec<(usize, ToolCall)>, ProviderError> {
        let mut seen = HashSet::new();
        let mut finished = Vec::with_capacity(self.calls.len());
        for call in std::mem::take(&mut self.calls) {
            let invalid = |what: String| ProviderError::InvalidReply(what.into());
            let name = call.name;
            if name.is_empty() {
                return Err(invalid("a tool call has no name".to_owned()));
            }
            let arguments = match call.arguments {
                Arguments::Whole(value) => value,
                Arguments::Text(text) if text.trim().is_empty() => Value::Object(Map::new()),
                Arguments::Text(text) => serde_json::from_str(&text).map_err(|error| {
                    invalid(format!("the arguments of a call of `{name}` do not parse: {error}"))
                })?,
            };
            let arguments = match arguments {
                Value::Object(_) => arguments,
                Value::Null => Value::Object(Map::new()),
                _ => return Err(invalid(format!("the arguments of a call of `{name}` are not an object"))),
            };
            let mut id = call.id;
            let mut number = call.index;
            while id.is_empty() || !seen.insert(id.clone()) {
                id = format!("call_{number}");
                number += 1;
            }
            finished
                .push((call.index, ToolCall { id: id.into(), name, arguments, signature: call.signature }));
        }
        Ok(finished)
    }

    /// True when the reply is complete.
    pub const fn is_done(&self) -> bool {
        self.done
    }

    pub(super) const fn progress(&self) -> u64 {
        self.progress
    }

    #[inline]
    pub(super) fn next_event(&mut self) -> Option<StreamEvent> {
        self.ready.pop_front()
    }

    fn weigh(&mut self, bytes: usize) -> Result<(), ProviderError> {
        self.bytes += bytes;
        if self.bytes > REPLY_LIMIT {
            let megabytes = REPLY_LIMIT / (1024 * 1024);
            return Err(ProviderError::InvalidReply(
                format!("the reply is larger than {megabytes} MB").into(),
            ));
        }
        Ok(())
    }

    fn emit(&mut self, event: StreamEvent) {
        self.started = true;
        self.progress += 1;
        self.ready.push_back(event);
    }
}

#[cfg(test)]
#[path = "reply_tests.rs"]
mod tests;
