//! Making a valid transcript of any sequence of messages, and saying what had to be done for it.
//!
//! Owns the repair rules. Used for journals that were interrupted, imported or edited; the running machine never needs
//! it. Invariant: the result is a [`Transcript`], and messages that need no repair are in it unchanged and in order.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Transcript, presentable};
use crate::content::{Content, ToolCall};
use crate::id::{MessageId, ToolCallId};
use crate::message::{
    AgentMessage, AssistantMessage, LlmMessage, Message, Origin, SharedMessage, ToolResultMessage,
    UserMessage,
};
use crate::tool::ToolError;

/// Something that was repaired.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repair {
    /// The message it was found in.
    pub message_id: MessageId,
    /// What was done.
    pub kind: RepairKind,
}

/// What was done to make a message fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum RepairKind {
    /// A call had no result: it got one that says so.
    MissingResult,
    /// A result had no call: it was left out.
    OrphanResult,
    /// A call had more than one result: the later ones were left out.
    RepeatedResult,
    /// The arguments of a call were not an object: they were put into one.
    WrappedArguments,
    /// A call reused an id: it got a new one.
    RenamedCall,
    /// Empty blocks were left out.
    EmptyBlocks,
    /// Nothing was left of a message: it was left out.
    EmptyMessage,
    /// The conversation started with a reply: a note stands before it.
    StartsWithReply,
}

/// Stands before a reply that nothing came before.
const OPENING_NOTE: &str = "(The beginning of this conversation is not available.)";
/// Stands for the output of a tool that gave none.
pub(crate) const NO_OUTPUT: &str = "(no output)";

/// A reply that waits for its results.
struct Open {
    reply: SharedMessage,
    calls: Vec<OpenCall>,
}

/// A call that waits for its result.
struct OpenCall {
    call: Arc<ToolCall>,
    /// The id as the results use it, before renaming.
    called: ToolCallId,
    result: Option<SharedMessage>,
}

/// Feeds messages one at a time into a transcript, repairing on the way.
#[derive(Default)]
pub(crate) struct Repairer {
    transcript: Transcript,
    open: Option<Open>,
    repairs: Vec<Repair>,
}

impl Transcript {
    /// Builds a transcript of any messages in conversation order, and says what had to be repaired.
    pub fn repaired(messages: impl IntoIterator<Item = SharedMessage>) -> (Self, Vec<Repair>) {
        let mut repairer = Repairer::default();
        messages.into_iter().for_each(|message| repairer.push(message));
        repairer.finish()
    }
}

impl Repairer {
    /// Closes an open exchange and gives the transcript so far to be changed.
    pub(crate) fn settled(&mut self) -> &mut Transcript {
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
                // Cannot fail: the role was just checked.
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
        let Some(reply) = presentable(message) else {
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
        self.open = Some(Open { reply, calls });
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

    /// Gives new ids to calls whose id is taken.
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
        // Of several calls with one id, the first that has no result is meant.
        let named = |call: &&mut OpenCall| call.called == result.tool_call_id;
        let mut slots = self.open.iter_mut().flat_map(|open| &mut open.calls).filter(named).peekable();
        let known = slots.peek().is_some();
        let free = slots.find(|call| call.result.is_none()).map(|open| open.call.id.clone());
        let Some(id) = free else {
            let kind = if known { RepairKind::RepeatedResult } else { RepairKind::OrphanResult };
            self.note(message.id(), kind);
            return;
        };
        let fitted = self.fitted_result(message, result, &id);
        let slot = self.open.iter_mut().flat_map(|open| &mut open.calls).find(|open| open.call.id == id);
        if let Some(slot) = slot {
            slot.result = Some(fitted);
        }
    }

    fn fitted_result(
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
        replaced(
            message,
            Message::ToolResult(ToolResultMessage { tool_call_id: id.clone(), content, ..result.clone() }),
        )
    }

    /// Ends the exchange that waits for results; missing ones are made up and said to be.
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
        debug_assert!(pushed.is_ok(), "a repaired exchange fits: {pushed:?}");
    }
}

impl Transcript {
    fn is_empty_for_models(&self) -> bool {
        self.sendable == super::Sendable::Empty
    }
}

/// The result of a call that nobody knows the outcome of. Carries the reply's id: it stands for no recorded message.
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

/// The same message with other blocks.
pub(super) fn with_content(message: &SharedMessage, content: Vec<Content>) -> SharedMessage {
    let Some(mut llm) = message.as_llm().cloned() else { return Arc::clone(message) };
    *llm.content_mut() = content;
    replaced(message, llm)
}

fn replaced(message: &SharedMessage, body: Message) -> SharedMessage {
    match &**message {
        AgentMessage::Llm(llm) => Arc::new(AgentMessage::Llm(LlmMessage {
            id: llm.id,
            turn_id: llm.turn_id.clone(),
            message: body,
        })),
        AgentMessage::Extension(_) => Arc::clone(message),
    }
}
