//! Collects a model's reply while it arrives and turns it into events.
//!
//! Applies the rules that all providers share: empty deltas are ignored; tool calls are held until the reply
//! has ended cleanly and are emitted only if their arguments parse; a reply that was cut off emits none; an
//! id is generated if the provider sent none or repeated one. Invariant: `Done` is emitted exactly once, as
//! the last event.

use std::borrow::Cow;
use std::collections::{HashSet, VecDeque};

use lariat_core::content::{Content, ToolCall};
use lariat_core::message::StopReason;
use lariat_core::model::{ProviderError, StreamEvent};
use lariat_core::usage::Usage;
use serde_json::{Map, Value};

/// Maximum number of bytes of text, reasoning and arguments in one reply.
const REPLY_LIMIT: usize = 64 * 1024 * 1024;
/// Maximum number of tool calls in one reply, so that a model that loops cannot exhaust the memory.
const CALL_LIMIT: usize = 1024;

/// A reply under construction.
#[derive(Debug, Default)]
pub struct Reply {
    ready: VecDeque<StreamEvent>,
    calls: Vec<PendingCall>,
    stop: Option<StopReason>,
    usage: Usage,
    bytes: usize,
    progress: u64,
    started: bool,
    has_content: bool,
    done: bool,
}

/// A tool call whose arguments are still arriving.
#[derive(Debug)]
struct PendingCall {
    index: usize,
    id: String,
    name: String,
    arguments: ReplyArguments,
    signature: Option<String>,
}

#[derive(Debug)]
enum ReplyArguments {
    Text(String),
    Whole(Value),
}

impl Reply {
    /// Records that the provider accepted the request. Only the first call has an effect, and only before any
    /// content, because `Start` must be the first event.
    pub fn start(&mut self, model: &str) {
        if !std::mem::replace(&mut self.started, true) {
            self.emit(StreamEvent::Start { model: model.to_owned() });
        }
    }

    /// Adds text.
    ///
    /// # Errors
    /// Returns an error if the reply is too large. The same applies to all methods that add content.
    pub fn text(&mut self, index: usize, delta: Cow<'_, str>) -> Result<(), ProviderError> {
        if delta.is_empty() {
            return Ok(());
        }
        self.add_bytes(delta.len())?;
        self.has_content = true;
        self.emit(StreamEvent::TextDelta { index, delta: delta.into_owned() });
        Ok(())
    }

    /// Adds reasoning text.
    ///
    /// # Errors
    /// Returns an error if the reply is too large.
    pub fn thinking(&mut self, index: usize, delta: Cow<'_, str>) -> Result<(), ProviderError> {
        if delta.is_empty() {
            return Ok(());
        }
        self.add_bytes(delta.len())?;
        self.emit(StreamEvent::ThinkingDelta { index, delta: delta.into_owned() });
        Ok(())
    }

    /// Adds the complete signature of a reasoning block.
    ///
    /// # Errors
    /// Returns an error if the reply is too large.
    pub fn signature(&mut self, index: usize, signature: Cow<'_, str>) -> Result<(), ProviderError> {
        if signature.is_empty() {
            return Ok(());
        }
        self.add_bytes(signature.len())?;
        self.emit(StreamEvent::ThinkingSignature { index, signature: signature.into_owned() });
        Ok(())
    }

    /// Adds a complete block of another kind: encrypted reasoning, or one that only its provider understands.
    ///
    /// # Errors
    /// Returns an error if the reply is too large.
    pub fn block(&mut self, index: usize, content: Content) -> Result<(), ProviderError> {
        // Blocks are rare and the provider limits their size, so a fixed amount for each is enough to bound
        // them.
        self.add_bytes(64)?;
        self.has_content |= !matches!(content, Content::RedactedThinking { .. } | Content::Thinking { .. });
        self.emit(StreamEvent::Block { index, content });
        Ok(())
    }

    /// Starts a tool call, or adds an id or name to one that has started. Empty strings change nothing,
    /// because providers repeat them.
    ///
    /// # Errors
    /// Returns an error if there are too many tool calls.
    pub fn call(&mut self, index: usize, id: &str, name: &str) -> Result<(), ProviderError> {
        let Some(call) = self.calls.iter_mut().find(|call| call.index == index) else {
            return self.push_call(index, id, name, ReplyArguments::Text(String::new()), None);
        };
        if !id.is_empty() {
            id.clone_into(&mut call.id);
        }
        if !name.is_empty() {
            name.clone_into(&mut call.name);
        }
        Ok(())
    }

