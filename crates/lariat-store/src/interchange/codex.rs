//! Imports Codex CLI rollouts.
//!
//! A rollout is a log of `{timestamp, type, payload}`: items of the Responses API, in order, between lines about turns and
//! the session. Older rollouts have bare items. The import joins all model items between two inputs into one reply. A
//! `apply_compaction` line starts the conversation again, and a rollback removes whole turns; earlier messages stay in the journal.

use std::collections::HashMap;
use std::sync::Arc;

use lariat_core::content::{Content, ToolCall};
use lariat_core::event::AgentEvent;
use lariat_core::id::{MessageId, SessionId, ToolCallId};
use lariat_core::message::{
    AgentMessage, AssistantMessage, ExtensionMessage, LlmMessage, Message, StopReason, ToolResultMessage,
    UserMessage,
};
use lariat_core::time::Timestamp;
use lariat_core::usage::Usage;
use serde_json::{Map, Value, json};

use super::lines::{self, JsonLine, count, object, text, timestamp};
use super::{
    ImportSegment, ImportedEvent, ImportedSession, InterchangeError, Note, SessionInfo, derive_id, title_of,
};

/// Prefix of the kind of extension messages that contain an item without a counterpart.
const KIND: &str = "codex/";

/// Prefixes of user messages that Codex writes itself, with the environment and instructions.
const CONTEXT: &[&str] = &[
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<permissions instructions>",
    "<skill>",
    "<turn_aborted>",
    "<user_shell_command>",
];

/// Imports a rollout.
///
/// ```
/// let rollout = br#"{"timestamp":"2026-01-01T00:00:00Z","type":"response_item","payload":
///     {"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}}"#;
/// let line: Vec<u8> = rollout.iter().copied().filter(|byte| *byte != b'\n').collect();
/// assert_eq!(lariat_store::interchange::codex::import(&line)?.notes, []);
/// # Ok::<(), lariat_store::interchange::InterchangeError>(())
/// ```
///
/// # Errors
/// When the file has no item. All other problems become notes.
pub fn import(bytes: &[u8]) -> Result<ImportedSession, InterchangeError> {
    let (objects, notes) = lines::read(bytes);
    let found = objects.len() + notes.len();
    let mut rollout = Rollout { notes, ..Rollout::default() };
    objects.into_iter().for_each(|line| rollout.line(line));
    rollout.close();
    let tip = rollout.messages.last().map(|(_, message)| message.id()).or(rollout.base);
    rollout.begin(None);
    if rollout.segments.is_empty() {
        return Err(InterchangeError::NoMessages { format: "Codex", lines: found });
    }
    Ok(rollout.finish(tip, bytes))
}

#[derive(Default)]
struct Rollout {
    session_id: Option<String>,
    about: SessionInfo,
    model: String,
    notes: Vec<Note>,
    begun: Option<Timestamp>,
    now: Timestamp,
    /// The line being read, and the number of messages it has produced.
    number: usize,
    made: usize,
    segments: Vec<ImportSegment>,
    base: Option<MessageId>,
    messages: Vec<(Timestamp, AgentMessage)>,
    /// The message before each turn of the conversation.
    turns: Vec<Option<MessageId>>,
    /// Index of the reply being built, and of the newest reply.
    open: Option<usize>,
    newest: Option<usize>,
    /// Tool names by tool call, and tool calls without a result.
    tools: HashMap<String, String>,
    pending: Vec<String>,
    /// Messages between a tool call and its result.
    asides: Vec<(Timestamp, AgentMessage)>,
    /// The user's prompts, for compactions that only have a summary.
    prompts: Vec<Vec<Content>>,
}

impl Rollout {
    fn line(&mut self, JsonLine { number, fields }: JsonLine) {
        (self.number, self.made) = (number, 0);
        if let Some(at) = timestamp(&fields) {
            self.begun.get_or_insert(at);
            self.now = self.now.max(at);
        }
        let Some(payload) = object(&fields, "payload") else { return self.bare_line(&fields) };
        match text(&fields, "type").unwrap_or_default() {
            "session_meta" => self.session(payload),
            "response_item" => self.item(payload),
            "turn_context" => self.context(payload),
            "event_msg" => self.event_message(payload),
            "compacted" => self.apply_compaction(payload),
            other => self.note(format!("unknown type `{other}`")),
        }
    }

    /// Reads a line of an older rollout: an item, or what is now `session_meta`.
    fn bare_line(&mut self, fields: &Map<String, Value>) {
        match text(fields, "type") {
            Some(_) => self.item(fields),
            None if fields.contains_key("id") => self.session(fields),
            None if fields.contains_key("record_type") => {}
            None => self.note("missing type".to_owned()),
        }
    }

    fn note(&mut self, text: String) {
        self.notes.push(Note { line: self.number, text });
    }

