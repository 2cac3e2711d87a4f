//! Builds a valid transcript from any sequence of messages and reports the repairs.
//!
//! Used for journals that were interrupted, imported or edited; the running machine never needs it.
//! Invariant: messages that need no repair are in the resulting [`Transcript`] unchanged and in order.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Transcript, transcript_part};
use crate::content::{Content, ToolCall};
use crate::id::{MessageId, ToolCallId};
use crate::message::{
    AgentMessage, AssistantMessage, LlmMessage, Message, Origin, SharedMessage, ToolResultMessage,
    UserMessage,
};
use crate::tool::ToolError;

/// A repair of one message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repair {
    /// Id of the repaired message.
    pub message_id: MessageId,
    /// Kind of the repair.
    pub kind: RepairKind,
}

/// How a message was repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum RepairKind {
    /// A tool call had no result: an error result was added.
    MissingResult,
    /// A result had no tool call: it was removed.
    OrphanResult,
    /// A tool call had more than one result: the later ones were removed.
    RepeatedResult,
    /// The arguments of a tool call were not an object: they were wrapped in one.
    WrappedArguments,
    /// A tool call reused an id: it got a new one.
    RenamedCall,
    /// Empty blocks were removed.
    EmptyBlocks,
    /// The message was empty: it was removed.
    EmptyMessage,
    /// The conversation started with a reply: a note was added before it.
    StartsWithReply,
}

/// Added before a reply without a preceding message.
const OPENING_NOTE: &str = "(The beginning of this conversation is not available.)";
/// Replaces empty output of a tool.
pub(crate) const NO_OUTPUT: &str = "(no output)";

/// A reply that waits for its tool results.
struct OpenExchange {
    reply: SharedMessage,
    calls: Vec<OpenCall>,
}

/// A tool call that waits for its result.
struct OpenCall {
    call: Arc<ToolCall>,
    /// The id that the results use, before renaming.
    called: ToolCallId,
    result: Option<SharedMessage>,
}

/// Adds messages one at a time to a transcript and repairs them.
#[derive(Default)]
pub(crate) struct Repairer {
    transcript: Transcript,
    open: Option<OpenExchange>,
    repairs: Vec<Repair>,
}

impl Transcript {
    /// Builds a transcript from any messages in conversation order and returns the repairs.
    pub fn repair(messages: impl IntoIterator<Item = SharedMessage>) -> (Self, Vec<Repair>) {
        let mut repairer = Repairer::default();
        messages.into_iter().for_each(|message| repairer.push(message));
        repairer.finish()
    }
}

impl Repairer {
    /// Closes an open exchange and returns the transcript so far for changes.
    pub(crate) fn transcript_mut(&mut self) -> &mut Transcript {
        self.close();
        &mut self.transcript
    }

    pub(crate) fn finish(mut self) -> (Transcript, Vec<Repair>) {
        self.close();
        (self.transcript, self.repairs)
    }

    pub(crate) fn push(&mut self, message: SharedMessage) {
        match &*message {
            AgentMessage::Extension(_) => {
                self.close();
                // Cannot fail: the role was checked above.
                let _ = self.transcript.push_extension(message);
            }
            AgentMessage::Llm(llm) => match &llm.message {
                Message::User(_) => self.push_user(&message),
                Message::Assistant(_) => self.push_reply(&message),
                Message::ToolResult(result) => self.push_result(&message, result),
            },
        }
    }

    fn note(&mut self, message_id: MessageId, kind: RepairKind) {
        self.repairs.push(Repair { message_id, kind });
    }

    fn push_user(&mut self, message: &SharedMessage) {
        self.close();
        if self.transcript.push_user(Arc::clone(message)).is_ok() {
            return;
        }
        let keep = |block: &&Content| !block.is_empty() && !block.is_reply_only();
        let content: Vec<Content> =
            message.as_llm().map(Message::content).unwrap_or_default().iter().filter(keep).cloned().collect();
        if content.is_empty() {
            self.note(message.id(), RepairKind::EmptyMessage);
            return;
        }
        self.note(message.id(), RepairKind::EmptyBlocks);
        let _ = self.transcript.push_user(with_content(message, content));
    }

    fn push_reply(&mut self, message: &SharedMessage) {
        self.close();
        let Some(reply) = transcript_part(message) else {
            self.note(message.id(), RepairKind::EmptyMessage);
            return;
        };
        if !Arc::ptr_eq(&reply, message) {
            self.note(message.id(), RepairKind::EmptyBlocks);
        }
        let called = |reply: &SharedMessage| -> Vec<Arc<ToolCall>> {
            reply.as_assistant().into_iter().flat_map(AssistantMessage::tool_calls).cloned().collect()
        };
        let reply = self.with_object_arguments(reply);
        let before = called(&reply);
        let reply = self.with_unique_calls(reply);
        let calls = called(&reply).into_iter().zip(before);
        let calls = calls.map(|(call, before)| OpenCall { call, called: before.id.clone(), result: None });
        let calls = calls.collect();
        if self.transcript.is_empty_for_models() {
            self.note(message.id(), RepairKind::StartsWithReply);
            let opening = UserMessage {
                origin: Origin::Note { section: "opening".to_owned() },
                ..UserMessage::new(vec![Content::text(OPENING_NOTE)])
            };
            let _ = self.transcript.push_user(Arc::new(Message::User(opening).into()));
        }
        self.open = Some(OpenExchange { reply, calls });
    }

