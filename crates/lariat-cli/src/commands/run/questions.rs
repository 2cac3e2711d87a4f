//! Questions to the person, and when a key is an answer to one.
//!
//! Owns the order of the questions and the moment from which on keys count: the prompt of a question appears when it has
//! been on the screen for [`SETTLE`] and no key was pressed for as long. What is typed before that never answers it: a
//! sentence that the person is in the middle of goes on, other keys are dropped. After an answer, keys that follow
//! without a pause (the Enter after a `y`) are dropped, too.
//! Pure: the caller says what time it is, and writes what comes back.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use lariat_core::id::RequestId;
use lariat_core::permission::{PermissionDecision, PermissionRequest};
use lariat_guard::display;
use serde_json::Value;
use tokio::time::Instant;

use super::ask::Asked;
use super::draft::{Draft, Edit};
use super::keys::Key;
use crate::screen::approval::{self, Answer, Question};
use crate::screen::look::Look;

/// How long a question is shown, and keys rest, before a key can answer it.
const SETTLE: Duration = Duration::from_millis(200);
/// The same for a person who was typing a sentence when the question came.
const TYPING: Duration = Duration::from_secs(1);

/// A question without an answer.
pub(super) enum Open {
    /// Whether a call may run; its arguments, where they are known; whether the person wants to say why not.
    Call { request: Arc<PermissionRequest>, arguments: Option<Value>, wants_reason: bool },
    /// Something that a tool asks.
    Tool(Asked),
    /// One letter of several, asked by the program itself.
    Choice { words: String, letters: &'static str },
}

/// What a key came to.
pub(super) enum Outcome {
    /// Write this.
    Write(String),
    /// A call is decided.
    Decided(RequestId, PermissionDecision),
    /// A tool's question is answered.
    Answered(Asked, Option<String>),
    /// A letter was chosen; none for the end of the input.
    Chosen(Option<char>),
    /// The person said something to the run.
    Said(String),
    /// What the person types to the run changed; this shows it on a terminal that is not redrawn.
    Typing(String),
    Nothing,
}

/// The questions, and what is typed.
#[derive(Default)]
pub(super) struct Questions {
    open: VecDeque<Open>,
    is_confined: bool,
    /// When the first one was shown.
    shown: Option<Instant>,
    /// Whether its prompt is there.
    is_ready: bool,
    last_key: Option<Instant>,
    /// Whether the last key answered a question.
    after_answer: bool,
    /// The line that answers a question.
    line: Draft,
    /// The line that the person types to the run.
    pub(super) draft: Draft,
}

impl Questions {
    /// No questions yet, of a session whose commands run in a sandbox or not.
    pub(super) fn new(is_confined: bool) -> Self {
        Self { is_confined, ..Self::default() }
    }

    fn question<'a>(&self, request: &'a PermissionRequest, arguments: Option<&'a Value>) -> Question<'a> {
        Question { request, arguments, is_confined: self.is_confined }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Adds a question. True when it is the first, and has to be shown.
    pub(super) fn put(&mut self, open: Open) -> bool {
        self.open.push_back(open);
        self.open.len() == 1
    }

    /// Takes a question about a call away. True when it was the one that is shown.
    pub(super) fn withdraw(&mut self, id: RequestId) -> bool {
        let is_it = |open: &Open| matches!(open, Open::Call { request, .. } if request.id == id);
        let was_shown = self.open.front().is_some_and(is_it);
        self.open.retain(|open| !is_it(open));
        was_shown
    }

    /// Takes all of them away.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Open> {
        std::mem::take(&mut self.open).into_iter()
    }

    /// The first question, to be shown now. `None` when there is none.
    pub(super) fn show(&mut self, now: Instant, look: &Look) -> Option<String> {
        (self.shown, self.is_ready) = (Some(now), false);
        self.line.clear();
        Some(match self.open.front()? {
            Open::Call { request, arguments, .. } => {
                let question = self.question(request, arguments.as_ref());
                format!("\n{}", question.lines(look))
            }
            Open::Tool(asked) => {
                let mut words = format!("\n? {}\n", display::block(&asked.question.text));
                for (at, option) in asked.question.options.iter().enumerate() {
                    words.push_str(&format!("  {}. {}\n", at + 1, display::line(option)));
                }
                words
            }
            Open::Choice { words, .. } => words.clone(),
        })
    }

    /// The prompt of the first question, when it is time for it.
    pub(super) fn ready(&mut self, now: Instant) -> Option<String> {
        let (false, Some(shown)) = (self.is_ready, self.shown) else { return None };
        let rested = now.duration_since(self.last_key.map_or(shown, |key| key.max(shown)));
        if rested < if self.draft.is_empty() { SETTLE } else { TYPING } {
            return None;
        }
        let prompt = self.prompt()?;
        self.is_ready = true;
        Some(prompt)
    }

