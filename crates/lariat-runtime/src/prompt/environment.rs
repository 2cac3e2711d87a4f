//! Notes with facts about where the agent works: system, directory, shell, date.

use lariat_core::BoxFuture;
use lariat_core::context::{ContextSource, Note, NotesQuery};
use lariat_core::time::Timestamp;

use super::NoteWriter;

/// Facts about where an agent works. The model receives them at the beginning, and when the date or a fact
/// changes.
#[derive(Debug, Default)]
pub struct Environment {
    facts: Vec<(String, String)>,
    teller: NoteWriter,
}

impl Environment {
    /// Creates a source with only the date.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a fact, such as `system` `Linux`, `directory` `/work`, `shell` `bash`.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.facts.push((name.into(), value.into()));
        self
    }

    fn text(&self, now: Timestamp) -> String {
        let facts = self.facts.iter().map(|(name, value)| format!("{name}: {value}\n"));
        let date = now.to_string();
        let date = date.split_once('T').map_or(&*date, |(day, _)| day);
        facts.chain([format!("date: {date}\n")]).collect()
    }
}

impl ContextSource for Environment {
    fn notes(&self, query: NotesQuery) -> BoxFuture<'_, Vec<Note>> {
        let note = self.teller.note("environment", &self.text(query.now), &query.told);
        Box::pin(std::future::ready(note.into_iter().collect()))
    }

    fn is_read_only(&self) -> bool {
        true
    }
}
