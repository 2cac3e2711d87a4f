//! What was tried and failed, so that it is not tried again.
//!
//! Told when an attempt failed twice or more, and when compaction took the failures out of the window. Owns when, and the
//! words; the session remembers the failures themselves.

use lariat_core::BoxFuture;
use lariat_core::content::joined_text;
use lariat_core::context::{ContextSource, Note, NotesQuery};
use lariat_core::session::Failure;
use lariat_core::transcript::Window;

use super::Teller;

const SECTION: &str = "failures";
/// Failures of one attempt after which the model is told.
const TWICE: u32 = 2;

/// Tells what was tried and failed.
#[derive(Debug, Default)]
pub struct FailureEvidence {
    teller: Teller,
}

impl ContextSource for FailureEvidence {
    fn notes(&self, query: NotesQuery) -> BoxFuture<'_, Vec<Note>> {
        let (failures, window) = (query.memory.failures(), &query.window);
        let tell = |failure: &&Failure| failure.count >= TWICE || !is_in(window, failure);
        let lines: String = failures.iter().filter(tell).map(line).collect();
        let text = match lines.is_empty() {
            true => String::new(),
            false => format!(
                "Tried in this session, failed, and not mended since. Do something else, or find the cause:\n{lines}"
            ),
        };
        let note = self.teller.tell(SECTION, &text, &query.told);
        Box::pin(std::future::ready(note.into_iter().collect()))
    }

    fn only_looks(&self) -> bool {
        true
    }
}

/// One line, the same for two failures and for ten: how often says little, and would be told each time.
fn line(failure: &Failure) -> String {
    let often = match failure.count {
        0..TWICE => "once",
        TWICE..5 => "several times",
        _ => "many times",
    };
    let target = if failure.target.is_empty() { String::new() } else { format!(" `{}`", failure.target) };
    format!("- {}{target} ({often}): {}\n", failure.tool, failure.error)
}

/// Whether the conversation itself still shows a failure: compaction may have taken it out.
fn is_in(window: &Window, failure: &Failure) -> bool {
    let error = failure.error.trim_end_matches('…');
    window.iter_back().filter_map(|message| message.as_tool_result()).any(|result| {
        result.is_error && result.tool_name == failure.tool && joined_text(&result.content).contains(error)
    })
}
