//! What a model is told besides the conversation, while the conversation goes on.
//!
//! A note is a section of the model's context (a memory file, the date, the open plan) that is new or has changed. It is
//! appended to the conversation as a message of its own and journaled like any other; nothing that was sent is ever
//! rewritten. Owns the contract of whoever knows such sections, and the fold of what was told.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::BoxFuture;
use crate::message::SharedMessage;
use crate::session::SessionMemory;
use crate::time::Timestamp;
use crate::transcript::Window;

/// Knows what a model should be told before its next reply.
pub trait ContextSource: Send + Sync {
    /// What is new or has changed since it was told. Asked once per turn, so it should be quick: a run waits for it.
    fn notes(&self, query: NotesQuery) -> BoxFuture<'_, Vec<Note>>;

    /// Whether asking reaches nobody who could notice: files are read, clocks looked at, nothing is changed or sent. What
    /// the conversation holds need not be durable before such a source is asked.
    fn only_looks(&self) -> bool {
        false
    }
}

impl<S: ContextSource + ?Sized> ContextSource for Arc<S> {
    fn notes(&self, query: NotesQuery) -> BoxFuture<'_, Vec<Note>> {
        (**self).notes(query)
    }

    fn only_looks(&self) -> bool {
        (**self).only_looks()
    }
}

/// What a source has to work with.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NotesQuery {
    /// The conversation.
    pub window: Window,
    /// What was told and is still in it.
    pub told: Told,
    /// What the session remembers besides it.
    pub memory: Arc<SessionMemory>,
    /// The turn.
    pub turn_index: u32,
    /// The time.
    pub now: Timestamp,
}

impl NotesQuery {
    /// A query.
    pub fn new(window: Window, told: Told, turn_index: u32, now: Timestamp) -> Self {
        Self { window, told, memory: Arc::default(), turn_index, now }
    }

    /// The same, with what the session remembers.
    #[must_use]
    pub fn with_memory(mut self, memory: Arc<SessionMemory>) -> Self {
        self.memory = memory;
        self
    }
}

/// Something to tell a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Which section it belongs to.
    pub section: String,
    /// For the model.
    pub text: String,
}

impl Note {
    /// A note.
    pub fn new(section: impl Into<String>, text: impl Into<String>) -> Self {
        Self { section: section.into(), text: text.into() }
    }
}

/// The newest note of every section, as far as the conversation still has it: what compaction took out is told again.
#[derive(Clone, Debug, Default)]
pub struct Told(Arc<BTreeMap<String, SharedMessage>>);

impl Told {
    /// Reads it off a conversation.
    pub fn of(window: &Window) -> Self {
        let mut told = Self::default();
        window.iter().for_each(|message| told.add(message));
        told
    }

    /// Takes in the next message.
    pub fn add(&mut self, message: &SharedMessage) {
        if let Some(section) = message.note_section() {
            Arc::make_mut(&mut self.0).insert(section.to_owned(), Arc::clone(message));
        }
    }

    /// The newest note of a section.
    pub fn get(&self, section: &str) -> Option<&SharedMessage> {
        self.0.get(section)
    }

    /// The sections, in the order of their names.
    pub fn sections(&self) -> impl Iterator<Item = (&str, &SharedMessage)> {
        self.0.iter().map(|(section, message)| (section.as_str(), message))
    }
}
