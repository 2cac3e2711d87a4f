//! Turns the events of a session into updates for the editor.
//!
//! A reply is streamed from live items. When its durable event arrives, the editor gets only what it has not seen, so a
//! slow editor that missed live items still gets every word once. Messages that events refer to by id are looked up here.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use lariat_core::content::{Content, ToolCall as Call};
use lariat_core::event::{AgentEvent, EventRecord, RecordedMessage, StreamDelta};
use lariat_core::id::{MessageId, ToolCallId};
use lariat_core::message::{AssistantMessage, SharedMessage, StopReason, ToolResultMessage};
use lariat_core::session::Task;
use serde_json::Value;

use crate::tool_call;
use crate::wire::{
    ClientCapabilities, ContentBlock, Notice, PlanEntry, PlanStatus, Priority, Protocol, Severity, ToolCall,
    ToolStatus, Update,
};

/// What the editor has seen of a session.
pub(crate) struct EditorTranscript {
    directory: PathBuf,
    editor: ClientCapabilities,
    protocol: Protocol,
    queued: HashMap<MessageId, SharedMessage>,
    /// Tool calls without a result, in the order in which the model requested them.
    open: Vec<Arc<Call>>,
    /// How tool calls ended whose result message follows.
    ended: HashMap<ToolCallId, (Value, bool)>,
    streamed: Option<StreamedReply>,
    /// Messages that the editor sent itself and shows already.
    own: HashSet<MessageId>,
    /// Whether the next message of the user is one of these.
    expects_own: bool,
    newest_own: Option<MessageId>,
    stop_reason: Option<StopReason>,
}

/// How much of a reply the editor has.
struct StreamedReply {
    id: MessageId,
    text: String,
    thinking: String,
    /// Whether live items were missed, so that the rest waits for the durable event.
    has_gap: bool,
}

impl EditorTranscript {
    /// Starts with an empty conversation in a directory.
    pub(crate) fn new(directory: PathBuf, editor: ClientCapabilities, protocol: Protocol) -> Self {
        Self {
            directory,
            editor,
            protocol,
            queued: HashMap::new(),
            open: Vec::new(),
            ended: HashMap::new(),
            streamed: None,
            own: HashSet::new(),
            expects_own: false,
            newest_own: None,
            stop_reason: None,
        }
    }

    /// The next message of the user is the editor's own.
    pub(crate) fn expect_own_message(&mut self) {
        (self.expects_own, self.newest_own) = (true, None);
    }

    /// The message that [`EditorTranscript::expect_own_message`] announced, once it was recorded.
    pub(crate) fn own_message(&mut self) -> Option<MessageId> {
        self.newest_own.take()
    }

    /// Whether a message waits in the queue.
    pub(crate) fn is_queued(&self, message: MessageId) -> bool {
        self.queued.contains_key(&message)
    }

    /// Why the newest reply ended.
    pub(crate) const fn stop_reason(&self) -> Option<StopReason> {
        self.stop_reason
    }

    /// Live items were missed.
    pub(crate) fn miss_live_items(&mut self) {
        if let Some(streamed) = &mut self.streamed {
            streamed.has_gap = true;
        }
    }

