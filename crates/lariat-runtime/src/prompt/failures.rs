//! Notes about what failed, so that the model does not try it again.
//!
//! Sent when an attempt failed at least twice, and when compaction removed the failures from the window. The
//! session remembers the failures themselves.

use lariat_core::BoxFuture;
use lariat_core::content::joined_text;
use lariat_core::context::{ContextSource, Note, NotesQuery};
use lariat_core::session::Failure;
use lariat_core::transcript::Window;

use super::NoteWriter;

const SECTION: &str = "failures";
/// Number of failures of one attempt after which the model receives a note.
const MIN_FAILURES: u32 = 2;

/// Tells the model what it tried and what failed.
#[derive(Debug, Default)]
pub struct FailureNotes {
    teller: NoteWriter,
}

impl ContextSource for FailureNotes {
    fn notes(&self, query: NotesQuery) -> BoxFuture<'_, Vec<Note>> {
        let (failures, window) = (query.memory.failures(), &query.window);
        let is_noted = |failure: &&Failure| failure.count >= MIN_FAILURES || !is_visible(window, failure);
        let lines: String = failures.iter().filter(is_noted).map(line).collect();
        let text = match lines.is_empty() {
            true => String::new(),
            false => format!(
                "These attempts failed in this session and have not succeeded since. Do something else, or find the cause:\n{lines}"
            ),
        };
        let note = self.teller.note(SECTION, &text, &query.told);
        Box::pin(std::future::ready(note.into_iter().collect()))
    }

    fn is_read_only(&self) -> bool {
        true
    }
}

/// Formats a failure. The count is approximate: an exact one says little more, and would change the note each
/// time.
fn line(failure: &Failure) -> String {
    let frequency = match failure.count {
        0..MIN_FAILURES => "once",
        MIN_FAILURES..5 => "several times",
        _ => "many times",
    };
    let target = if failure.target.is_empty() { String::new() } else { format!(" `{}`", failure.target) };
    format!("- {}{target} ({frequency}): {}\n", failure.tool, failure.error)
}

/// Whether the conversation still shows a failure: compaction may have removed it.
fn is_visible(window: &Window, failure: &Failure) -> bool {
    let error = failure.error.trim_end_matches('…');
    window.iter_back().filter_map(|message| message.as_tool_result()).any(|result| {
        result.is_error && result.tool_name == failure.tool && joined_text(&result.content).contains(error)
    })
}
