//! The conversation that a model receives, valid by construction.
//!
//! [`Transcript`] grows by whole steps: a user message, a plain reply, or an exchange (a reply with tool
//! calls together with all of its results). An unpaired tool call, a duplicate id or an empty block therefore
//! cannot be constructed, and no request needs a repair before it is sent. [`Window`] is a snapshot of it,
//! the type that is sent. This module validates and repairs; it does not know about tokens, turns or
//! providers.

mod list;
mod overlay;
mod removed_calls;
mod repair;

use std::collections::HashSet;
use std::sync::Arc;

pub use list::SharedList;
pub use overlay::EditError;
pub(crate) use repair::{NO_OUTPUT, Repairer};
pub use repair::{Repair, RepairKind};

use self::removed_calls::RemovedCalls;
use crate::content::Content;
use crate::id::{MessageId, ToolCallId};
use crate::message::{AgentMessage, AssistantMessage, Message, SharedMessage, StopReason};

/// A conversation that every model API accepts.
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    list: SharedList<SharedMessage>,
    call_ids: HashSet<ToolCallId>,
    /// Ids of tool calls that compaction removed. They may occur again in messages that are read back,
    /// because the writer of those may not have known them; a running loop does not reuse them.
    removed_calls: RemovedCalls,
    /// Whether compaction may have removed calls whose ids are not in `removed_calls`.
    lost_calls: bool,
    sendable: Sendable,
}

/// Ids with fewer bytes are numbers that a model may repeat; longer ones are random.
const SHORT_ID: usize = 16;

/// Whether a model can be called now. Every push updates it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Sendable {
    #[default]
    Empty,
    Yes,
    EndsInReply,
}

/// Why a step cannot be added to a transcript.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TranscriptError {
    /// The message has the wrong role for this step.
    #[error("message {0} has the wrong role for this step")]
    WrongRole(MessageId),
    /// The message has no content, or an empty block.
    #[error("message {0} has no content or an empty block")]
    Empty(MessageId),
    /// The arguments of a tool call are not a JSON object.
    #[error("the arguments of tool call `{0}` are not an object")]
    ArgumentsNotAnObject(ToolCallId),
    /// The tool call id was used before.
    #[error("tool call id `{0}` is used twice")]
    DuplicateCall(ToolCallId),
    /// A reply with tool calls lacks exactly one result per call in call order.
    #[error("the results do not pair with the tool calls of message {0}")]
    Unpaired(MessageId),
    /// The conversation starts with a reply.
    #[error("a conversation cannot start with a reply (message {0})")]
    StartsWithReply(MessageId),
}

/// Why a model cannot be called with a transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotSendable {
    /// The conversation is empty.
    #[error("the conversation is empty")]
    Empty,
    /// The last message is already a reply.
    #[error("the conversation ends in a reply; there is nothing to answer")]
    EndsInReply,
}

impl Transcript {
    /// Creates an empty transcript.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of messages, including extensions.
    pub const fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns true if there are no messages.
    pub const fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the last message.
    pub fn last(&self) -> Option<&SharedMessage> {
        self.list.last()
    }

    /// Returns whether the conversation contains a tool call with this id, or did before a compaction. For a
    /// conversation from a snapshot, true for every short id: a call that compaction removed may have had it.
    pub fn has_call(&self, id: &ToolCallId) -> bool {
        self.call_ids.contains(id)
            || self.removed_calls.contains(id)
            || (self.lost_calls && id.as_str().len() < SHORT_ID)
    }

    /// Records that the ids of removed calls are unknown, because the messages come from a snapshot.
    pub(crate) const fn forget_removed_calls(&mut self) {
        self.lost_calls = true;
    }

    /// Takes a snapshot, at the same cost for any length.
    pub fn window(&self) -> Window {
        Window { list: self.list.clone() }
    }

    /// Takes a snapshot to send to a model.
    ///
    /// # Errors
    /// Fails if the model has nothing to answer.
    pub fn request(&self) -> Result<Window, NotSendable> {
        match self.sendable {
            Sendable::Yes => Ok(self.window()),
            Sendable::Empty => Err(NotSendable::Empty),
            Sendable::EndsInReply => Err(NotSendable::EndsInReply),
        }
    }

    /// Adds a user message.
    ///
    /// # Errors
    /// Fails if it is not a user message or has an empty block.
    pub fn push_user(&mut self, message: SharedMessage) -> Result<(), TranscriptError> {
        let Some(user) = message.as_user() else { return Err(TranscriptError::WrongRole(message.id())) };
        check_blocks(&message, &user.content)?;
        if user.content.iter().any(Content::is_reply_only) {
            return Err(TranscriptError::WrongRole(message.id()));
        }
        self.sendable = Sendable::Yes;
        self.list.push(message);
        Ok(())
    }

    /// Adds a message of the application, which the model never receives.
    ///
    /// # Errors
    /// Fails if it is not an extension message.
    pub fn push_extension(&mut self, message: SharedMessage) -> Result<(), TranscriptError> {
        match &*message {
            AgentMessage::Extension(_) => self.list.push(message),
            AgentMessage::Llm(llm) => return Err(TranscriptError::WrongRole(llm.id)),
        }
        Ok(())
    }