    /// Returns the updates for a durable event.
    pub(crate) fn durable(&mut self, record: &EventRecord) -> Vec<Update> {
        match &record.event {
            AgentEvent::MessageQueued { message, .. } => {
                if message.as_user().is_some_and(|user| user.origin.is_from_user()) {
                    self.note_own(message.id());
                }
                self.queued.insert(message.id(), Arc::clone(message));
                Vec::new()
            }
            AgentEvent::MessageUnqueued { message_id } => {
                self.queued.remove(message_id);
                Vec::new()
            }
            AgentEvent::MessageEnd { message } => {
                let queued = self.queued.remove(&message.id());
                let message = match message {
                    RecordedMessage::Full(message) => Some(Arc::clone(message)),
                    RecordedMessage::Earlier(reference) => queued.or_else(|| reference.shared().cloned()),
                };
                message.map(|message| self.message(&message)).unwrap_or_default()
            }
            AgentEvent::MessagesImported { messages, .. } => {
                messages.iter().flat_map(|message| self.message(message)).collect()
            }
            AgentEvent::ToolExecutionStart { tool_call_id, tool_name, args } => {
                let replaced = args.replacement().map(|arguments| {
                    tool_call::described(tool_call_id.as_str(), tool_name, arguments, &self.directory)
                });
                let call = ToolCall {
                    tool_call_id: tool_call_id.as_str().to_owned(),
                    status: Some(ToolStatus::InProgress),
                    raw_input: args.replacement().map(|arguments| Value::clone(arguments)),
                    ..replaced.unwrap_or_default()
                };
                vec![Update::ToolCallUpdate(Box::new(call))]
            }
            AgentEvent::ToolExecutionEnd { tool_call_id, details, is_error, .. } => {
                self.ended.insert(tool_call_id.clone(), (details.clone(), *is_error));
                Vec::new()
            }
            AgentEvent::TasksChanged { tasks, .. } => vec![plan(tasks)],
            AgentEvent::SubAgentSpawned { tool_call_id, task, .. } => {
                vec![progress(tool_call_id, &format!("sub-agent: {task}"))]
            }
            AgentEvent::SubAgentCompleted { tool_call_id, outcome, usage, .. } => {
                let how = if outcome.is_completed() { "finished" } else { "stopped early" };
                vec![progress(tool_call_id, &format!("sub-agent {how}: {} tokens", usage.total()))]
            }
            AgentEvent::AgentEnd { .. } => self.end_open_calls("interrupted"),
            AgentEvent::Compaction { tokens_before, tokens_after, .. } => {
                let words = format!("compacted the conversation: {tokens_before} to {tokens_after} tokens");
                if self.editor.has_compactions() {
                    let compaction_id = record.id.to_string();
                    return vec![Update::CompactionUpdate { compaction_id, status: "completed" }];
                }
                self.notice(Severity::Info, words)
            }
            event => self.note(event),
        }
    }

    /// Returns the updates for a live item.
    pub(crate) fn live(&mut self, record: &EventRecord) -> Vec<Update> {
        match &record.event {
            AgentEvent::MessageStart { message } => {
                let (text, thinking) = (String::new(), String::new());
                self.streamed = Some(StreamedReply { id: message.id(), text, thinking, has_gap: false });
                Vec::new()
            }
            AgentEvent::MessageUpdate { message, delta } => {
                let streamed = self.streamed.as_mut();
                // A reply whose start was missed waits for its durable event.
                let streamed = streamed.filter(|streamed| streamed.id == message.id() && !streamed.has_gap);
                match (streamed, delta) {
                    (Some(streamed), StreamDelta::Text { delta }) if !delta.is_empty() => {
                        streamed.text.push_str(delta);
                        vec![said(message.id(), delta)]
                    }
                    (Some(streamed), StreamDelta::Thinking { delta }) if !delta.is_empty() => {
                        streamed.thinking.push_str(delta);
                        vec![thought(message.id(), delta)]
                    }
                    _ => Vec::new(),
                }
            }
            AgentEvent::MessageWithdrawn { message_id } => {
                let streamed = self.streamed.take().filter(|streamed| streamed.id == *message_id);
                match streamed {
                    Some(streamed) if !streamed.text.is_empty() => {
                        self.visible("the reply broke off; the model is asked again".to_owned())
                    }
                    _ => Vec::new(),
                }
            }
            AgentEvent::ToolExecutionUpdate { tool_call_id, partial_result, .. } => {
                vec![Update::ToolCallUpdate(Box::new(ToolCall {
                    tool_call_id: tool_call_id.as_str().to_owned(),
                    content: Some(tool_call::shown(&partial_result.content)),
                    ..ToolCall::default()
                }))]
            }
            AgentEvent::ProgressMessage { tool_call_id, text, .. } => vec![progress(tool_call_id, text)],
            AgentEvent::ModelRetry { delay_ms, error, .. } => self.notice(
                Severity::Warning,
                format!("the model call failed and is retried in {} s: {error}", delay_ms.div_ceil(1_000)),
            ),
            AgentEvent::ModelFallback { from, to, error } => {
                self.notice(Severity::Warning, format!("{from} failed, {to} continues: {error}"))
            }
            AgentEvent::JournalUnavailable { error, .. } => {
                self.notice(Severity::Error, format!("the session cannot be saved; the run waits: {error}"))
            }
            _ => Vec::new(),
        }
    }

