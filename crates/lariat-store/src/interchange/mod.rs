//! Sessions of other programs: read as events of ours, and written for them to read.
//!
//! Owns what an import gives ([`Imported`]) and what all formats share: lines of JSON that may be broken, and ids that
//! come out the same whenever the same file is read. Pure code over bytes and events; nothing here touches a file.
//! Invariant: no input makes an import panic or loop. What cannot be used is named in [`Imported::notes`].

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

/// Messages in one event at most, give or take an exchange: bounds what reading one event costs.
const SEGMENT: usize = 256;
/// Characters of a prompt that serve as a title.
const TITLE: usize = 200;

/// A session of another program, as events to be appended to a journal.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Imported {
    /// The session's id there.
    pub session_id: SessionId,
    /// The format it was read from.
    pub format: &'static str,
    /// What to append, in order.
    pub events: Vec<ImportedEvent>,
    /// What could not be used, and where it is.
    pub notes: Vec<Note>,
}

/// An event to be appended, and when it happened.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedEvent {
    /// When it happened.
    pub at: Timestamp,
    /// What happened.
    pub event: AgentEvent,
}

/// Something in a file that was not used, or not as it stands there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Line in the file, from 1; 0 for the file as a whole.
    pub line: usize,
    /// In words.
    pub text: String,
}

/// Why a file cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InterchangeError {
    /// Nothing in it is a message of this format.
    #[error("no message of a {format} session was found in {lines} lines")]
    NoMessages {
        /// The format that was expected.
        format: &'static str,
        /// Lines that were looked at.
        lines: usize,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.text)
    }
}

impl Imported {
    fn new(
        format: &'static str,
        session_id: SessionId,
        events: Vec<ImportedEvent>,
        mut notes: Vec<Note>,
    ) -> Self {
        notes.sort_by_key(|note| note.line);
        Self { session_id, format, events, notes }
    }

    /// Says that the session was imported; comes before its events.
    fn mark(&self) -> ImportedEvent {
        let id = derived("import", &[self.format, self.session_id.as_str()]).to_string();
        let import = Import::new(id, self.format, self.session_id.clone());
        let at = self.events.iter().map(|event| event.at).min().unwrap_or_default();
        ImportedEvent { at, event: AgentEvent::SessionImported(Box::new(import)) }
    }

    /// The events as records of a journal, numbered from `first_seq`, after one that says where they come from. The same
    /// import gives the same records.
    pub fn records(&self, first_seq: u64) -> Vec<Event> {
        let mut minter = Minter::default();
        let entropy = derived("events", &[self.session_id.as_str()]).as_u64_pair().0;
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

/// An id made of its parts, the same each time.
fn derived(purpose: &str, parts: &[&str]) -> Uuid {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"lariat interchange\n").update(purpose.as_bytes());
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
    }
    let mut bytes = [0; 16];
    hasher.finalize_xof().fill(&mut bytes);
    let number = u128::from_be_bytes(bytes);
    // Version 8 (made by an application) and the variant of RFC 9562.
    Uuid::from_u128(number & !(0xf << 76) & !(0b11 << 62) | (0x8 << 76) | (0b10 << 62))
}

/// The message id of a name in a file: the name itself where it is a UUID, else one derived from it.
fn message_id(name: &str) -> MessageId {
    // Compared with its own writing, so that two names never become one id.
    let written = Uuid::try_parse(name).ok().filter(|uuid| !uuid.is_nil() && uuid.to_string() == name);
    MessageId::new(written.unwrap_or_else(|| derived("message", &[name])))
}

/// Messages with their times that follow one another after a base.
#[derive(Debug, Default)]
struct Segment {
    base: Option<MessageId>,
    messages: Vec<(Timestamp, SharedMessage)>,
}

impl Segment {
    /// As events of bounded size. An exchange stays in one event, so that a conversation that ends in it is whole.
    fn events(self) -> Vec<ImportedEvent> {
        let mut events = Vec::new();
        let (mut base, mut open, mut at) = (self.base, Vec::new(), Timestamp::default());
        for (time, message) in self.messages {
            if open.len() >= SEGMENT && message.as_tool_result().is_none() {
                let last = open.last().map(|message: &SharedMessage| message.id());
                events.push(ImportedEvent { at, event: imported(base, std::mem::take(&mut open)) });
                base = last;
            }
            at = at.max(time);
            open.push(message);
        }
        if !open.is_empty() {
            events.push(ImportedEvent { at, event: imported(base, open) });
        }
        events
    }
}

fn imported(base: Option<MessageId>, messages: Vec<SharedMessage>) -> AgentEvent {
    AgentEvent::MessagesImported { base, messages }
}

/// What is known about a session besides its messages.
#[derive(Debug, Default)]
struct About {
    title: Option<String>,
    cwd: Option<String>,
    git_branch: Option<String>,
    tags: Vec<String>,
}

impl About {
    fn event(self, at: Timestamp) -> ImportedEvent {
        let mut description = Description::default();
        description.title = self.title;
        description.cwd = self.cwd;
        description.git_branch = self.git_branch;
        description.tags = (!self.tags.is_empty()).then_some(self.tags);
        ImportedEvent { at, event: AgentEvent::SessionDescribed(Box::new(description)) }
    }
}

/// A prompt as a title: one line of bounded length. `None` when nothing of it is visible.
fn title_of(prompt: &str) -> Option<String> {
    let line = prompt.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = line.chars().take(TITLE).collect();
    let cut = if short.len() < line.len() { "…" } else { "" };
    (!short.is_empty()).then(|| format!("{}{cut}", short.trim_end()))
}
