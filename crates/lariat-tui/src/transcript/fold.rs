//! Folds durable events into blocks.
//!
//! A tool call becomes a block when its result is recorded, so that the blocks only grow and every block is finished.
//! Messages and arguments that events refer to are looked up here, because the log carries only their ids. Events of
//! parallel branches wait until one branch is selected.

use std::collections::HashMap;
use std::sync::Arc;

use lariat_core::content::{Content, ToolCall, joined_text};
use lariat_core::event::{AgentEvent, ArgsRef, Event, EventRecord, RecordedMessage};
use lariat_core::id::{LoopId, MessageId, ToolCallId};
use lariat_core::message::{AgentMessage, AssistantMessage, SharedMessage, ToolResultMessage, UserMessage};
use lariat_core::permission::PermissionDecision;
use lariat_core::time::Timestamp;
use lariat_terminal::theme::Style;
use lariat_terminal::{human, text};
use serde_json::{Value, json};

use super::block::{Block, CallArguments, EndedCall, RunEnd, segments};
use super::conversation::Conversation;
use super::words;

/// A tool call that has no result yet.
#[derive(Clone, Debug)]
pub(super) struct OpenCall {
    pub(super) id: ToolCallId,
    pub(super) tool: String,
    pub(super) arguments: Option<CallArguments>,
    pub(super) state: CallState,
}

/// How far a tool call is.
#[derive(Clone, Debug)]
pub(super) enum CallState {
    /// It waits for approval.
    Asked,
    /// It runs.
    Running { since: Timestamp },
    /// It ended; its result follows.
    Ended { since: Timestamp, at: Timestamp, details: Value, is_error: bool },
}

/// The run that is active.
#[derive(Clone, Debug, Default)]
struct ActiveRun {
    since: Timestamp,
    turns: u32,
    /// The model that is expected to reply, if known.
    model: Option<String>,
}

/// The state after some events.
#[derive(Debug, Default)]
pub(super) struct Fold {
    pub(super) blocks: Vec<Block>,
    pub(super) conversation: Conversation,
    /// Tool calls without a result, in the order in which they started.
    pub(super) open_calls: Vec<OpenCall>,
    queued: HashMap<MessageId, SharedMessage>,
    /// The tool calls of the replies of the run.
    called: HashMap<ToolCallId, Arc<ToolCall>>,
    /// Who denied a tool call.
    denials: HashMap<ToolCallId, String>,
    /// The last task list.
    tasks: Value,
    run: ActiveRun,
    /// The position of the last command, and who sent it.
    command: Option<(u64, String)>,
    /// Events of parallel branches, until one branch is selected.
    branches: HashMap<LoopId, Vec<Event>>,
}

impl Fold {
    /// Includes a durable event.
    pub(super) fn apply(&mut self, record: &Event) {
        let branch = record.loop_id.as_ref().and_then(|id| self.branches.get_mut(id));
        match (branch, &record.event) {
            (_, AgentEvent::ParallelLoopEnd { selected_loop_id, .. }) => self.select(selected_loop_id),
            (Some(branch), _) => branch.push(Arc::clone(record)),
            _ => self.include(record),
        }
    }

    /// Whether live items of this loop are shown.
    pub(super) fn is_shown(&self, record: &EventRecord) -> bool {
        !record.loop_id.as_ref().is_some_and(|id| self.branches.contains_key(id))
    }

    fn select(&mut self, selected: &LoopId) {
        let mut branches = std::mem::take(&mut self.branches);
        let count = branches.len();
        self.note(Style::Dim, format!("selected one of {}", human::counted(count, "branch", "branches")));
        for event in branches.remove(selected).unwrap_or_default() {
            self.include(&event);
        }
    }