    fn session(&mut self, meta: &Map<String, Value>) {
        // A forked rollout has its own metadata first, then that of its parent.
        if self.session_id.is_some() {
            return;
        }
        self.session_id = text(meta, "id").map(str::to_owned);
        self.about.cwd = text(meta, "cwd").map(str::to_owned);
        self.about.git_branch = object(meta, "git").and_then(|git| text(git, "branch")).map(str::to_owned);
    }

    fn context(&mut self, turn: &Map<String, Value>) {
        if let Some(model) = text(turn, "model") {
            self.model = model.to_owned();
        }
        if let Some(cwd) = text(turn, "cwd") {
            self.about.cwd = Some(cwd.to_owned());
        }
    }

    /// Reads an event message. Most of them repeat items for display.
    fn event_message(&mut self, event: &Map<String, Value>) {
        match text(event, "type").unwrap_or_default() {
            "token_count" => {
                let used = object(event, "info").and_then(|info| object(info, "last_token_usage"));
                let newest = self.newest.and_then(|at| self.messages.get_mut(at));
                if let (Some(used), Some((_, AgentMessage::Llm(llm)))) = (used, newest)
                    && let Message::Assistant(reply) = &mut llm.message
                {
                    reply.usage = usage(used);
                }
            }
            "thread_rolled_back" => {
                let mut back = None;
                for _ in 0..count(event, "num_turns").min(self.turns.len() as u64) {
                    back = self.turns.pop();
                }
                if let Some(base) = back {
                    self.begin(base);
                }
            }
            _ => {}
        }
    }

    fn apply_compaction(&mut self, compacted: &Map<String, Value>) {
        self.begin(None);
        self.turns.clear();
        match compacted.get("replacement_history").and_then(Value::as_array) {
            Some(history) => history.iter().filter_map(Value::as_object).for_each(|item| self.item(item)),
            // Codex keeps the user's messages and adds the summary as another user message.
            None => {
                let summary = vec![Content::text(text(compacted, "message").unwrap_or_default())];
                for content in std::mem::take(&mut self.prompts).into_iter().chain([summary]) {
                    self.user(content);
                }
            }
        }
    }

    fn item(&mut self, item: &Map<String, Value>) {
        let kind = text(item, "type").unwrap_or_default();
        match kind {
            "message" => {
                let content = contents(item.get("content"));
                match text(item, "role") {
                    Some("user") => self.user(content),
                    Some("assistant") => self.reply(content),
                    _ => self.aside(item),
                }
            }
            "reasoning" => self.reply(vec![reasoning(item)]),
            "web_search_call" => self.reply(vec![Content::Unknown(item.clone())]),
            "function_call" => {
                let arguments = text(item, "arguments").unwrap_or("{}");
                let arguments = serde_json::from_str(arguments).unwrap_or_else(|_| json!(arguments));
                self.call(item, text(item, "name").unwrap_or_default(), arguments);
            }
            "custom_tool_call" => {
                let input = json!({"input": text(item, "input").unwrap_or_default()});
                self.call(item, text(item, "name").unwrap_or_default(), input);
            }
            "local_shell_call" => {
                self.call(item, "local_shell", item.get("action").cloned().unwrap_or_default());
            }
            "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => {
                self.output(item);
            }
            "" => self.note("item has no type".to_owned()),
            _ => self.aside(item),
        }
    }

    fn id(&mut self) -> MessageId {
        let session = self.session_id.as_deref().unwrap_or_default();
        self.made += 1;
        MessageId::new(derive_id("codex", &[session, &self.number.to_string(), &self.made.to_string()]))
    }

    fn push(&mut self, message: Message) {
        let id = self.id();
        self.messages.push((self.now, AgentMessage::Llm(LlmMessage { id, turn_id: None, message })));
    }

    fn user(&mut self, content: Vec<Content>) {
        self.close();
        let words = lariat_core::content::joined_text(&content);
        if !CONTEXT.iter().any(|beginning| words.trim_start().starts_with(beginning)) {
            let before = self.messages.last().map(|(_, message)| message.id()).or(self.base);
            self.turns.push(before);
            self.prompts.push(content.clone());
            self.about.title = self.about.title.take().or_else(|| title_of(&words));
        }
        self.push(Message::User(UserMessage::new(content).at(self.now)));
    }

    fn reply(&mut self, content: Vec<Content>) {
        if self.open.is_none() {
            self.close();
            (self.open, self.newest) = (Some(self.messages.len()), Some(self.messages.len()));
            self.push(Message::Assistant(AssistantMessage {
                content: Vec::new(),
                stop_reason: StopReason::Stop,
                model: self.model.clone(),
                requested_model: None,
                provider: "openai".to_owned(),
                usage: Usage::default(),
                timestamp: self.now,
                error_message: None,
            }));
        }
        let open = self.open.and_then(|at| self.messages.get_mut(at));
        if let Some((_, AgentMessage::Llm(llm))) = open
            && let Message::Assistant(reply) = &mut llm.message
        {
            reply.content.extend(content);
            if reply.content.iter().any(|block| block.as_tool_call().is_some()) {
                reply.stop_reason = StopReason::ToolUse;
            }
        }
    }

    fn call(&mut self, item: &Map<String, Value>, name: &str, arguments: Value) {
        let id = text(item, "call_id").or_else(|| text(item, "id")).unwrap_or_default().to_owned();
        self.tools.insert(id.clone(), name.to_owned());
        let call =
            ToolCall { id: ToolCallId::from(id.as_str()), name: name.to_owned(), arguments, signature: None };
        self.reply(vec![Content::ToolCall(Arc::new(call))]);
        self.pending.push(id);
    }

    fn output(&mut self, item: &Map<String, Value>) {
        self.open = None;
        let call = text(item, "call_id").unwrap_or_default();
        self.pending.retain(|pending| pending != call);
        let output = item.get("output").unwrap_or(&Value::Null);
        // Older versions wrote failures as an object.
        let inside = output.as_object();
        let content = inside.map_or(Some(output), |inside| inside.get("content"));
        self.push(Message::ToolResult(ToolResultMessage {
            tool_call_id: ToolCallId::from(call),
            tool_name: self.tools.get(call).cloned().unwrap_or_default(),
            content: contents(content),
            is_error: inside.and_then(|inside| inside.get("success")) == Some(&Value::Bool(false)),
            timestamp: self.now,
        }));
    }

    /// Adds an item that is not part of the conversation. Never separates a tool call from its result.
    fn aside(&mut self, item: &Map<String, Value>) {
        let kind = format!("{KIND}{}", text(item, "type").unwrap_or_default());
        let mut message: AgentMessage = ExtensionMessage::new(kind, Value::Object(item.clone())).into();
        let id = self.id();
        message.assign_id(|| id);
        self.asides.push((self.now, message));
        if self.open.is_none() && self.pending.is_empty() {
            self.close();
        }
    }

    fn close(&mut self) {
        self.open = None;
        self.pending.clear();
        self.messages.append(&mut self.asides);
    }

    /// Ends the current segment. The messages that follow come after `base`.
    fn begin(&mut self, base: Option<MessageId>) {
        self.close();
        let messages: Vec<_> =
            self.messages.drain(..).map(|(time, message)| (time, Arc::new(message))).collect();
        if !messages.is_empty() {
            self.segments.push(ImportSegment { base: self.base, messages });
        }
        self.newest = None;
        self.base = base;
    }

    fn finish(self, tip: Option<MessageId>, bytes: &[u8]) -> ImportedSession {
        let session_id = self
            .session_id
            .unwrap_or_else(|| derive_id("session", &[blake3::hash(bytes).to_hex().as_str()]).to_string());
        let mut events = vec![self.about.event(self.begun.unwrap_or_default())];
        events.extend(self.segments.into_iter().flat_map(ImportSegment::events));
        events.push(ImportedEvent { at: self.now, event: AgentEvent::Rewound { tip } });
        ImportedSession::new("codex", SessionId::from(session_id), events, self.notes)
    }
}

