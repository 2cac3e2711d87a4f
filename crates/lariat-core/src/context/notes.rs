//! Notes: context that the runtime sends to the model during a conversation.
//!
//! A note is a section of the model's context (a memory file, the date, the open plan) that is new or has
//! changed. The run appends it to the conversation as a message and journals it like any other; messages that
//! were sent are never rewritten. This module has the contract for sources of such sections, and the notes
//! that the conversation contains.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::BoxFuture;
use crate::content::Content;
use crate::message::SharedMessage;
use crate::session::SessionMemory;
use crate::time::Timestamp;
use crate::transcript::Window;

/// Provides notes for the model before its next reply.
pub trait ContextSource: Send + Sync {
    /// Returns the sections that are new or have changed since their last note. Called once per turn while
    /// the run waits, so it should be quick.
    fn notes(&self, query: NotesQuery) -> BoxFuture<'_, Vec<Note>>;

    /// Returns whether `notes` has no side effects: it may read files and clocks, but changes and sends
    /// nothing. The conversation need not be durable before such a source is called.
    fn is_read_only(&self) -> bool {
        false
    }
}

impl<S: ContextSource + ?Sized> ContextSource for Arc<S> {
    fn notes(&self, query: NotesQuery) -> BoxFuture<'_, Vec<Note>> {
        (**self).notes(query)
    }

    fn is_read_only(&self) -> bool {
        (**self).is_read_only()
    }
}

/// Input of a context source.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NotesQuery {
    /// The conversation.
    pub window: Window,
    /// The newest notes that the conversation still contains.
    pub told: NewestNotes,
    /// The state of the session besides its conversation.
    pub memory: Arc<SessionMemory>,
    /// Index of the turn.
    pub turn_index: u32,
    /// Current time.
    pub now: Timestamp,
}

impl NotesQuery {
    /// Creates a query.
    pub fn new(window: Window, told: NewestNotes, turn_index: u32, now: Timestamp) -> Self {
        Self { window, told, memory: Arc::default(), turn_index, now }
    }

    /// Sets the state of the session.
    #[must_use]
    pub fn with_memory(mut self, memory: Arc<SessionMemory>) -> Self {
        self.memory = memory;
        self
    }
}

/// A note for the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// Name of the section.
    pub section: String,
    /// Text for the model.
    pub text: String,
    /// Images that follow the text.
    pub images: Vec<Content>,
}

impl Note {
    /// Creates a note.
    pub fn new(section: impl Into<String>, text: impl Into<String>) -> Self {
        Self { section: section.into(), text: text.into(), images: Vec::new() }
    }

    /// Adds images. Blocks that are not images are left out.
    #[must_use]
    pub fn with_images(mut self, images: impl IntoIterator<Item = Content>) -> Self {
        self.images.extend(images.into_iter().filter(|block| matches!(block, Content::Image { .. })));
        self
    }
}

/// The newest note of each section that the conversation still contains. A section whose note compaction
/// removed is sent again.
#[derive(Clone, Debug, Default)]
pub struct NewestNotes(Arc<BTreeMap<String, SharedMessage>>);

impl NewestNotes {
    /// Collects the notes of a conversation.
    pub fn of(window: &Window) -> Self {
        let mut told = Self::default();
        window.iter().for_each(|message| told.add(message));
        told
    }

    /// Adds the next message, if it is a note.
    pub fn add(&mut self, message: &SharedMessage) {
        if let Some(section) = message.note_section() {
            Arc::make_mut(&mut self.0).insert(section.to_owned(), Arc::clone(message));
        }
    }

    /// Returns the newest note of a section.
    pub fn get(&self, section: &str) -> Option<&SharedMessage> {
        self.0.get(section)
    }

    /// Returns the sections, sorted by name.
    pub fn sections(&self) -> impl Iterator<Item = (&str, &SharedMessage)> {
        self.0.iter().map(|(section, message)| (section.as_str(), message))
    }
}
