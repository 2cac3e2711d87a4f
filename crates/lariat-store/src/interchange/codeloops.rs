//! Imports and exports sessions of codeloops.
//!
//! In codeloops, an actor works and a critic judges: the file has one line at the start, one per iteration and one at the
//! end. The import turns the prompt and the critic's feedback into user messages, and the actor's output into replies. An
//! extension message keeps each whole line, with the diff, exit codes, durations and confidence. The export writes these
//! lines again, with their fields in the order of the format.

use std::sync::Arc;

use lariat_core::content::Content;
use lariat_core::event::{AgentEvent, Event};
use lariat_core::id::{MessageId, SessionId};
use lariat_core::message::{
    AgentMessage, AssistantMessage, ExtensionMessage, LlmMessage, Message, StopReason, UserMessage,
};
use lariat_core::time::Timestamp;
use lariat_core::usage::Usage;
use serde_json::{Map, Value};

use super::lines::{self, JsonLine, text, timestamp};
use super::{
    ImportSegment, ImportedEvent, ImportedSession, InterchangeError, Note, SessionInfo, derive_id, title_of,
};

/// Prefix of the kind of extension messages that contain a line.
const KIND: &str = "codeloops/";
/// The tag of sessions with iterations, also of those that Lariat runs itself.
const TAG: &str = "loop";
/// The user message for a critic's decision without feedback.
const NO_FEEDBACK: &str = "Continue.";

/// The fields of all lines, in the order in which a line has them.
const FIELDS: &[&str] = &[
    "type",
    "iteration_number",
    "actor_output",
    "actor_stderr",
    "actor_exit_code",
    "actor_duration_secs",
    "git_diff",
    "git_files_changed",
    "critic_decision",
    "feedback",
    "outcome",
    "iterations",
    "summary",
    "confidence",
    "duration_secs",
    "timestamp",
    "prompt",
    "working_dir",
    "actor_agent",
    "critic_agent",
    "actor_model",
    "critic_model",
    "max_iterations",
];

/// Exports the iterations of a session as a session file.
///
/// # Errors
/// If the session has no iterations.
pub fn export(events: &[Event]) -> Result<Vec<u8>, InterchangeError> {
    let imported = events.iter().filter_map(|event| match &event.event {
        AgentEvent::MessagesImported { messages, .. } => Some(messages),
        _ => None,
    });
    let mut file = Vec::new();
    for message in imported.flatten() {
        if let AgentMessage::Extension(extension) = &**message
            && extension.kind.starts_with(KIND)
            && let Value::Object(line) = &extension.data
        {
            write_line(&mut file, line);
        }
    }
    if file.is_empty() {
        return Err(InterchangeError::NoIterations);
    }
    Ok(file)
}

/// Writes the fields that the format knows in its order, and the others after them.
fn write_line(file: &mut Vec<u8>, line: &Map<String, Value>) {
    let known = FIELDS.iter().filter_map(|name| line.get_key_value(*name));
    let other = line.iter().filter(|(name, _)| !FIELDS.contains(&name.as_str()));
    let fields: Vec<String> =
        known.chain(other).map(|(name, value)| format!("{}:{value}", Value::from(name.as_str()))).collect();
    file.extend_from_slice(format!("{{{}}}\n", fields.join(",")).as_bytes());
}

/// Imports a session file.
///
/// ```
/// let file = br#"{"type":"session_start","timestamp":"2025-01-27T15:30:45Z","prompt":"fix it","working_dir":"/w"}"#;
/// let imported = lariat_store::interchange::codeloops::import(file)?;
/// assert_eq!(imported.notes, []);
/// # Ok::<(), lariat_store::interchange::InterchangeError>(())
/// ```
///
/// # Errors
/// When the file has no line of such a session. All other problems become notes.
pub fn import(bytes: &[u8]) -> Result<ImportedSession, InterchangeError> {
    let (objects, notes) = lines::read(bytes);
    let found = objects.len() + notes.len();
    let mut session = SessionImport { notes, ..SessionImport::default() };
    // Appending to the file never changes its first line, so the session's id derives from it.
    let first =
        objects.first().map(|line| Value::Object(line.fields.clone()).to_string()).unwrap_or_default();
    session.name = derive_id("codeloops", &[&first]).to_string();
    objects.iter().for_each(|line| session.line(line));
    if session.messages.is_empty() {
        return Err(InterchangeError::NoMessages { format: "codeloops", lines: found });
    }
    let tip = session.messages.last().map(|(_, message)| message.id());
    let messages = session.messages.into_iter().map(|(time, message)| (time, Arc::new(message))).collect();
    let mut events = vec![session.about.event(session.begun.unwrap_or_default())];
    events.extend(ImportSegment { base: None, messages }.events());
    events.push(ImportedEvent { at: session.now, event: AgentEvent::Rewound { tip } });
    Ok(ImportedSession::new("codeloops", SessionId::from(session.name), events, session.notes))
}