    fn include(&mut self, record: &EventRecord) {
        match &record.event {
            AgentEvent::AgentStart(start) => {
                let model = start.config.as_ref().map(|config| config.model.clone());
                self.run = ActiveRun { since: record.timestamp, turns: 0, model };
                if start.base.is_some() {
                    self.conversation.rewind(start.base);
                }
            }
            AgentEvent::AgentEnd { usage, outcome, rejection, .. } => {
                self.end_calls(record.timestamp);
                let run = std::mem::take(&mut self.run);
                self.blocks.push(Block::End(Box::new(RunEnd {
                    outcome: outcome.clone(),
                    rejection: rejection.clone(),
                    turns: run.turns,
                    usage: *usage,
                    duration: record.timestamp.since(run.since),
                })));
            }
            AgentEvent::TurnStart { turn_index, .. } => self.run.turns = turn_index.saturating_add(1),
            AgentEvent::MessageQueued { message, .. } => {
                self.queued.insert(message.id(), Arc::clone(message));
            }
            AgentEvent::MessageUnqueued { message_id } => {
                self.queued.remove(message_id);
            }
            AgentEvent::MessageEnd { message } => {
                let queued = self.queued.remove(&message.id());
                let message = match message {
                    RecordedMessage::Full(message) => Some(Arc::clone(message)),
                    RecordedMessage::Earlier(reference) => queued.or_else(|| reference.shared().cloned()),
                };
                if let Some(message) = message {
                    self.message(&message);
                }
            }
            AgentEvent::MessagesImported { base, messages } => {
                self.conversation.rewind(*base);
                messages.iter().for_each(|message| self.message(message));
            }
            AgentEvent::ToolExecutionStart { tool_call_id, tool_name, args } => {
                self.start_call(tool_call_id, tool_name, args, record.timestamp);
            }
            AgentEvent::ToolExecutionEnd { tool_call_id, details, is_error, .. } => {
                self.end_call(tool_call_id, details, *is_error, record.timestamp);
            }
            AgentEvent::PermissionRequired { request } => {
                let arguments = match &request.args {
                    Some(replaced) => Some(CallArguments::Replaced(Arc::clone(replaced))),
                    None => self.called.get(&request.tool_call_id).cloned().map(CallArguments::Called),
                };
                self.open_calls.push(OpenCall {
                    id: request.tool_call_id.clone(),
                    tool: request.tool_name.clone(),
                    arguments,
                    state: CallState::Asked,
                });
            }
            AgentEvent::PermissionDecided { tool_call_id, decision, .. } => {
                let is_open =
                    |call: &OpenCall| call.id == *tool_call_id && matches!(call.state, CallState::Asked);
                self.open_calls.retain(|call| !is_open(call));
                // A tool that runs asked something; declining that does not deny the call.
                let is_running = self.open_calls.iter().any(|call| call.id == *tool_call_id);
                if let PermissionDecision::Deny { .. } = decision
                    && !is_running
                {
                    let by = self.command.as_ref().filter(|(seq, _)| seq + 1 == record.seq);
                    let by = by.map(|(_, by)| by.clone()).filter(|by| !by.is_empty());
                    self.denials.extend(by.map(|by| (tool_call_id.clone(), by)));
                }
            }
            AgentEvent::CommandAccepted(command) => self.command = Some((record.seq, command.by.clone())),
            AgentEvent::ParallelLoopStart { loop_ids, .. } => {
                let count = human::counted(loop_ids.len(), "branch", "branches");
                self.note(Style::Dim, format!("{count} started from here"));
                self.branches.extend(loop_ids.iter().map(|id| (id.clone(), Vec::new())));
            }
            AgentEvent::Rewound { tip } => {
                self.conversation.rewind(*tip);
                let words = match tip.map(|tip| self.conversation.last_user_message(tip)) {
                    None => "rewound to the start of the conversation".to_owned(),
                    Some(None) => "rewound; the conversation continues from here".to_owned(),
                    Some(Some(message)) => {
                        format!("rewound; the conversation continues after: {}", text::first_line(message))
                    }
                };
                self.blocks.push(Block::Divider { words });
            }
            event => {
                if let AgentEvent::MessageRemoved { message_id } = event {
                    self.conversation.remove(*message_id);
                }
                if let AgentEvent::ModelChanged { .. } = event {
                    self.run.model = None;
                }
                if let Some((style, words)) = words::note(event) {
                    self.note(style, words);
                }
            }
        }
    }

    fn note(&mut self, style: Style, words: impl Into<String>) {
        self.blocks.push(Block::Note { style, words: words.into() });
    }

    fn message(&mut self, message: &SharedMessage) {
        let user = message.as_user().filter(|user| user.origin.is_from_user()).map(user_text);
        self.conversation.push(message.id(), user.clone());
        if let Some(text) = user {
            let has_images = message.as_user().is_some_and(|user| user.content.iter().any(is_image));
            self.blocks.push(Block::User { text, images: has_images.then(|| message.clone()) });
        } else if let Some(reply) = message.as_assistant() {
            self.reply(message, reply);
        } else if let Some(result) = message.as_tool_result() {
            self.result(message, result);
        }
    }

