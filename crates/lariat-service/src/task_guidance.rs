//! Advises the model how to approach a task: by how large the task looks, and by how large the model's context window is.
//!
//! The assessment reads the prompt alone and is deliberately simple: it counts listed steps, named files and words. A small
//! task and a large window need no advice, so most sessions receive none.

use lariat_core::BoxFuture;
use lariat_core::content::joined_text;
use lariat_core::context::{ContextSource, Note, NotesQuery};
use lariat_core::message::Origin;
use lariat_runtime::prompt::NoteWriter;

/// The name of the section.
const SECTION: &str = "guidance";
/// Context window, in tokens, below which the model is asked to save room.
const SMALL_WINDOW: u64 = 64_000;
/// Number of steps from which on a task is large.
const MANY_STEPS: usize = 4;
/// Number of named files from which on a task is large.
const MANY_FILES: usize = 4;
/// Number of words from which on a task is large.
const MANY_WORDS: usize = 300;

/// Advice for the task of a run.
pub(crate) struct TaskGuidance {
    /// The context window of the model, in tokens.
    pub(crate) window: u64,
    pub(crate) writer: NoteWriter,
}

/// What a prompt contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TaskSize {
    steps: usize,
    files: usize,
    words: usize,
}

impl TaskSize {
    fn of(prompt: &str) -> Self {
        let files: std::collections::BTreeSet<&str> =
            prompt.split_whitespace().filter_map(file_name).collect();
        Self {
            steps: prompt.lines().filter(|line| is_step(line)).count(),
            files: files.len(),
            words: prompt.split_whitespace().count(),
        }
    }

    const fn is_large(self) -> bool {
        self.steps >= MANY_STEPS || self.files >= MANY_FILES || self.words >= MANY_WORDS
    }
}

/// Whether a line is an item of a list: `- x`, `* x`, `1. x` or `1) x`.
fn is_step(line: &str) -> bool {
    let line = line.trim_start();
    let number = line.trim_start_matches(|character: char| character.is_ascii_digit());
    let is_numbered = number.len() < line.len() && (number.starts_with(". ") || number.starts_with(") "));
    is_numbered || line.starts_with("- ") || line.starts_with("* ")
}

/// The word without punctuation, if it looks like the name of a file.
fn file_name(word: &str) -> Option<&str> {
    let name = word.trim_matches(|character: char| !character.is_alphanumeric());
    let (stem, ending) = name.rsplit_once('.')?;
    // One letter is an abbreviation, except for C.
    let is_ending = matches!(ending, "c" | "h")
        || ((2..=4).contains(&ending.len()) && ending.chars().all(|c| c.is_ascii_lowercase()));
    (is_ending && !stem.is_empty()).then_some(name)
}

fn advice(prompt: &str, window: u64) -> String {
    let size = TaskSize::of(prompt);
    let mut text = String::new();
    if size.is_large() {
        text.push_str(&format!(
            "This task looks large ({} listed steps, {} named files, {} words). Split it into steps, and finish and check each one before the next.\n",
            size.steps, size.files, size.words
        ));
    }
    if window > 0 && window < SMALL_WINDOW {
        text.push_str(&format!(
            "Your context window is small ({window} tokens). Read parts of files, search before you read, and keep the output of commands short.\n"
        ));
    }
    text
}

impl ContextSource for TaskGuidance {
    fn notes(&self, query: NotesQuery) -> BoxFuture<'_, Vec<Note>> {
        let prompt = query.window.iter_back().filter(|_| query.turn_index == 0).find_map(|message| {
            let user = message.as_user().filter(|user| user.origin == Origin::Person)?;
            Some(joined_text(&user.content))
        });
        let text = prompt.map(|prompt| advice(&prompt, self.window)).filter(|text| !text.is_empty());
        let note = text.and_then(|text| self.writer.note(SECTION, &text, &query.told));
        Box::pin(std::future::ready(note.into_iter().collect()))
    }

    fn is_read_only(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    //! Tests the assessment of tasks.

    use super::*;

    #[test]
    fn small_task_in_a_large_window_gets_no_advice() {
        assert_eq!(advice("Fix the typo in README.md, please.", 200_000), "");
        assert_eq!(advice("", 0), "");
    }

    #[test]
    fn counts_steps_and_named_files() {
        let prompt =
            "Do this:\n- change a.rs\n* change `b.rs`\n1. test\n2) release\nSee a.rs, e.g. version 1.2.";
        assert_eq!(TaskSize::of(prompt), TaskSize { steps: 4, files: 2, words: 17 });
        let text = advice(prompt, 200_000);
        assert!(text.contains("4 listed steps") && !text.contains("context window"), "{text}");
    }

    #[test]
    fn small_window_is_named_with_its_size() {
        assert!(advice("hi", 32_768).contains("32768 tokens"));
        assert_eq!(advice("hi", SMALL_WINDOW), "");
    }
}
