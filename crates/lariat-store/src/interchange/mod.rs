//! Imports sessions of other programs as events, and exports sessions for them.
//!
//! All formats are lines of JSON that may be broken. The functions work on bytes and events and never touch a file. Ids are
//! derived from the content, so importing the same file again gives the same ids.
//! Invariant: no input makes an import panic or loop. [`ImportedSession::notes`] names everything that could not be used.

pub mod claude;
pub mod codeloops;
pub mod codex;
mod lines;

use std::fmt;
use std::sync::Arc;

use lariat_core::event::{AgentEvent, Description, Event, EventRecord, FORMAT_VERSION, Import};
use lariat_core::id::{EventId, MessageId, SessionId};
use lariat_core::message::SharedMessage;
use lariat_core::time::{Minter, Stamp, Timestamp};
use uuid::Uuid;

/// Approximate maximum number of messages in one event. Bounds the cost of reading one event.
const SEGMENT: usize = 256;
/// Maximum number of characters of a title taken from a prompt.
const TITLE: usize = 200;

/// A session of another program, as events to append to a journal.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ImportedSession {
    /// The session's id in the other program.
    pub session_id: SessionId,
    /// The format of the file.
    pub format: &'static str,
    /// The events to append, in order.
    pub events: Vec<ImportedEvent>,
    /// Everything that could not be used, with its line.
    pub notes: Vec<Note>,
}

/// An event to append, and its time.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedEvent {
    /// When it happened.
    pub at: Timestamp,
    /// The event.
    pub event: AgentEvent,
}

/// A part of a file that was not used, or not used unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Line in the file, from 1; 0 for the whole file.
    pub line: usize,
    /// Description of the problem.
    pub text: String,
}

/// Why a file cannot be imported, or a session not exported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InterchangeError {
    /// The file has no message of this format.
    #[error("found no message of a {format} session in {lines} lines")]
    NoMessages {
        /// The expected format.
        format: &'static str,
        /// Number of lines in the file.
        lines: usize,
    },
    /// The session cannot be written in this format.
    #[error("the session has no iterations of an actor and a critic")]
    NoIterations,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.text)
    }
}

impl ImportedSession {
    fn new(
        format: &'static str,
        session_id: SessionId,
        events: Vec<ImportedEvent>,
        mut notes: Vec<Note>,
    ) -> Self {
        notes.sort_by_key(|note| note.line);
        Self { session_id, format, events, notes }
    }

    /// Returns the event that precedes the session's events and marks them as imported.
    fn mark(&self) -> ImportedEvent {
        let id = derive_id("import", &[self.format, self.session_id.as_str()]).to_string();
        let import = Import::new(id, self.format, self.session_id.clone());
        let at = self.events.iter().map(|event| event.at).min().unwrap_or_default();
        ImportedEvent { at, event: AgentEvent::SessionImported(Box::new(import)) }
    }

    /// Returns the events as records of a journal, numbered from `first_seq`, after an event that names their origin. The
    /// same import gives the same records.
    pub fn records(&self, first_seq: u64) -> Vec<Event> {
        let mut minter = Minter::default();
        let entropy = derive_id("events", &[self.session_id.as_str()]).as_u64_pair().0;
        let record = |(seq, imported): (u64, &ImportedEvent)| {
            minter.stamp(Stamp { now: imported.at, entropy });
            Arc::new(EventRecord {
                v: FORMAT_VERSION,
                seq,
                id: EventId::new(minter.uuid()),
                timestamp: imported.at,
                loop_id: None,
                event: imported.event.clone(),
            })
        };
        let mark = self.mark();
        (first_seq..).zip(std::iter::once(&mark).chain(&self.events)).map(record).collect()
    }
}

/// Derives an id from its parts. Equal parts give equal ids.
fn derive_id(purpose: &str, parts: &[&str]) -> Uuid {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"lariat interchange\n").update(purpose.as_bytes());
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
    }
    let mut bytes = [0; 16];
    hasher.finalize_xof().fill(&mut bytes);
    let number = u128::from_be_bytes(bytes);
    // Version 8 (application-defined) and the variant of RFC 9562.
    Uuid::from_u128(number & !(0xf << 76) & !(0b11 << 62) | (0x8 << 76) | (0b10 << 62))
}

/// Returns the message id for a name in a file: the name itself if it is a UUID, else an id derived from it.
fn message_id(name: &str) -> MessageId {
    // Compare with the canonical spelling, so that two names never get the same id.
    let written = Uuid::try_parse(name).ok().filter(|uuid| !uuid.is_nil() && uuid.to_string() == name);
    MessageId::new(written.unwrap_or_else(|| derive_id("message", &[name])))
}

/// Consecutive messages after a base, with their times.
#[derive(Debug, Default)]
struct ImportSegment {
    base: Option<MessageId>,
    messages: Vec<(Timestamp, SharedMessage)>,
}

impl ImportSegment {
    /// Converts the messages to events of bounded size. Keeps a reply and its tool results in one event.
    fn events(self) -> Vec<ImportedEvent> {
        let mut events = Vec::new();
        let (mut base, mut open, mut at) = (self.base, Vec::new(), Timestamp::default());
        for (time, message) in self.messages {
            if open.len() >= SEGMENT && message.as_tool_result().is_none() {
                let last = open.last().map(|message: &SharedMessage| message.id());
                events.push(ImportedEvent { at, event: import_event(base, std::mem::take(&mut open)) });
                base = last;
            }
            at = at.max(time);
            open.push(message);
        }
        if !open.is_empty() {
            events.push(ImportedEvent { at, event: import_event(base, open) });
        }
        events
    }
}

fn import_event(base: Option<MessageId>, messages: Vec<SharedMessage>) -> AgentEvent {
    AgentEvent::MessagesImported { base, messages }
}

/// What is known about a session besides its messages.
#[derive(Debug, Default)]
struct SessionInfo {
    title: Option<String>,
    cwd: Option<String>,
    git_branch: Option<String>,
    tags: Vec<String>,
}

impl SessionInfo {
    fn event(self, at: Timestamp) -> ImportedEvent {
        let mut description = Description::default();
        description.title = self.title;
        description.cwd = self.cwd;
        description.git_branch = self.git_branch;
        description.tags = (!self.tags.is_empty()).then_some(self.tags);
        ImportedEvent { at, event: AgentEvent::SessionDescribed(Box::new(description)) }
    }
}

/// Shortens a prompt to a title: one line of bounded length. `None` if the prompt is blank.
fn title_of(prompt: &str) -> Option<String> {
    let line = prompt.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = line.chars().take(TITLE).collect();
    let cut = if short.len() < line.len() { "…" } else { "" };
    (!short.is_empty()).then(|| format!("{}{cut}", short.trim_end()))
}