    /// Ends the tool calls that have no result.
    pub(crate) fn end_open_calls(&mut self, reason: &str) -> Vec<Update> {
        self.ended.clear();
        let end = |call: Arc<Call>| {
            Update::ToolCallUpdate(Box::new(ToolCall {
                tool_call_id: call.id.as_str().to_owned(),
                status: Some(ToolStatus::Failed),
                content: Some(vec![tool_call::paragraph(reason)]),
                ..ToolCall::default()
            }))
        };
        std::mem::take(&mut self.open).into_iter().map(end).collect()
    }

    /// The arguments of a tool call without a result.
    pub(crate) fn open_call(&self, id: &ToolCallId) -> Option<&Arc<Call>> {
        self.open.iter().find(|call| call.id == *id)
    }

    /// What the user should read about an event.
    fn note(&self, event: &AgentEvent) -> Vec<Update> {
        match event {
            AgentEvent::LimitReached { note, .. } => self.visible(note.clone()),
            AgentEvent::ContextFull(_) => self.visible("the context window is full".to_owned()),
            AgentEvent::HookStopped { reason } => self.visible(format!("a hook ended the run: {reason}")),
            AgentEvent::InputRejected { reason } => {
                self.visible(format!("the message was rejected: {reason}"))
            }
            AgentEvent::InputWarned { warning } => self.notice(Severity::Warning, warning.clone()),
            AgentEvent::RepetitionDetected { tool_name, count, .. } => self
                .notice(Severity::Warning, format!("the model repeats itself: `{tool_name}`, {count} times")),
            AgentEvent::BudgetWarning { used_percent, .. } => {
                self.notice(Severity::Warning, format!("{used_percent} % of a budget is used"))
            }
            AgentEvent::LoopRecovered { .. } => {
                self.notice(Severity::Info, "the run continues where it was interrupted".to_owned())
            }
            AgentEvent::Rewound { .. } => {
                self.notice(Severity::Info, "the conversation continues from an earlier message".to_owned())
            }
            _ => Vec::new(),
        }
    }

    /// A notice, if the editor shows notices.
    fn notice(&self, severity: Severity, title: String) -> Vec<Update> {
        if !self.editor.has_notices() {
            return Vec::new();
        }
        vec![Update::Notice(Notice { severity, title })]
    }

    /// A notice, or text in the conversation of an editor that shows no notices.
    pub(crate) fn visible(&self, text: String) -> Vec<Update> {
        if self.editor.has_notices() {
            return self.notice(Severity::Warning, text);
        }
        let content = ContentBlock::text(format!("\n\n[{text}]\n\n"));
        vec![Update::AgentMessageChunk { content, message_id: None }]
    }

    fn note_own(&mut self, id: MessageId) {
        if std::mem::take(&mut self.expects_own) {
            self.own.insert(id);
            self.newest_own = Some(id);
        }
    }

    fn message(&mut self, message: &SharedMessage) -> Vec<Update> {
        let id = message.id();
        if let Some(user) = message.as_user().filter(|user| user.origin.is_from_user()) {
            self.note_own(id);
            // An editor shows its own message at once in version 1, and when the agent repeats it in version 2.
            let is_shown = self.own.remove(&id) && self.protocol == Protocol::Stable;
            if is_shown { Vec::new() } else { user_chunks(&id.to_string(), &user.content) }
        } else if let Some(reply) = message.as_assistant() {
            self.reply(id, reply)
        } else if let Some(result) = message.as_tool_result() {
            vec![self.result(result)]
        } else {
            Vec::new()
        }
    }

