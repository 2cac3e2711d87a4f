//! Converts a session to lines of JSON, one per event.
//!
//! A pure fold: the same events result in the same lines. Every line has the session and its own id; a complete reply is sent
//! once, after its partial pieces.

use lariat_core::content::joined_text;
use lariat_core::event::{AgentEvent, CompactionCause, EventRecord};
use lariat_core::id::{MessageId, ToolCallId};
use lariat_core::message::{AgentMessage, Message, Origin, StopReason, ToolResultMessage};
use lariat_service::claude_tools::{claude_input, claude_name};
use lariat_service::permissions::Mode;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::json::Ending;
use super::messages;
use super::partial::Partial;
use super::tally::Tally;

/// Optional lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StreamOptions {
    /// Partial replies.
    pub(crate) partial: bool,
    /// The user's messages, as they are received.
    pub(crate) replay: bool,
    /// Hook results.
    pub(crate) hooks: bool,
}

/// Facts about a session, for its first line.
#[derive(Clone, Debug)]
pub(crate) struct SessionFacts {
    pub(crate) cwd: String,
    pub(crate) model: String,
    /// Where the provider's key comes from; `none` if there is none.
    pub(crate) key_source: String,
    /// Tokens of the context window.
    pub(crate) window: u64,
    pub(crate) tools: Vec<String>,
    /// The MCP servers, each with its name and status.
    pub(crate) mcp_servers: Vec<Value>,
    pub(crate) mode: Mode,
    /// The names of the commands and skills that a message can invoke with `/NAME`.
    pub(crate) slash_commands: Vec<String>,
    /// The names of the skills among them.
    pub(crate) skills: Vec<String>,
    /// The names of the sub-agents.
    pub(crate) agents: Vec<String>,
}

/// Converts the events of a session to lines.
#[derive(Debug)]
pub(crate) struct StreamJson {
    session: String,
    stream_options: StreamOptions,
    window: u64,
    model: String,
    tally: Tally,
    partial: Partial,
    /// The details of a tool call, until its result is written.
    details: Option<(ToolCallId, Value)>,
}

impl StreamJson {
    pub(crate) fn new(session: impl Into<String>, stream_options: StreamOptions) -> Self {
        Self {
            session: session.into(),
            stream_options,
            window: 0,
            model: String::new(),
            tally: Tally::default(),
            partial: Partial::default(),
            details: None,
        }
    }

    /// The counts for the result.
    pub(crate) const fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Takes an event of an earlier process, which gets no lines: only its tool calls may still be asked about.
    pub(crate) fn earlier_event(&mut self, record: &EventRecord) {
        if let AgentEvent::MessageEnd { message } = &record.event
            && let Some(reply) = message.shared().and_then(|message| message.as_assistant())
        {
            self.tally.add_calls(reply);
        }
    }

    /// The first line of a run.
    pub(crate) fn init(&mut self, facts: &SessionFacts, uuid: Uuid) -> Value {
        self.window = facts.window;
        self.model.clone_from(&facts.model);
        self.line(
            uuid,
            json!({
                "type": "system",
                "subtype": "init",
                "cwd": facts.cwd,
                "tools": tool_names(&facts.tools),
                "mcp_servers": facts.mcp_servers,
                "model": facts.model,
                "permissionMode": mode_name(facts.mode),
                "slash_commands": facts.slash_commands,
                "agents": facts.agents,
                "skills": facts.skills,
                "plugins": [],
                "apiKeySource": facts.key_source,
                "output_style": "default",
                "claude_code_version": env!("CARGO_PKG_VERSION"),
                "capabilities": [],
            }),
        )
    }

    /// The lines for an event.
    pub(crate) fn event(&mut self, record: &EventRecord) -> Vec<Value> {
        let lines = self.lines(record);
        self.tally.event(record);
        let mut written = Vec::with_capacity(lines.len());
        for (at, (id, line)) in lines.into_iter().enumerate() {
            // Each line of an event has its own id, derived from the event's id.
            let own = || Uuid::from_u128(record.id.uuid().as_u128().wrapping_add(at as u128));
            let id = id.map_or_else(own, MessageId::uuid);
            written.push(self.line(id, line));
        }
        written
    }

    /// The last line of a run. Resets the counts that belong to a single result.
    pub(crate) fn result(&mut self, ending: &Ending, uuid: Uuid) -> Value {
        let result = ending.result(&self.session, uuid, self.window, &self.tally);
        self.tally.reset();
        result
    }

