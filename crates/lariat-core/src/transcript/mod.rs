//! What goes to a model, in a form that cannot be wrong.
//!
//! [`Transcript`] grows by whole steps: a user message, a plain reply, or an exchange (a reply with tool calls together
//! with all of its results). So an unpaired call, a duplicate id or an empty block cannot be constructed, and no
//! request has to be repaired on its way out. [`Window`] is its snapshot, the type of what is sent.
//! Owns validity and repair; does not know about tokens, turns or providers.

mod list;
mod overlay;
mod repair;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::HashSet;
use std::sync::Arc;

pub use list::SharedList;
pub use overlay::OverlayError;
pub(crate) use repair::{NO_OUTPUT, Repairer};
pub use repair::{Repair, RepairKind};

use crate::content::Content;
use crate::id::{MessageId, ToolCallId};
use crate::message::{AgentMessage, AssistantMessage, Message, SharedMessage, StopReason};

/// A conversation that any model API accepts.
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    list: SharedList<SharedMessage>,
    call_ids: HashSet<ToolCallId>,
    /// Ids of calls that compaction took out. They may come again in what is read back, because not everybody who read
    /// it knew them; a running loop does not let them.
    taken: Option<Arc<HashSet<ToolCallId>>>,
    sendable: Sendable,
}

/// Whether a model may be called now, kept up to date by every push.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Sendable {
    #[default]
    Empty,
    Yes,
    EndsInReply,
}

/// Why a step does not fit a transcript.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TranscriptError {
    /// The message has the wrong role for this step.
    #[error("message {0} has the wrong role for this step")]
    WrongRole(MessageId),
    /// No content, or a block without content.
    #[error("message {0} has no content or an empty block")]
    Empty(MessageId),
    /// A tool call whose arguments are not a JSON object.
    #[error("the arguments of tool call `{0}` are not an object")]
    ArgumentsNotAnObject(ToolCallId),
    /// A tool call id that was used before.
    #[error("tool call id `{0}` is used twice")]
    DuplicateCall(ToolCallId),
    /// A reply with tool calls, but without exactly one result per call in call order.
    #[error("the results do not pair with the tool calls of message {0}")]
    Unpaired(MessageId),
    /// A conversation that starts with a reply.
    #[error("a conversation cannot start with a reply (message {0})")]
    StartsWithReply(MessageId),
}

/// Why a model cannot be called with a transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotSendable {
    /// There is nothing to answer.
    #[error("the conversation is empty")]
    Empty,
    /// The last word is already the model's.
    #[error("the conversation ends in a reply; there is nothing to answer")]
    EndsInReply,
}

impl Transcript {
    /// An empty transcript.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of messages, extensions included.
    pub const fn len(&self) -> usize {
        self.list.len()
    }

    /// True when there are no messages.
    pub const fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The last message.
    pub fn last(&self) -> Option<&SharedMessage> {
        self.list.last()
    }

    /// Whether a call of this id is part of the conversation, or was before a compaction.
    pub fn has_call(&self, id: &ToolCallId) -> bool {
        self.call_ids.contains(id) || self.taken.as_ref().is_some_and(|taken| taken.contains(id))
    }

    /// A snapshot, for the same price at any length.
    pub fn window(&self) -> Window {
        Window { list: self.list.clone() }
    }

    /// A snapshot to be sent to a model.
    ///
    /// # Errors
    /// When the model has nothing to answer.
    pub fn request(&self) -> Result<Window, NotSendable> {
        match self.sendable {
            Sendable::Yes => Ok(self.window()),
            Sendable::Empty => Err(NotSendable::Empty),
            Sendable::EndsInReply => Err(NotSendable::EndsInReply),
        }
    }

    /// Adds words of the user.
    ///
    /// # Errors
    /// When it is not a user message or has an empty block.
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

    /// Adds a message of the application; the model never sees it.
    ///
    /// # Errors
    /// When it is not an extension message.
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
    /// When calls and results do not pair, an id repeats, a block is empty, or there is nothing it could reply to.
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

/// A snapshot of a transcript: what a model, a hook or a compaction strategy sees.
#[derive(Clone, Debug, Default)]
pub struct Window {
    list: SharedList<SharedMessage>,
}

impl Window {
    /// Number of messages, extensions included.
    pub const fn len(&self) -> usize {
        self.list.len()
    }

    /// True when there are no messages.
    pub const fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// All messages, extensions included.
    pub fn iter(&self) -> impl Iterator<Item = &SharedMessage> {
        self.list.iter()
    }

    /// All messages from the last to the first.
    pub fn iter_back(&self) -> impl Iterator<Item = &SharedMessage> {
        self.list.iter_back()
    }

    /// What the model sees.
    pub fn llm_messages(&self) -> impl Iterator<Item = &Message> {
        self.list.iter().filter_map(|message| message.as_llm())
    }

    /// Number of leading messages that are the very same in another window; a provider reuses their serialised form.
    /// Costs a look at the newest messages, not at all of them, when one window only grew from the other.
    pub fn shared_prefix(&self, other: &Self) -> usize {
        let sealed = self.list.shared_prefix(&other.list);
        let rest = self.iter_from(sealed).zip(other.iter_from(sealed));
        sealed + rest.take_while(|(a, b)| Arc::ptr_eq(a, b)).count()
    }

    /// Messages from a position on, extensions included. Costs what comes after the position.
    pub fn iter_from(&self, position: usize) -> impl Iterator<Item = &SharedMessage> {
        self.list.iter_from(position)
    }
}

/// The part of a reply that may enter a transcript: no empty blocks; no thinking at its end; of an aborted or failed
/// reply only text and signed thinking, because its calls were never run and unsigned thinking is rejected. `None` when
/// nothing is left.
pub(crate) fn presentable(message: &SharedMessage) -> Option<SharedMessage> {
    let assistant = message.as_assistant()?;
    let broken = matches!(assistant.stop_reason, StopReason::Error | StopReason::Aborted);
    let keep = |block: &Content| match block {
        _ if block.is_empty() => false,
        Content::ToolCall(_) => !broken,
        Content::Thinking { signature, .. } => !broken || signature.is_some(),
        _ => true,
    };
    // Anthropic: "the final block in an assistant message cannot be `thinking`"; thinking alone is not a reply.
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
