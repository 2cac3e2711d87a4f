//! Formats messages and events as text, one line each where possible.

use std::collections::HashMap;

use lariat_core::content::{Content, ToolCall, joined_text};
use lariat_core::display;
use lariat_core::event::{AgentEvent, EventRecord, Finding};
use lariat_core::message::{AgentMessage, SharedMessage, ToolResultMessage};
use serde_json::Value;

use super::super::print;

/// Maximum characters of a tool call on a line.
const CALL: usize = 100;
/// Maximum characters of a result on a line.
const RESULT: usize = 60;

/// Formats a conversation, with each tool call followed by its result. Each message starts with its id, for `rewind --to`.
pub(in crate::commands) fn conversation<'a>(messages: impl IntoIterator<Item = &'a SharedMessage>) -> String {
    let messages: Vec<&SharedMessage> = messages.into_iter().collect();
    let results: HashMap<&str, &ToolResultMessage> = messages
        .iter()
        .filter_map(|message| message.as_tool_result())
        .map(|result| (result.tool_call_id.as_str(), result))
        .collect();
    let mut text = String::new();
    for message in messages {
        let lines = message_lines(message, &results);
        if !lines.is_empty() {
            text.push_str(&format!("[{}]\n", message.id()));
        }
        for line in lines {
            text.push_str(&line);
            text.push('\n');
        }
    }
    text
}

fn message_lines(message: &AgentMessage, results: &HashMap<&str, &ToolResultMessage>) -> Vec<String> {
    if let Some(user) = message.as_user() {
        let text = joined_text(&user.content);
        let pictures = user.content.iter().filter(|content| matches!(content, Content::Image { .. })).count();
        let who = match message.note_section() {
            // The first line tells the model what it reads.
            Some(section) if Finding::id_of_section(section).is_some() => {
                let found: Vec<&str> = text.lines().skip(1).collect();
                return vec![format!("(finding) {}", found.join("\n")), String::new()];
            }
            Some(section) => return vec![format!("(context: {section})"), String::new()],
            None if user.origin.is_from_user() => "> ",
            None => "(summary) ",
        };
        let pictures = if pictures > 0 { format!(" [{pictures} images]") } else { String::new() };
        return vec![format!("{who}{}{pictures}", text.trim()), String::new()];
    }
    let Some(reply) = message.as_assistant() else { return Vec::new() };
    let mut lines = Vec::new();
    for content in &reply.content {
        match content {
            Content::Text { text } if !text.trim().is_empty() => {
                lines.extend([text.trim().to_owned(), String::new()]);
            }
            Content::ToolCall(call) => {
                lines.push(call_line(call, results.get(call.id.as_str()).copied()));
            }
            _ => {}
        }
    }
    if let Some(error) = &reply.error_message {
        lines.push(format!("! {error}"));
    }
    if lines.last().is_some_and(|line| !line.is_empty()) {
        lines.push(String::new());
    }
    lines
}

fn call_line(call: &ToolCall, result: Option<&ToolResultMessage>) -> String {
    let came = match result {
        None => "no result".to_owned(),
        Some(result) => {
            let text = joined_text(&result.content);
            let word = if result.is_error { "failed: " } else { "" };
            format!("{word}{}", print::abbreviate(&text, RESULT))
        }
    };
    format!("· {} {} → {came}", call.name, about(&call.arguments))
}

/// Summarizes arguments: the first of the usual fields, or all of them as JSON.
pub(crate) fn about(arguments: &Value) -> String {
    let field = |name: &str| arguments.get(name).and_then(Value::as_str);
    let usual = ["command", "path", "file_path", "url", "pattern", "query"].into_iter().find_map(field);
    match usual {
        Some(text) => print::abbreviate(text, CALL),
        None => print::abbreviate(&arguments.to_string(), CALL),
    }
}