    /// What the editor has not seen of a reply, and the tool calls in it.
    fn reply(&mut self, id: MessageId, reply: &AssistantMessage) -> Vec<Update> {
        self.stop_reason = Some(reply.stop_reason);
        let streamed = self.streamed.take().filter(|streamed| streamed.id == id);
        let (text, thinking) =
            streamed.map(|streamed| (streamed.text, streamed.thinking)).unwrap_or_default();
        let (mut text, mut thinking) = (text.as_str(), thinking.as_str());
        let mut updates = Vec::new();
        for block in &reply.content {
            match block {
                Content::Text { text: whole } => {
                    updates.extend(unseen(whole, &mut text).map(|rest| said(id, rest)));
                }
                Content::Thinking { thinking: whole, .. } => {
                    updates.extend(unseen(whole, &mut thinking).map(|rest| thought(id, rest)));
                }
                Content::ToolCall(call) => {
                    self.open.push(Arc::clone(call));
                    updates.push(Update::ToolCall(Box::new(tool_call::requested(call, &self.directory))));
                }
                _ => {}
            }
        }
        updates
    }

    fn result(&mut self, result: &ToolResultMessage) -> Update {
        let id = &result.tool_call_id;
        self.open.retain(|call| call.id != *id);
        let (details, is_error) = self.ended.remove(id).unwrap_or((Value::Null, result.is_error));
        let call = tool_call::finished(id.as_str(), &result.content, &details, is_error, &self.directory);
        Update::ToolCallUpdate(Box::new(call))
    }
}

/// The part of a text that the editor has not seen. `seen` loses what the text covers.
fn unseen<'a>(whole: &'a str, seen: &mut &str) -> Option<&'a str> {
    let rest = match whole.strip_prefix(*seen) {
        Some(rest) => {
            *seen = "";
            rest
        }
        // The editor has all of this block, and of later ones.
        None => {
            *seen = seen.strip_prefix(whole).unwrap_or_default();
            ""
        }
    };
    (!rest.is_empty()).then_some(rest)
}

fn said(id: MessageId, text: &str) -> Update {
    Update::AgentMessageChunk { content: ContentBlock::text(text), message_id: Some(id.to_string()) }
}

fn thought(id: MessageId, text: &str) -> Update {
    Update::AgentThoughtChunk { content: ContentBlock::text(text), message_id: id.to_string() }
}

/// A message of the user.
pub(crate) fn user_chunks(id: &str, content: &[Content]) -> Vec<Update> {
    let block = |block: &Content| match block {
        Content::Text { text } => Some(ContentBlock::text(text)),
        Content::Image { data, mime_type } => {
            Some(ContentBlock::Image { data: data.clone(), mime_type: mime_type.clone() })
        }
        _ => None,
    };
    let chunk = |content| Update::UserMessageChunk { content, message_id: id.to_owned() };
    content.iter().filter_map(block).map(chunk).collect()
}

/// What a running tool call reports.
fn progress(id: &ToolCallId, text: &str) -> Update {
    Update::ToolCallUpdate(Box::new(ToolCall {
        tool_call_id: id.as_str().to_owned(),
        content: Some(vec![tool_call::paragraph(text)]),
        ..ToolCall::default()
    }))
}

/// The task list of the model.
pub(crate) fn plan(tasks: &[Task]) -> Update {
    let entry = |task: &Task| PlanEntry {
        content: task.content.clone(),
        priority: Priority::Medium,
        status: match task {
            task if task.is_completed() => PlanStatus::Completed,
            task if task.is_in_progress() => PlanStatus::InProgress,
            _ => PlanStatus::Pending,
        },
    };
    Update::Plan { entries: tasks.iter().map(entry).collect() }
}

#[cfg(test)]
#[path = "transcript_tests.rs"]
mod tests;