    /// The lines for an event, with the message's id if there is one.
    fn lines(&mut self, record: &EventRecord) -> Vec<(Option<MessageId>, Value)> {
        let unnamed = |lines: Vec<Value>| lines.into_iter().map(|line| (None, line)).collect();
        let system = |subtype: &str, fields: Value| vec![(None, system(subtype, fields))];
        match &record.event {
            AgentEvent::MessageStart { message } if self.stream_options.partial => {
                // A reply that has just started has only an id.
                let is_reply = message.get().is_none_or(|message| message.as_assistant().is_some());
                let model = self.model.clone();
                let begun = is_reply.then(|| self.partial.begin(message.id(), &model));
                unnamed(pieces(begun.unwrap_or_default()))
            }
            AgentEvent::MessageUpdate { delta, .. } if self.stream_options.partial => {
                unnamed(pieces(self.partial.piece(delta)))
            }
            AgentEvent::ToolExecutionEnd { tool_call_id, details, .. } => {
                self.details =
                    Some((tool_call_id.clone(), details.clone())).filter(|(_, details)| !details.is_null());
                Vec::new()
            }
            AgentEvent::MessageEnd { message } => {
                message.shared().map(|message| self.message(message)).unwrap_or_default()
            }
            AgentEvent::Compaction { cause, tokens_before, tokens_after, .. } => {
                let trigger = if *cause == CompactionCause::Manual { "manual" } else { "auto" };
                let metadata = json!({
                    "trigger": trigger, "pre_tokens": tokens_before, "post_tokens": tokens_after,
                });
                system("compact_boundary", json!({ "compact_metadata": metadata }))
            }
            AgentEvent::MessageWithdrawn { message_id } => {
                self.partial.withdraw();
                let id = messages::reply_id(*message_id);
                system("message_withdrawn", json!({ "message_id": id }))
            }
            AgentEvent::ModelRetry { attempt, delay_ms, error } => {
                system("api_retry", json!({ "attempt": attempt, "retry_delay_ms": delay_ms, "error": error }))
            }
            AgentEvent::HookStopped { reason } if self.stream_options.hooks => {
                system("hook_response", json!({ "hook_event": "", "outcome": "stopped", "output": reason }))
            }
            AgentEvent::StopBlocked { reason, .. } if self.stream_options.hooks => system(
                "hook_response",
                json!({ "hook_event": "Stop", "outcome": "blocked", "output": reason }),
            ),
            AgentEvent::InputWarned { warning: words } | AgentEvent::HookMessage { message: words } => {
                system("informational", json!({ "content": words }))
            }
            _ => Vec::new(),
        }
    }

    fn message(&mut self, message: &AgentMessage) -> Vec<(Option<MessageId>, Value)> {
        let id = message.id();
        match message.as_llm() {
            Some(Message::Assistant(reply)) => {
                let ended = self.partial.end(id, reply);
                let mut lines: Vec<_> = pieces(ended).into_iter().map(|line| (None, line)).collect();
                let mut line = json!({
                    "type": "assistant",
                    "message": messages::reply(id, reply),
                    "parent_tool_use_id": null,
                });
                match reply.stop_reason {
                    StopReason::Aborted => set(&mut line, "aborted", json!(true)),
                    StopReason::Error => {
                        set(&mut line, "error", json!("unknown"));
                        set(&mut line, "error_message", json!(reply.error_message));
                    }
                    _ => {}
                }
                lines.push((Some(id), line));
                lines
            }
            Some(Message::ToolResult(result)) => {
                let mut line = json!({
                    "type": "user",
                    "message": messages::tool_result(result),
                    "parent_tool_use_id": null,
                });
                let of_call = |(call, _): &mut (ToolCallId, Value)| *call == result.tool_call_id;
                if let Some((_, details)) = self.details.take_if(of_call) {
                    set(&mut line, "tool_use_result", details);
                }
                let denied = self.tally.is_denied(result).then(|| self.denied(result));
                denied.map(|denied| (None, denied)).into_iter().chain([(Some(id), line)]).collect()
            }
            Some(Message::User(user)) => {
                let mark = match &user.origin {
                    Origin::Person if self.stream_options.replay => "isReplay",
                    // Notes from the runtime to the model are not part of the conversation.
                    _ => return Vec::new(),
                };
                let mut line = json!({
                    "type": "user",
                    "message": messages::user(&user.content),
                    "parent_tool_use_id": null,
                });
                set(&mut line, mark, json!(true));
                vec![(Some(id), line)]
            }
            None => Vec::new(),
        }
    }

    /// A tool call was denied by a rule or by the user.
    fn denied(&self, result: &ToolResultMessage) -> Value {
        system(
            "permission_denied",
            json!({
                "tool_name": claude_name(&result.tool_name),
                "tool_use_id": result.tool_call_id,
                "tool_input": claude_input(&result.tool_name, &self.tally.input(&result.tool_call_id)),
                "message": joined_text(&result.content),
            }),
        )
    }

    fn line(&self, uuid: Uuid, mut line: Value) -> Value {
        set(&mut line, "session_id", json!(self.session));
        set(&mut line, "uuid", json!(uuid));
        line
    }
}

/// The tools under Claude Code's names, each once.
fn tool_names(tools: &[String]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for name in tools.iter().map(|tool| claude_name(tool)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Claude Code's name for a permission mode.
pub(crate) fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::AcceptEdits => "acceptEdits",
        Mode::Plan => "plan",
        Mode::Auto => "auto",
        Mode::DontAsk => "dontAsk",
        Mode::Bypass => "bypassPermissions",
        _ => "default",
    }
}

fn system(subtype: &str, fields: Value) -> Value {
    let mut line = json!({ "type": "system", "subtype": subtype });
    for (name, value) in fields.as_object().into_iter().flatten() {
        set(&mut line, name, value.clone());
    }
    line
}

fn pieces(events: Vec<Value>) -> Vec<Value> {
    let one = |event| json!({ "type": "stream_event", "event": event, "parent_tool_use_id": null });
    events.into_iter().map(one).collect()
}

fn set(line: &mut Value, name: &str, value: Value) {
    let fields: Option<&mut Map<String, Value>> = line.as_object_mut();
    if let Some(fields) = fields {
        fields.insert(name.to_owned(), value);
    }
}

#[cfg(test)]
#[path = "stream_json_tests.rs"]
mod tests;