#[derive(Default)]
struct SessionImport {
    name: String,
    about: SessionInfo,
    notes: Vec<Note>,
    begun: Option<Timestamp>,
    now: Timestamp,
    model: String,
    actor: String,
    messages: Vec<(Timestamp, AgentMessage)>,
}

impl SessionImport {
    fn line(&mut self, JsonLine { number, fields }: &JsonLine) {
        if let Some(at) = timestamp(fields) {
            self.begun.get_or_insert(at);
            self.now = self.now.max(at);
        }
        match text(fields, "type") {
            Some("session_start") => self.start(*number, fields),
            Some("iteration") => self.iteration(*number, fields),
            Some("session_end") => self.keep(*number, "session_end", fields),
            other => {
                let text = other.map_or("missing type".to_owned(), |other| format!("unknown type `{other}`"));
                self.notes.push(Note { line: *number, text });
            }
        }
    }

    fn start(&mut self, number: usize, line: &Map<String, Value>) {
        let prompt = text(line, "prompt").unwrap_or_default();
        self.about.title = title_of(prompt);
        self.about.tags = vec![TAG.to_owned()];
        self.about.cwd = text(line, "working_dir").map(str::to_owned);
        self.actor = text(line, "actor_agent").unwrap_or("codeloops").to_owned();
        self.model = text(line, "actor_model").unwrap_or(&self.actor).to_owned();
        self.keep(number, "session_start", line);
        self.user(number, prompt);
    }

    fn iteration(&mut self, number: usize, line: &Map<String, Value>) {
        let output = text(line, "actor_output").or_else(|| text(line, "actor_stderr")).unwrap_or_default();
        let reply = Message::Assistant(AssistantMessage {
            content: vec![Content::text(output)],
            stop_reason: StopReason::Stop,
            model: self.model.clone(),
            requested_model: None,
            provider: self.actor.clone(),
            usage: Usage::default(),
            timestamp: self.now,
            error_message: None,
        });
        self.push(number, reply);
        self.keep(number, "iteration", line);
        // After DONE the conversation ends.
        if matches!(text(line, "critic_decision"), Some("CONTINUE" | "ERROR")) {
            let feedback = text(line, "feedback").or_else(|| text(line, "recovery")).unwrap_or(NO_FEEDBACK);
            self.user(number, feedback);
        }
    }

    fn user(&mut self, number: usize, words: &str) {
        let content = vec![Content::text(words)];
        self.push(number, Message::User(UserMessage::new(content).at(self.now)));
    }

    fn push(&mut self, number: usize, message: Message) {
        let id = self.id(number);
        self.messages.push((self.now, AgentMessage::Llm(LlmMessage { id, turn_id: None, message })));
    }

    fn keep(&mut self, number: usize, kind: &str, line: &Map<String, Value>) {
        let mut message: AgentMessage =
            ExtensionMessage::new(format!("{KIND}{kind}"), Value::Object(line.clone())).into();
        message.assign_id(|| self.id(number));
        self.messages.push((self.now, message));
    }

    fn id(&self, number: usize) -> MessageId {
        let place = self.messages.len().to_string();
        MessageId::new(derive_id("codeloops", &[&self.name, &number.to_string(), &place]))
    }
}

#[cfg(test)]
#[path = "codeloops_tests.rs"]
mod tests;