    /// Adds a reply and the results of its tool calls, one per call and in call order.
    ///
    /// # Errors
    /// Fails if calls and results do not pair, an id repeats, a block is empty, or there is no message to reply to.
    pub fn push_exchange(
        &mut self,
        reply: SharedMessage,
        results: Vec<SharedMessage>,
    ) -> Result<(), TranscriptError> {
        let Some(assistant) = reply.as_assistant() else {
            return Err(TranscriptError::WrongRole(reply.id()));
        };
        check_blocks(&reply, &assistant.content)?;
        if self.sendable == Sendable::Empty {
            return Err(TranscriptError::StartsWithReply(reply.id()));
        }
        if assistant.tool_calls().count() != results.len() {
            return Err(TranscriptError::Unpaired(reply.id()));
        }
        for (call, result) in assistant.tool_calls().zip(&results) {
            let answer = result.as_tool_result().ok_or(TranscriptError::WrongRole(result.id()))?;
            check_blocks(result, &answer.content)?;
            if answer.content.iter().any(Content::is_reply_only) {
                return Err(TranscriptError::WrongRole(result.id()));
            }
            if answer.tool_call_id != call.id {
                return Err(TranscriptError::Unpaired(reply.id()));
            }
        }
        for (at, call) in assistant.tool_calls().enumerate() {
            if call.id.as_str().is_empty() {
                return Err(TranscriptError::Empty(reply.id()));
            }
            if !call.arguments.is_object() {
                return Err(TranscriptError::ArgumentsNotAnObject(call.id.clone()));
            }
            let repeated = assistant.tool_calls().take(at).any(|earlier| earlier.id == call.id);
            if repeated || self.call_ids.contains(&call.id) {
                return Err(TranscriptError::DuplicateCall(call.id.clone()));
            }
        }
        self.call_ids.extend(assistant.tool_calls().map(|call| call.id.clone()));
        let goes_on = !results.is_empty() || assistant.stop_reason == StopReason::Pause;
        self.sendable = if goes_on { Sendable::Yes } else { Sendable::EndsInReply };
        self.list.push(reply);
        results.into_iter().for_each(|result| self.list.push(result));
        Ok(())
    }
}

fn check_blocks(message: &AgentMessage, content: &[Content]) -> Result<(), TranscriptError> {
    if content.is_empty() || content.iter().any(Content::is_empty) {
        return Err(TranscriptError::Empty(message.id()));
    }
    Ok(())
}

/// A snapshot of a transcript for a model, a callback or a compaction strategy.
#[derive(Clone, Debug, Default)]
pub struct Window {
    list: SharedList<SharedMessage>,
}

impl Window {
    /// Returns the number of messages, including extensions.
    pub const fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns true if there are no messages.
    pub const fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Iterates over all messages, including extensions.
    pub fn iter(&self) -> impl Iterator<Item = &SharedMessage> {
        self.list.iter()
    }

    /// Iterates over all messages from the last to the first.
    pub fn iter_back(&self) -> impl Iterator<Item = &SharedMessage> {
        self.list.iter_back()
    }

    /// Iterates over the messages for the model.
    pub fn llm_messages(&self) -> impl Iterator<Item = &Message> {
        self.list.iter().filter_map(|message| message.as_llm())
    }

    /// Returns the number of leading messages that both windows share; a provider reuses their serialised
    /// form. If one window grew from the other, the cost depends on the newest messages only.
    pub fn shared_prefix(&self, other: &Self) -> usize {
        let sealed = self.list.shared_prefix(&other.list);
        let rest = self.iter_from(sealed).zip(other.iter_from(sealed));
        sealed + rest.take_while(|(a, b)| Arc::ptr_eq(a, b)).count()
    }

    /// Iterates over the messages from a position on, including extensions. The cost depends on the messages
    /// after the position.
    pub fn iter_from(&self, position: usize) -> impl Iterator<Item = &SharedMessage> {
        self.list.iter_from(position)
    }
}

/// Returns the part of a reply that may enter a transcript: no empty blocks, and no reasoning at the end. Of
/// an aborted or failed reply only text and signed reasoning remain, because its tool calls never ran and
/// APIs reject unsigned reasoning. `None` if nothing remains.
pub(crate) fn transcript_part(message: &SharedMessage) -> Option<SharedMessage> {
    let assistant = message.as_assistant()?;
    let broken = matches!(assistant.stop_reason, StopReason::Error | StopReason::Aborted);
    let keep = |block: &Content| match block {
        _ if block.is_empty() => false,
        Content::ToolCall(_) => !broken,
        Content::Thinking { signature, .. } => !broken || signature.is_some(),
        _ => true,
    };
    // Anthropic: "the final block in an assistant message cannot be `thinking`". Reasoning alone is not a
    // reply.
    let thinks =
        |block: &Content| matches!(block, Content::Thinking { .. } | Content::RedactedThinking { .. });
    let says = |block: &Content| keep(block) && !thinks(block);
    let end = assistant.content.iter().rposition(says)? + 1;
    if end == assistant.content.len() && assistant.content.iter().all(keep) {
        return Some(Arc::clone(message));
    }
    let kept = assistant.content.iter().take(end).filter(|block| keep(block));
    let content: Vec<Content> = kept.cloned().collect();
    let AgentMessage::Llm(llm) = &**message else { return None };
    let mut llm = llm.clone();
    llm.message = Message::Assistant(AssistantMessage { content, ..assistant.clone() });
    Some(Arc::new(AgentMessage::Llm(llm)))
}

#[cfg(test)]
pub(crate) mod tests;
