//! Notes that repeat what is still to be done, before the model forgets it: goals, the task list, queued
//! changes.
//!
//! Repeats what compaction removed or what is many turns old, but not what the model has just written itself.

use lariat_core::BoxFuture;
use lariat_core::content::joined_text;
use lariat_core::context::{ContextSource, NewestNotes, Note, NotesQuery};
use lariat_core::message::AgentMessage;
use lariat_core::session::{SessionMemory, TASK_LIST};
use lariat_core::transcript::Window;

use super::NoteWriter;

/// The section of goals and queued changes.
const GOALS: &str = "goals";
/// The section of the task list.
const TASKS: &str = "tasks";
/// Number of replies after which it is repeated.
const MAX_AGE: usize = 40;
/// Maximum number of changes and of goals to list.
const MAX_ITEMS: usize = 20;

/// Repeats goals, tasks and queued changes to the model.
#[derive(Debug, Default)]
pub struct OpenTaskNotes {
    teller: NoteWriter,
}

impl ContextSource for OpenTaskNotes {
    fn notes(&self, query: NotesQuery) -> BoxFuture<'_, Vec<Note>> {
        let recent = RecentMessages::of(&query.window);
        let notes = [self.goals(&query, &recent), self.tasks(&query, &recent)];
        Box::pin(std::future::ready(notes.into_iter().flatten().collect()))
    }

    fn is_read_only(&self) -> bool {
        true
    }
}

impl OpenTaskNotes {
    fn goals(&self, query: &NotesQuery, recent: &RecentMessages) -> Option<Note> {
        let text = open_items(&query.memory);
        let forgotten =
            !text.is_empty() && recent.is_long && !recent.notes.iter().any(|section| section == GOALS);
        // Treat a note that is too old as if it had never been sent.
        let sent_notes = if forgotten { NewestNotes::default() } else { query.told.clone() };
        self.teller.note(GOALS, &text, &sent_notes)
    }

    fn tasks(&self, query: &NotesQuery, recent: &RecentMessages) -> Option<Note> {
        let todo = query.memory.todo()?.trim_end();
        let has_open = todo.lines().any(|line| line.starts_with('[') && !line.starts_with("[x]"));
        if !has_open || recent.todo.as_deref() == Some(todo) {
            return None;
        }
        let sent_notes = if recent.notes.iter().any(|section| section == TASKS) {
            query.told.clone()
        } else {
            NewestNotes::default()
        };
        self.teller.note(TASKS, &format!("Your task list is still:\n{todo}"), &sent_notes)
    }
}

/// The content of the newest part of a conversation.
#[derive(Default)]
struct RecentMessages {
    /// Whether there is more before it.
    is_long: bool,
    /// The sections that it has notes of.
    notes: Vec<String>,
    /// The newest task list.
    todo: Option<String>,
}

impl RecentMessages {
    fn of(window: &Window) -> Self {
        let mut recent = Self::default();
        let mut replies = 0;
        for message in window.iter_back() {
            replies += usize::from(message.as_assistant().is_some());
            if replies > MAX_AGE {
                recent.is_long = true;
                break;
            }
            recent.notes.extend(message.note_section().map(str::to_owned));
            if recent.todo.is_none() {
                recent.todo = todo(message);
            }
        }
        recent
    }
}

fn todo(message: &AgentMessage) -> Option<String> {
    let result =
        message.as_tool_result().filter(|result| result.tool_name == TASK_LIST && !result.is_error)?;
    Some(joined_text(&result.content).trim_end().to_owned())
}

/// Lists open goals and undecided changes.
fn open_items(memory: &SessionMemory) -> String {
    let mut text = String::new();
    if !memory.goals().is_empty() {
        text.push_str("Goals of this work:\n");
        memory
            .goals()
            .iter()
            .take(MAX_ITEMS)
            .for_each(|goal| text.push_str(&format!("- {}\n", goal.text.trim())));
    }
    let waiting: Vec<_> = memory.plan().iter().filter(|change| !change.approved).collect();
    if !waiting.is_empty() {
        text.push_str(&format!("Changes that wait for the user's decision ({}):\n", waiting.len()));
        waiting
            .iter()
            .take(MAX_ITEMS)
            .for_each(|change| text.push_str(&format!("- {}\n", change.summary.trim())));
    }
    text
}

#[cfg(test)]
#[path = "open_task_notes_tests.rs"]
mod tests;
