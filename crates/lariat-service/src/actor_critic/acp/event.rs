//! Describes what an agent does, for users and for the journal. The journal gets what it has for tool calls of every agent: messages with
//! the call and its result, the list of tasks, and refusals.

use std::sync::Arc;

use lariat_acp::client::ExternalCall;
use lariat_core::content::{Content, ToolCall};
use lariat_core::event::{AgentEvent, BlockedBy, Task};
use lariat_core::id::ToolCallId;
use lariat_core::message::{AgentMessage, AssistantMessage, Message, StopReason, ToolResultMessage};
use lariat_core::usage::Usage;
use lariat_runtime::CommandEffect;
use lariat_runtime::redact::Redactor;
use serde_json::{Value, json};

use crate::clock;

/// Something that an agent did. All text is the agent's, without the keys that Lariat knows.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ExternalEvent {
    /// It said something before a tool call.
    Said(String),
    /// A tool call began, or is known better than before.
    CallBegan(ReportedCall),
    /// A tool call ended.
    CallEnded {
        /// The call.
        call: ReportedCall,
        /// `completed`, `failed` or `not finished`.
        status: &'static str,
    },
    /// A tool call was denied.
    CallDenied {
        /// The call.
        call: ReportedCall,
        /// The reason that the permission check gave.
        reason: String,
    },
    /// Its list of tasks changed: this is all of it.
    Plan(Vec<Task>),
}

/// A tool call of an agent.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ReportedCall {
    /// What it does.
    pub title: String,
    /// `read`, `edit`, `execute` and so on.
    pub kind: String,
    /// The arguments of the agent's own tool, as far as it told them.
    pub arguments: Value,
    /// The files that it changed.
    pub files: Vec<String>,
    /// Its output.
    pub output: String,
}

impl ExternalEvent {
    /// A tool call that ended or was denied, with its status, in one line. The text is the agent's.
    pub fn call_line(&self) -> Option<String> {
        match self {
            Self::CallEnded { call, status } => Some(format!("{}: {status}", call.title)),
            Self::CallDenied { call, reason } => Some(format!("{}: denied: {reason}", call.title)),
            _ => None,
        }
    }
}

impl ReportedCall {
    pub(super) fn new(call: ExternalCall, redactor: &Redactor) -> Self {
        let clean = |text: &str| redactor.text(text).into_owned();
        let mut arguments = call.arguments;
        redactor.value(&mut arguments);
        let title = if call.title.is_empty() { "tool call" } else { &call.title };
        Self {
            title: clean(title),
            kind: if call.kind.is_empty() { "other".to_owned() } else { clean(&call.kind) },
            arguments,
            files: call.changes.iter().map(|(path, _)| clean(path)).collect(),
            output: clean(&call.output),
        }
    }
}

/// Turns the events of one run of an agent into effects for the journal.
pub(crate) struct JournalWriter {
    /// The id of the run.
    command: String,
    label: String,
    model: String,
    calls: u64,
}

impl JournalWriter {
    pub(crate) fn new(command: &str, label: &str, model: Option<&str>) -> Self {
        let model = model.unwrap_or(label).to_owned();
        Self { command: command.to_owned(), label: label.to_owned(), model, calls: 0 }
    }

    /// What to record about an event; nothing for one that is only of interest while it happens.
    pub(crate) fn effects(&mut self, event: &ExternalEvent) -> Vec<CommandEffect> {
        match event {
            ExternalEvent::Said(text) => vec![message(self.reply(Content::text(text.clone())))],
            ExternalEvent::CallBegan(_) => Vec::new(),
            ExternalEvent::CallEnded { call, status } => {
                let text = match (call.output.is_empty(), *status) {
                    (false, _) => call.output.clone(),
                    (true, status) => status.to_owned(),
                };
                let (id, called) = self.call(call);
                vec![message(called), message(result(id, call, text, *status != "completed"))]
            }
            ExternalEvent::CallDenied { call, reason } => {
                let (id, called) = self.call(call);
                let blocked = AgentEvent::ToolBlocked {
                    tool_call_id: id.clone(),
                    tool_name: name(call),
                    by: BlockedBy::PermissionCheck,
                    reason: Some(reason.clone()),
                };
                let text = format!("denied: {reason}");
                vec![message(called), CommandEffect::note(blocked), message(result(id, call, text, true))]
            }
            ExternalEvent::Plan(tasks) => {
                let of = |is: fn(&Task) -> bool| {
                    tasks.iter().filter(|task| is(task)).map(|task| task.content.clone()).collect()
                };
                vec![CommandEffect::note(AgentEvent::TasksChanged {
                    tool_call_id: self.next_id(),
                    tasks: tasks.clone(),
                    started: of(Task::is_in_progress),
                    completed: of(Task::is_completed),
                })]
            }
        }
    }

    fn next_id(&mut self) -> ToolCallId {
        self.calls += 1;
        ToolCallId::from(format!("{}-call-{}", self.command, self.calls))
    }

    fn call(&mut self, call: &ReportedCall) -> (ToolCallId, AgentMessage) {
        let id = self.next_id();
        let known = [
            ("title", json!(call.title)),
            ("input", call.arguments.clone()),
            ("files", if call.files.is_empty() { Value::Null } else { json!(call.files) }),
        ];
        let known = known.into_iter().filter(|(_, value)| !value.is_null());
        let arguments = known.map(|(name, value)| (name.to_owned(), value)).collect();
        let called = ToolCall { id: id.clone(), name: name(call), arguments, signature: None };
        (id, self.reply(Content::ToolCall(Arc::new(called))))
    }

    fn reply(&self, content: Content) -> AgentMessage {
        let stop_reason =
            if matches!(content, Content::ToolCall(_)) { StopReason::ToolUse } else { StopReason::Stop };
        AgentMessage::from(Message::Assistant(AssistantMessage {
            content: vec![content],
            stop_reason,
            model: self.model.clone(),
            requested_model: None,
            provider: self.label.clone(),
            usage: Usage::default(),
            timestamp: clock::now(),
            error_message: None,
        }))
    }
}

/// A name that every provider accepts, should the conversation continue with a model.
fn name(call: &ReportedCall) -> String {
    let is_plain =
        call.kind.len() <= 32 && call.kind.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_');
    if is_plain { call.kind.clone() } else { "other".to_owned() }
}

fn result(id: ToolCallId, call: &ReportedCall, text: String, is_error: bool) -> AgentMessage {
    AgentMessage::from(Message::ToolResult(ToolResultMessage {
        tool_call_id: id,
        tool_name: name(call),
        content: vec![Content::text(text)],
        is_error,
        timestamp: clock::now(),
    }))
}

fn message(message: AgentMessage) -> CommandEffect {
    CommandEffect::Message(Box::new(message))
}