/// Parses the content of an item: text, or a list of parts.
fn contents(content: Option<&Value>) -> Vec<Content> {
    match content {
        Some(Value::String(text)) => vec![Content::text(text.as_str())],
        Some(Value::Array(parts)) => parts.iter().filter_map(Value::as_object).map(part).collect(),
        _ => Vec::new(),
    }
}

fn part(part: &Map<String, Value>) -> Content {
    let words = part.get("text").and_then(Value::as_str);
    match text(part, "type").unwrap_or_default() {
        "input_text" | "output_text" | "text" => words.map(Content::text),
        "input_image" => text(part, "image_url").and_then(image),
        _ => None,
    }
    .unwrap_or_else(|| Content::Unknown(part.clone()))
}

/// Parses the image of a `data:` URL.
fn image(url: &str) -> Option<Content> {
    let (mime_type, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
    Some(Content::Image { data: data.to_owned(), mime_type: mime_type.to_owned() })
}

/// Keeps the whole reasoning item as the signature, because the API expects it back unchanged.
fn reasoning(item: &Map<String, Value>) -> Content {
    let texts = |name: &str| {
        let parts = item.get(name).and_then(Value::as_array).into_iter().flatten();
        parts.filter_map(|part| part.get("text")?.as_str()).collect::<Vec<_>>().join("\n\n")
    };
    let thinking = Some(texts("summary")).filter(|text| !text.is_empty()).unwrap_or_else(|| texts("content"));
    Content::Thinking { thinking, signature: serde_json::to_string(item).ok() }
}

fn usage(used: &Map<String, Value>) -> Usage {
    let cached = count(used, "cached_input_tokens");
    Usage {
        input: count(used, "input_tokens").saturating_sub(cached),
        output: count(used, "output_tokens"),
        cache_read: cached,
        total_tokens: count(used, "total_tokens"),
        reasoning: count(used, "reasoning_output_tokens"),
        ..Usage::default()
    }
}

#[cfg(test)]
#[path = "codex_tests.rs"]
mod tests;