    fn with_object_arguments(&mut self, reply: SharedMessage) -> SharedMessage {
        let Some(assistant) = reply.as_assistant() else { return reply };
        if assistant.tool_calls().all(|call| call.arguments.is_object()) {
            return reply;
        }
        let mut content = assistant.content.clone();
        content.iter_mut().for_each(Content::make_arguments_an_object);
        self.note(reply.id(), RepairKind::WrappedArguments);
        with_content(&reply, content)
    }

    /// Assigns new ids to tool calls whose id is in use.
    fn with_unique_calls(&mut self, reply: SharedMessage) -> SharedMessage {
        let mut renamed = false;
        let mut seen: Vec<ToolCallId> = Vec::new();
        let Some(assistant) = reply.as_assistant() else { return reply };
        let mut content = assistant.content.clone();
        for block in &mut content {
            let Content::ToolCall(call) = block else { continue };
            let taken = |id: &ToolCallId, seen: &[ToolCallId], transcript: &Transcript| {
                id.as_str().is_empty() || transcript.call_ids.contains(id) || seen.contains(id)
            };
            if taken(&call.id, &seen, &self.transcript) {
                let fresh = (2u32..)
                    .map(|n| ToolCallId::from(format!("{}_{n}", call.id)))
                    .find(|id| !taken(id, &seen, &self.transcript));
                let Some(fresh) = fresh else { continue };
                renamed = true;
                *call = Arc::new(ToolCall { id: fresh, ..ToolCall::clone(call) });
            }
            seen.push(call.id.clone());
        }
        if !renamed {
            return reply;
        }
        self.note(reply.id(), RepairKind::RenamedCall);
        with_content(&reply, content)
    }

    fn push_result(&mut self, message: &SharedMessage, result: &ToolResultMessage) {
        // If several tool calls have this id, the result belongs to the first one without a result.
        let named = |call: &&mut OpenCall| call.called == result.tool_call_id;
        let mut slots = self.open.iter_mut().flat_map(|open| &mut open.calls).filter(named).peekable();
        let known = slots.peek().is_some();
        let free = slots.find(|call| call.result.is_none()).map(|open| open.call.id.clone());
        let Some(id) = free else {
            let kind = if known { RepairKind::RepeatedResult } else { RepairKind::OrphanResult };
            self.note(message.id(), kind);
            return;
        };
        let repaired = self.repaired_result(message, result, &id);
        let slot = self.open.iter_mut().flat_map(|open| &mut open.calls).find(|open| open.call.id == id);
        if let Some(slot) = slot {
            slot.result = Some(repaired);
        }
    }

    fn repaired_result(
        &mut self,
        message: &SharedMessage,
        result: &ToolResultMessage,
        id: &ToolCallId,
    ) -> SharedMessage {
        let fits = |block: &Content| !block.is_empty() && !block.is_reply_only();
        let full = !result.content.is_empty() && result.content.iter().all(fits);
        if full && result.tool_call_id == *id {
            return Arc::clone(message);
        }
        if !full {
            self.note(message.id(), RepairKind::EmptyBlocks);
        }
        let mut content: Vec<Content> = result.content.iter().filter(|block| fits(block)).cloned().collect();
        if content.is_empty() {
            content.push(Content::text(NO_OUTPUT));
        }
        with_body(
            message,
            Message::ToolResult(ToolResultMessage { tool_call_id: id.clone(), content, ..result.clone() }),
        )
    }

    /// Ends the exchange that waits for results; adds an error result for each missing one.
    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        let mut results = Vec::with_capacity(open.calls.len());
        for OpenCall { call, result, .. } in open.calls {
            results.push(result.unwrap_or_else(|| {
                self.note(open.reply.id(), RepairKind::MissingResult);
                interrupted_result(&call, open.reply.id())
            }));
        }
        let pushed = self.transcript.push_exchange(Arc::clone(&open.reply), results);
        debug_assert!(pushed.is_ok(), "a repaired exchange must be valid: {pushed:?}");
    }
}

impl Transcript {
    fn is_empty_for_models(&self) -> bool {
        self.sendable == super::Sendable::Empty
    }
}

/// Creates the result of a tool call whose outcome is unknown. Has the reply's id, because the journal
/// contains no such message.
fn interrupted_result(call: &ToolCall, reply: MessageId) -> SharedMessage {
    let error = ToolError::Interrupted("its result is not in the journal".to_owned());
    Arc::new(AgentMessage::Llm(LlmMessage {
        id: reply,
        turn_id: None,
        message: Message::ToolResult(ToolResultMessage {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            content: vec![Content::text(error.to_string())],
            is_error: true,
            timestamp: Default::default(),
        }),
    }))
}

/// Returns the message with other blocks.
pub(super) fn with_content(message: &SharedMessage, content: Vec<Content>) -> SharedMessage {
    let Some(mut llm) = message.as_llm().cloned() else { return Arc::clone(message) };
    *llm.content_mut() = content;
    with_body(message, llm)
}

fn with_body(message: &SharedMessage, body: Message) -> SharedMessage {
    match &**message {
        AgentMessage::Llm(llm) => Arc::new(AgentMessage::Llm(LlmMessage {
            id: llm.id,
            turn_id: llm.turn_id.clone(),
            message: body,
        })),
        AgentMessage::Extension(_) => Arc::clone(message),
    }
}