    /// Adds a part of a tool call's arguments, as JSON text. Arguments of a tool call that has not started
    /// are dropped.
    ///
    /// # Errors
    /// Returns an error if the reply is too large.
    pub fn arguments(&mut self, index: usize, delta: Cow<'_, str>) -> Result<(), ProviderError> {
        if delta.is_empty() {
            return Ok(());
        }
        self.add_bytes(delta.len())?;
        // Newest first, because arguments usually belong to the tool call that started last.
        let Some(call) = self.calls.iter_mut().rev().find(|call| call.index == index) else { return Ok(()) };
        if let ReplyArguments::Text(text) = &mut call.arguments {
            text.push_str(&delta);
        }
        self.emit(StreamEvent::ToolCallDelta { index, delta: delta.into_owned() });
        Ok(())
    }

    /// Replaces all arguments of a tool call received so far with the complete JSON text.
    pub fn replace_arguments(&mut self, index: usize, text: &str) {
        if let Some(call) = self.calls.iter_mut().rev().find(|call| call.index == index) {
            call.arguments = ReplyArguments::Text(text.to_owned());
        }
    }

    /// Adds a tool call that arrived complete.
    ///
    /// # Errors
    /// Returns an error if the reply is too large or there are too many tool calls.
    pub fn complete_call(
        &mut self,
        index: usize,
        id: &str,
        name: &str,
        arguments: Value,
        signature: Option<String>,
    ) -> Result<(), ProviderError> {
        let delta = arguments.to_string();
        self.add_bytes(delta.len())?;
        self.emit(StreamEvent::ToolCallDelta { index, delta });
        self.push_call(index, id, name, ReplyArguments::Whole(arguments), signature)
    }

    fn push_call(
        &mut self,
        index: usize,
        id: &str,
        name: &str,
        arguments: ReplyArguments,
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

    /// The usage of the reply, which interpreters update as the provider reports it.
    pub const fn usage_mut(&mut self) -> &mut Usage {
        &mut self.usage
    }

    /// Records why the model stopped. The last reason wins.
    pub const fn stop(&mut self, reason: StopReason) {
        self.stop = Some(reason);
    }

    /// Whether a stop reason has arrived.
    pub const fn has_stopped(&self) -> bool {
        self.stop.is_some()
    }

    /// Whether a tool call has started.
    pub const fn has_calls(&self) -> bool {
        !self.calls.is_empty()
    }

    /// Finishes the reply: emits the tool calls, then `Done`.
    ///
    /// # Errors
    /// Returns an error if no stop reason arrived, if a tool call has no name or its arguments do not parse,
    /// or if the reply is empty. Then no tool call is emitted.
    pub fn finish(&mut self) -> Result<(), ProviderError> {
        if self.done {
            return Ok(());
        }
        let Some(stop) = self.stop else {
            return Err(ProviderError::Network("the stream ended without a stop reason".into()));
        };
        // A reply that was cut off, refused or too long did not end cleanly: its last tool call may be
        // incomplete and parse anyway.
        let calls = match stop {
            StopReason::Stop | StopReason::ToolUse | StopReason::Pause => self.finished_calls()?,
            _ => Vec::new(),
        };
        let stop = match stop {
            StopReason::Stop if !calls.is_empty() => StopReason::ToolUse,
            StopReason::ToolUse if calls.is_empty() => StopReason::Stop,
            other => other,
        };
        if stop == StopReason::Stop && !self.has_content {
            return Err(ProviderError::EmptyReply("the model sent an empty reply".into()));
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
                ReplyArguments::Whole(value) => value,
                ReplyArguments::Text(text) if text.trim().is_empty() => Value::Object(Map::new()),
                ReplyArguments::Text(text) => serde_json::from_str(&text).map_err(|error| {
                    invalid(format!("the arguments of the tool call `{name}` are not valid JSON: {error}"))
                })?,
            };
            let arguments = match arguments {
                Value::Object(_) => arguments,
                Value::Null => Value::Object(Map::new()),
                _ => {
                    return Err(invalid(format!(
                        "the arguments of the tool call `{name}` are not a JSON object"
                    )));
                }
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

    /// Whether the reply is complete.
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

    fn add_bytes(&mut self, bytes: usize) -> Result<(), ProviderError> {
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
