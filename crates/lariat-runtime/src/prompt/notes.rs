//! Notes: the model receives a section when it is new or has changed, as a difference where that is shorter.
//!
//! The first line of a note names the section and the hash of its text, so that another process that reads
//! the conversation later knows what was sent. Invariant: a model that reads the notes of a section in order
//! knows its newest text.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use lariat_core::BoxFuture;
use lariat_core::content::joined_text;
use lariat_core::context::{ContextSource, NewestNotes, Note, NotesQuery};

use super::difference::difference;

/// The hash of a section that no longer applies.
const WITHDRAWN: &str = "none";

/// Turns the text of a section into a note if it is new or has changed.
#[derive(Debug, Default)]
pub struct NoteWriter {
    /// The text last sent of each section, as far as this process knows it: the base for differences.
    last: Mutex<BTreeMap<String, String>>,
}

impl NoteWriter {
    /// Returns a note for the current text of a section; `None` if the conversation already has it. An empty
    /// text withdraws the section.
    pub fn note(&self, section: &str, text: &str, sent_notes: &NewestNotes) -> Option<Note> {
        self.note_since(section, None, text, sent_notes)
    }

    /// Like [`note`](Self::note), for a section that the model already has as `first` in its system prompt.
    pub fn note_since(
        &self,
        section: &str,
        first: Option<&str>,
        text: &str,
        sent_notes: &NewestNotes,
    ) -> Option<Note> {
        let text = text.trim_end();
        let now = text_hash(text);
        let known = sent_notes
            .get(section)
            .and_then(|message| hash_in_note(&joined_text(message.as_llm()?.content())));
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let before = match &known {
            Some(known) => last.get(section).map(String::as_str).filter(|last| text_hash(last) == *known),
            None => first.map(str::trim_end),
        };
        let unchanged = match &known {
            Some(known) => *known == now,
            None => before.unwrap_or_default() == text,
        };
        if unchanged {
            return None;
        }
        let whole = if text.is_empty() { "This no longer applies." } else { text };
        let mut note = format!("<context section=\"{section}\" state=\"{now}\">\n{whole}\n</context>");
        if let Some(before) = before.filter(|before| !before.is_empty() && !text.is_empty()) {
            let change = difference(before, text);
            let short = format!(
                "<context section=\"{section}\" state=\"{now}\" changed=\"true\">\n{change}</context>"
            );
            if short.len() < note.len() {
                note = short;
            }
        }
        last.insert(section.to_owned(), text.to_owned());
        Some(Note::new(section, note))
    }
}

/// Hashes a text: FNV-1a, 64 bits, the same in every version.
fn text_hash(text: &str) -> String {
    if text.is_empty() {
        return WITHDRAWN.to_owned();
    }
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// Reads the hash from a note.
fn hash_in_note(note: &str) -> Option<String> {
    let line = note.lines().next()?.strip_prefix("<context ")?;
    let (_, rest) = line.split_once("state=\"")?;
    rest.split_once('"').map(|(text_hash, _)| text_hash.to_owned())
}

/// Combines several sources into one and asks them in order. A source that panics contributes nothing.
#[derive(Clone, Default)]
pub struct Notes(Vec<Arc<dyn ContextSource>>);

impl Notes {
    /// Adds a source.
    pub fn add(&mut self, source: impl ContextSource + 'static) {
        self.0.push(Arc::new(source));
    }

    /// Whether there are no sources.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl ContextSource for Notes {
    fn notes(&self, query: NotesQuery) -> BoxFuture<'_, Vec<Note>> {
        Box::pin(async move {
            let mut notes = Vec::new();
            for source in &self.0 {
                let asking = AssertUnwindSafe(async { source.notes(query.clone()).await });
                notes.extend(asking.catch_unwind().await.unwrap_or_default());
            }
            notes
        })
    }

    fn is_read_only(&self) -> bool {
        self.0.iter().all(|source| source.is_read_only())
    }
}

#[cfg(test)]
#[path = "notes_tests.rs"]
mod tests;