    fn reply(&mut self, message: &AgentMessage, reply: &AssistantMessage) {
        let asked = reply.asked_model();
        if self.run.model.as_deref().is_some_and(|model| model != asked) {
            self.note(Style::Warning, format!("{asked} continues"));
        }
        if self.run.model.is_some() && !asked.is_empty() {
            self.run.model = Some(asked.to_owned());
        }
        let segments = segments(&reply.content);
        if !segments.is_empty() {
            self.blocks.push(Block::Reply { id: message.id(), segments });
        }
        if let Some((style, words)) = words::cut_off(reply.stop_reason) {
            self.note(style, words);
        }
        self.called.extend(reply.tool_calls().map(|call| (call.id.clone(), Arc::clone(call))));
    }

    fn start_call(&mut self, id: &ToolCallId, tool: &str, args: &ArgsRef, now: Timestamp) {
        let arguments = match args {
            ArgsRef::Rewritten(arguments) => Some(CallArguments::Replaced(Arc::clone(arguments))),
            ArgsRef::Called(call) => Some(CallArguments::Called(Arc::clone(call))),
            ArgsRef::Unresolved => self.called.get(id).cloned().map(CallArguments::Called),
        };
        self.open_calls.retain(|call| call.id != *id);
        self.open_calls.push(OpenCall {
            id: id.clone(),
            tool: tool.to_owned(),
            arguments,
            state: CallState::Running { since: now },
        });
    }

    fn end_call(&mut self, id: &ToolCallId, details: &Value, is_error: bool, at: Timestamp) {
        let Some(call) = self.open_calls.iter_mut().find(|call| call.id == *id) else { return };
        let since = match call.state {
            CallState::Running { since } | CallState::Ended { since, .. } => since,
            CallState::Asked => at,
        };
        call.state = CallState::Ended { since, at, details: details.clone(), is_error };
    }

    /// The result of a tool call: it ended, or it never ran.
    fn result(&mut self, message: &SharedMessage, result: &ToolResultMessage) {
        let id = &result.tool_call_id;
        let at = self.open_calls.iter().position(|call| call.id == *id);
        let open = at.map(|at| self.open_calls.remove(at));
        let called = self.called.remove(id).map(CallArguments::Called);
        let (arguments, state) = match open {
            Some(open) => (open.arguments.or(called), open.state),
            None => (called, CallState::Asked),
        };
        let (took, details, is_error) = match state {
            CallState::Asked => (None, Value::Null, result.is_error),
            CallState::Running { since } => {
                (Some(result.timestamp.since(since)), Value::Null, result.is_error)
            }
            CallState::Ended { since, at, details, is_error } => (Some(at.since(since)), details, is_error),
        };
        let denied_by = self.denials.remove(id);
        let has_new_tasks = self.has_new_tasks(&details);
        self.blocks.push(Block::Call(Box::new(EndedCall {
            tool: result.tool_name.clone(),
            arguments,
            result: Some(Arc::clone(message)),
            details,
            is_error,
            took,
            denied_by,
            has_new_tasks,
        })));
    }

    fn has_new_tasks(&mut self, details: &Value) -> bool {
        match details.get("items") {
            Some(items) if *items != self.tasks => {
                self.tasks = items.clone();
                true
            }
            _ => false,
        }
    }

    /// The run ended: calls without a result are interrupted, and nothing refers to its messages any more.
    fn end_calls(&mut self, now: Timestamp) {
        for call in std::mem::take(&mut self.open_calls) {
            let CallState::Running { since } = call.state else { continue };
            self.blocks.push(Block::Call(Box::new(EndedCall {
                tool: call.tool,
                arguments: call.arguments,
                result: None,
                details: json!({ "end": "cancelled" }),
                is_error: true,
                took: Some(now.since(since)),
                denied_by: None,
                has_new_tasks: false,
            })));
        }
        self.called.clear();
        self.denials.clear();
    }
}

fn is_image(block: &Content) -> bool {
    matches!(block, Content::Image { .. })
}

/// The text of a message, with a word for each image.
fn user_text(user: &UserMessage) -> String {
    let mut text = joined_text(&user.content);
    for block in &user.content {
        if let Content::Image { mime_type, .. } = block {
            let gap = if text.is_empty() { "" } else { "\n" };
            text.push_str(&format!("{gap}[{mime_type}]"));
        }
    }
    text
}