    fn prompt(&self) -> Option<String> {
        Some(match self.open.front()? {
            Open::Call { wants_reason: true, .. } => "why not> ".to_owned(),
            Open::Call { request, .. } => self.question(request, None).prompt(),
            Open::Tool(_) => "> ".to_owned(),
            Open::Choice { letters, .. } => {
                let letters: Vec<String> = letters.chars().map(String::from).collect();
                format!("{}> ", letters.join("/"))
            }
        })
    }

    /// A key was pressed.
    pub(super) fn key(&mut self, key: &Key, now: Instant, look: &Look) -> Outcome {
        let rested = self.last_key.is_none_or(|last| now.duration_since(last) >= SETTLE);
        self.last_key = Some(now);
        if self.open.is_empty() {
            if self.after_answer && !rested {
                return Outcome::Nothing;
            }
            self.after_answer = false;
            return match self.draft.edit(key) {
                Edit::Changed(shown) => Outcome::Typing(shown),
                Edit::Sent(line) if line.trim().is_empty() => Outcome::Typing(String::new()),
                Edit::Sent(line) => Outcome::Said(line.trim().to_owned()),
                Edit::Nothing => Outcome::Nothing,
            };
        }
        if !self.is_ready {
            if !self.draft.is_empty() && !matches!(key, Key::Enter) {
                self.draft.edit(key);
            }
            return Outcome::Nothing;
        }
        match self.open.front_mut() {
            Some(Open::Call { request, wants_reason: false, .. }) => {
                let request = Arc::clone(request);
                self.call_key(&request, key, look)
            }
            Some(Open::Choice { letters, .. }) => {
                let letter = match key {
                    Key::Char(letter) => {
                        Some(letter.to_ascii_lowercase()).filter(|key| letters.contains(*key))
                    }
                    Key::End => return self.chosen(None),
                    _ => None,
                };
                match letter {
                    Some(letter) => self.chosen(Some(letter)),
                    None => Outcome::Nothing,
                }
            }
            Some(_) => self.line_key(key),
            None => Outcome::Nothing,
        }
    }

    fn chosen(&mut self, letter: Option<char>) -> Outcome {
        self.answered();
        Outcome::Chosen(letter)
    }

    /// A key for a question that one key answers.
    fn call_key(&mut self, request: &PermissionRequest, key: &Key, look: &Look) -> Outcome {
        let answer = match key {
            Key::Char(letter) => self.question(request, None).answer(*letter),
            Key::End => Answer::Decided(PermissionDecision::Deny { reason: None }),
            // An Enter belongs to what was typed before.
            Key::Enter => return Outcome::Nothing,
            _ => Answer::Unclear,
        };
        match answer {
            Answer::Decided(decision) => {
                self.answered();
                Outcome::Decided(request.id, decision)
            }
            Answer::WantsReason => {
                if let Some(Open::Call { wants_reason, .. }) = self.open.front_mut() {
                    *wants_reason = true;
                }
                self.is_ready = false;
                Outcome::Write("\n".to_owned())
            }
            Answer::WantsDiff => {
                self.is_ready = false;
                let question = self.question(request, None);
                Outcome::Write(format!("\n{}{}", question.whole_diff(look), question.choices(look)))
            }
            Answer::Unclear => {
                self.is_ready = false;
                let choices = self.question(request, None).choices(look);
                Outcome::Write(format!("\n  Press one of the keys in brackets.\n{choices}"))
            }
        }
    }

    /// A key for a question that a line answers.
    fn line_key(&mut self, key: &Key) -> Outcome {
        let line = match (self.line.edit(key), key) {
            (Edit::Changed(shown), _) => return Outcome::Write(shown),
            (Edit::Sent(line), _) => Some(line),
            (Edit::Nothing, Key::End) if self.line.is_empty() => None,
            (Edit::Nothing, _) => return Outcome::Nothing,
        };
        self.after_answer = true;
        match self.open.pop_front() {
            Some(Open::Call { request, .. }) => {
                Outcome::Decided(request.id, approval::reason(line.as_deref()))
            }
            Some(Open::Tool(asked)) => {
                let answer = line.map(|line| chosen(&line, &asked.question.options));
                Outcome::Answered(asked, answer)
            }
            Some(other) => {
                self.open.push_front(other);
                Outcome::Nothing
            }
            None => Outcome::Nothing,
        }
    }

    fn answered(&mut self) {
        self.open.pop_front();
        self.after_answer = true;
    }
}

/// What was chosen: one of the options by its number, or what was typed.
fn chosen(line: &str, options: &[String]) -> String {
    let line = line.trim();
    let number = line.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    number.and_then(|at| options.get(at)).map_or(line, String::as_str).to_owned()
}

#[cfg(test)]
#[path = "questions_tests.rs"]
mod tests;