/// Formats an event as one neutralised line.
pub(super) fn event(record: &EventRecord) -> String {
    let (kind, about) = match &record.event {
        AgentEvent::AgentStart(start) => {
            let model = start.config.as_ref().map(|config| config.model.clone());
            ("run start", model.unwrap_or_default())
        }
        AgentEvent::AgentEnd { usage, .. } => {
            ("run end", format!("{} tokens, {}", print::count(usage.total()), print::money(usage.cost)))
        }
        AgentEvent::TurnStart { turn_index, .. } => ("turn", format!("{}", turn_index + 1)),
        AgentEvent::MessageEnd { message } => match message.shared() {
            Some(message) => message_summary(message),
            None => ("message", String::new()),
        },
        AgentEvent::MessageQueued { message, .. } => ("queued", message_summary(message).1),
        AgentEvent::MessagesImported { messages, .. } => imported_summary(messages),
        AgentEvent::SessionImported(import) => {
            ("imported", format!("{} session {}", import.format, import.session_id))
        }
        AgentEvent::SessionTakenOver { .. } => ("taken over", "earlier approvals do not apply".to_owned()),
        AgentEvent::ToolExecutionStart { tool_name, .. } => ("tool start", tool_name.clone()),
        AgentEvent::ToolExecutionEnd { tool_name, is_error, .. } => {
            (if *is_error { "tool failed" } else { "tool done" }, tool_name.clone())
        }
        AgentEvent::PermissionRequired { request } => ("approval", request.tool_name.clone()),
        AgentEvent::ToolBlocked { tool_name, reason, .. } => {
            let reason = reason.as_ref().map(|reason| format!(": {}", print::abbreviate(reason, CALL)));
            ("blocked", format!("{tool_name}{}", reason.unwrap_or_default()))
        }
        AgentEvent::TasksChanged { tasks, .. } => {
            let done = tasks.iter().filter(|task| task.is_completed()).count();
            ("tasks", format!("{done} of {} done", tasks.len()))
        }
        AgentEvent::Checkpoint { label, .. } => ("checkpoint", label.clone()),
        AgentEvent::LimitReached { note, .. } => ("limit", note.clone()),
        AgentEvent::Compaction { tokens_before, tokens_after, .. } => (
            "compacted",
            format!("{} to {} tokens", print::count(*tokens_before), print::count(*tokens_after)),
        ),
        AgentEvent::Rewound { tip } => {
            ("rewound", tip.map_or_else(|| "to the start".to_owned(), |tip| format!("to {tip}")))
        }
        AgentEvent::LoopRecovered { interrupted, .. } => {
            ("recovered", format!("{} interrupted tool calls", interrupted.len()))
        }
        AgentEvent::FindingShared(finding) => {
            let text = print::abbreviate(&finding.text, CALL);
            ("finding", format!("{}: {text}", finding.agents.join("/")))
        }
        AgentEvent::EventLost { note } => ("lost", note.clone()),
        other => ("event", kind_of(other)),
    };
    let about = display::line(&about);
    let line = format!("{:>6}  {}  {kind:<12} {about}", record.seq, print::time(record.timestamp));
    line.trim_end().to_owned()
}

/// What was added besides a run: a record of a loop, or messages of another program.
fn imported_summary(messages: &[SharedMessage]) -> (&'static str, String) {
    let [message] = messages else { return ("imported", format!("{} messages", messages.len())) };
    let AgentMessage::Extension(record) = &**message else { return message_summary(message) };
    let field = |name: &str| record.data.get(name).and_then(Value::as_str).unwrap_or_default();
    match record.kind.strip_prefix("codeloops/") {
        Some("session_start") => ("loop start", print::abbreviate(field("prompt"), CALL)),
        Some("iteration") => {
            let number = record.data.get("iteration_number").and_then(Value::as_u64).unwrap_or_default();
            let feedback = print::abbreviate(field("feedback"), CALL);
            ("iteration", format!("{number}: {} {feedback}", field("critic_decision")))
        }
        Some("session_end") => {
            ("loop end", format!("{} {}", field("outcome"), print::abbreviate(field("summary"), CALL)))
        }
        _ => ("record", record.kind.clone()),
    }
}

/// The author of a message, and its beginning.
fn message_summary(message: &AgentMessage) -> (&'static str, String) {
    if let Some(section) = message.note_section() {
        return ("note", section.to_owned());
    }
    if let Some(user) = message.as_user() {
        return ("user", print::abbreviate(&joined_text(&user.content), CALL));
    }
    if let Some(result) = message.as_tool_result() {
        return ("result", print::abbreviate(&joined_text(&result.content), CALL));
    }
    let Some(reply) = message.as_assistant() else { return ("message", String::new()) };
    let text = print::abbreviate(&joined_text(&reply.content), CALL);
    let calls: Vec<String> =
        reply.tool_calls().map(|call| format!("{} {}", call.name, about(&call.arguments))).collect();
    let text = std::iter::once(text).filter(|text| !text.is_empty()).chain(calls);
    ("model", text.collect::<Vec<_>>().join("; "))
}

/// The type name of an event in the journal.
fn kind_of(event: &AgentEvent) -> String {
    let value = serde_json::to_value(event).unwrap_or_default();
    value.get("type").and_then(Value::as_str).unwrap_or("event").to_owned()
}
