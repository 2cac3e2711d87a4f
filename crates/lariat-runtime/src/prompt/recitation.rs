//! What is still to be done, said again before it is forgotten: goals, the list of tasks, changes that wait.
//!
//! A plan that fell out of the window, or lies many turns back, is told again; one that the model has just written itself
//! is not. Owns when, and the words.

use lariat_core::BoxFuture;
use lariat_core::content::joined_text;
use lariat_core::context::{ContextSource, Note, NotesQuery, Told};
use lariat_core::message::AgentMessage;
use lariat_core::session::{SessionMemory, TASK_LIST};
use lariat_core::transcript::Window;

use super::Teller;

/// The section of goals and of changes that wait.
const GOALS: &str = "goals";
/// The section of the list of tasks.
const TASKS: &str = "tasks";
/// Replies after which it is told again.
const OLD: usize = 40;
/// Changes and goals that are named.
const MOST: usize = 20;

/// Recites goals, tasks and changes that wait for a decision.
#[derive(Debug, Default)]
pub struct Recitation {
    teller: Teller,
}

impl ContextSource for Recitation {
    fn notes(&self, query: NotesQuery) -> BoxFuture<'_, Vec<Note>> {
        let recent = Recent::of(&query.window);
        let notes = [self.goals(&query, &recent), self.tasks(&query, &recent)];
        Box::pin(std::future::ready(notes.into_iter().flatten().collect()))
    }

    fn only_looks(&self) -> bool {
        true
    }
}

impl Recitation {
    fn goals(&self, query: &NotesQuery, recent: &Recent) -> Option<Note> {
        let text = open(&query.memory);
        let forgotten = !text.is_empty() && recent.is_long && !recent.notes.iter().any(|told| told == GOALS);
        // Too long ago is as if it had never been told.
        let told = if forgotten { Told::default() } else { query.told.clone() };
        self.teller.tell(GOALS, &text, &told)
    }

    fn tasks(&self, query: &NotesQuery, recent: &Recent) -> Option<Note> {
        let todo = query.memory.todo()?.trim_end();
        let has_open = todo.lines().any(|line| line.starts_with('[') && !line.starts_with("[x]"));
        if !has_open || recent.todo.as_deref() == Some(todo) {
            return None;
        }
        let told =
            if recent.notes.iter().any(|told| told == TASKS) { query.told.clone() } else { Told::default() };
        self.teller.tell(TASKS, &format!("Your list of tasks is still:\n{todo}"), &told)
    }
}

/// What the newest part of a conversation says.
#[derive(Default)]
struct Recent {
    /// There is more before it.
    is_long: bool,
    /// The sections that it has notes of.
    notes: Vec<String>,
    /// The newest list of tasks.
    todo: Option<String>,
}

impl Recent {
    fn of(window: &Window) -> Self {
        let mut recent = Self::default();
        let mut replies = 0;
        for message in window.iter_back() {
            replies += usize::from(message.as_assistant().is_some());
            if replies > OLD {
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

/// Goals that are not reached and changes that nobody decided about.
fn open(memory: &SessionMemory) -> String {
    let mut text = String::new();
    if !memory.goals().is_empty() {
        text.push_str("What the work is for:\n");
        memory.goals().iter().take(MOST).for_each(|goal| text.push_str(&format!("- {}\n", goal.text.trim())));
    }
    let waiting: Vec<_> = memory.plan().iter().filter(|change| !change.approved).collect();
    if !waiting.is_empty() {
        text.push_str(&format!("Changes that wait for the person's decision ({}):\n", waiting.len()));
        waiting.iter().take(MOST).for_each(|change| text.push_str(&format!("- {}\n", change.summary.trim())));
    }
    text
}

#[cfg(test)]
#[path = "recitation_tests.rs"]
mod tests;
