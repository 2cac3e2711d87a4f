//! Notes: a section is told when it is new or has changed, as a difference where that is shorter.
//!
//! Owns the form of a note. Its first line names the section and the state of it that is told, so that whoever reads the
//! conversation later, in another process, knows what was told without having it. Invariant: a model that reads the
//! notes of a section in order knows its newest state.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use lariat_core::BoxFuture;
use lariat_core::content::joined_text;
use lariat_core::context::{ContextSource, Note, NotesQuery, Told};

use super::difference::difference;

/// The state of a section that does not apply any more.
const GONE: &str = "none";

/// Turns the text of a section into a note, when there is something to tell.
#[derive(Debug, Default)]
pub struct Teller {
    /// What was told last of each section, while this process knows: differences are made from it.
    last: Mutex<BTreeMap<String, String>>,
}

impl Teller {
    /// A note for a section whose text is this now; none when the conversation has it already. An empty text takes
    /// back what was told.
    pub fn tell(&self, section: &str, text: &str, told: &Told) -> Option<Note> {
        self.tell_since(section, None, text, told)
    }

    /// The same for a section that began as another text, which the model knows from its system prompt.
    pub fn tell_since(&self, section: &str, first: Option<&str>, text: &str, told: &Told) -> Option<Note> {
        let text = text.trim_end();
        let now = state(text);
        let known = told.get(section).and_then(|message| state_of(&joined_text(message.as_llm()?.content())));
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let before = match &known {
            Some(known) => last.get(section).map(String::as_str).filter(|last| state(last) == *known),
            None => first.map(str::trim_end),
        };
        let unchanged = match &known {
            Some(known) => *known == now,
            None => before.unwrap_or_default() == text,
        };
        if unchanged {
            return None;
        }
        let whole = if text.is_empty() { "This does not apply any more." } else { text };
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

/// Names a text: FNV-1a, 64 bit, the same in every version.
fn state(text: &str) -> String {
    if text.is_empty() {
        return GONE.to_owned();
    }
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// The state that a note tells.
fn state_of(note: &str) -> Option<String> {
    let line = note.lines().next()?.strip_prefix("<context ")?;
    let (_, rest) = line.split_once("state=\"")?;
    rest.split_once('"').map(|(state, _)| state.to_owned())
}

/// Several sources as one, asked in order. One that panics has nothing to say.
#[derive(Clone, Default)]
pub struct Notes(Vec<Arc<dyn ContextSource>>);

impl Notes {
    /// Adds a source.
    pub fn add(&mut self, source: impl ContextSource + 'static) {
        self.0.push(Arc::new(source));
    }

    /// Whether there is none.
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

    fn only_looks(&self) -> bool {
        self.0.iter().all(|source| source.only_looks())
    }
}

#[cfg(test)]
#[path = "telling_tests.rs"]
mod tests;
