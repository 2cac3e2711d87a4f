//! Queues questions to the user and decides when a key answers one.
//!
//! A question's prompt appears once the question has been on screen for [`ANSWER_PAUSE`] and no key was pressed for as long.
//! Keys typed before that never answer it: they continue a sentence that the user was typing, or are dropped. After an
//! answer, keys that follow without a pause (the Enter after a `y`) are dropped, too. Pure: the caller passes the time and
//! writes the output.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use lariat_core::content::ToolCall;
use lariat_core::display;
use lariat_core::id::RequestId;
use lariat_core::permission::{PermissionDecision, PermissionRequest, UserQuestion};
use lariat_terminal::approval::{self, ApprovalAnswer, ApprovalDialog};
use lariat_terminal::theme::Theme;
use serde_json::Value;
use tokio::time::Instant;

use super::draft::{Draft, DraftEdit};
use super::keys::TypedKey;

/// Time that a question is shown without key presses before a key can answer it.
const ANSWER_PAUSE: Duration = Duration::from_millis(200);
/// The same, if the user was typing a sentence when the question came.
const TYPING_PAUSE: Duration = Duration::from_secs(1);

/// An unanswered question.
pub(super) enum PendingQuestion {
    /// Whether a tool call may run, with its arguments if known. `wants_reason`: the user denies it and types a reason.
    Call { request: Arc<PermissionRequest>, arguments: Option<Value>, wants_reason: bool },
    /// A question of the model.
    Model(RequestId, UserQuestion),
    /// A choice between letters, asked by Lariat itself.
    Choice { words: String, letters: &'static str },
}

impl PendingQuestion {
    /// What an approval request asks the user, about one of the tool calls of the last reply.
    pub(super) fn about(request: &Arc<PermissionRequest>, calls: &[Arc<ToolCall>]) -> Self {
        if let Some(question) = &request.question {
            return Self::Model(request.id, (**question).clone());
        }
        let call = calls.iter().find(|call| call.id == request.tool_call_id);
        let arguments = call.map(|call| call.arguments.clone());
        Self::Call { request: Arc::clone(request), arguments, wants_reason: false }
    }
}

/// Returns the answer that the session gets to a question of the model. Without words, the user declines.
pub(super) fn model_answer(words: Option<String>) -> lariat_api::Answer {
    match words.filter(|words| !words.is_empty()) {
        Some(words) => lariat_api::Answer::Value { value: words.into() },
        None => lariat_api::Answer::Decline { reason: None },
    }
}

/// The effect of a key.
pub(super) enum KeyEffect {
    /// Write this text.
    Write(String),
    /// The user decided about a tool call.
    Decided(RequestId, PermissionDecision),
    /// The user answered a question of the model; `None` if they declined.
    Answered(RequestId, Option<String>),
    /// The user chose a letter; `None` at the end of input.
    Chosen(Option<char>),
    /// The user sent a message to the run.
    Message(String),
    /// The user queued a message for after the run.
    Queue(String),
    /// The message being typed changed. The text repeats the change on a terminal without live redraw.
    Typing(String),
    Nothing,
}

/// The open questions and the typed text.
#[derive(Default)]
pub(super) struct Questions {
    open: VecDeque<PendingQuestion>,
    is_confined: bool,
    /// When the first question was shown.
    shown: Option<Instant>,
    /// Whether its prompt was printed.
    is_ready: bool,
    last_key: Option<Instant>,
    /// Whether the last key answered a question.
    after_answer: bool,
    /// The typed answer to a question.
    line: Draft,
    /// The typed message to the run.
    pub(super) draft: Draft,
}

impl Questions {
    /// Starts without questions. `is_confined`: the session's commands run in a sandbox.
    pub(super) fn new(is_confined: bool) -> Self {
        Self { is_confined, ..Self::default() }
    }

    fn question<'a>(
        &self,
        request: &'a PermissionRequest,
        arguments: Option<&'a Value>,
    ) -> ApprovalDialog<'a> {
        ApprovalDialog { request, arguments, is_confined: self.is_confined }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Adds a question. Returns true if it is the only one and must be shown.
    pub(super) fn put(&mut self, open: PendingQuestion) -> bool {
        self.open.push_back(open);
        self.open.len() == 1
    }

    /// Removes the question of a request. Returns true if it was on screen.
    pub(super) fn withdraw(&mut self, id: RequestId) -> bool {
        let is_it = |open: &PendingQuestion| match open {
            PendingQuestion::Call { request, .. } => request.id == id,
            PendingQuestion::Model(request, _) => *request == id,
            PendingQuestion::Choice { .. } => false,
        };
        let was_shown = self.open.front().is_some_and(is_it);
        self.open.retain(|open| !is_it(open));
        was_shown
    }

    /// Removes and returns all questions.
    pub(super) fn take(&mut self) -> impl Iterator<Item = PendingQuestion> {
        std::mem::take(&mut self.open).into_iter()
    }

    /// Returns the text of the first question, to show it now.
    pub(super) fn show(&mut self, now: Instant, theme: &Theme) -> Option<String> {
        (self.shown, self.is_ready) = (Some(now), false);
        self.line.clear();
        Some(match self.open.front()? {
            PendingQuestion::Call { request, arguments, .. } => {
                let question = self.question(request, arguments.as_ref());
                format!("\n{}", question.lines(theme))
            }
            PendingQuestion::Model(_, question) => {
                let mut words = format!("\n? {}\n", display::block(&question.text));
                for (at, option) in question.options.iter().enumerate() {
                    words.push_str(&format!("  {}. {}\n", at + 1, display::line(option)));
                }
                words
            }
            PendingQuestion::Choice { words, .. } => words.clone(),
        })
    }

    /// Returns the prompt of the first question once it may be answered.
    pub(super) fn ready(&mut self, now: Instant) -> Option<String> {
        let (false, Some(shown)) = (self.is_ready, self.shown) else { return None };
        let pause = now.duration_since(self.last_key.map_or(shown, |key| key.max(shown)));
        if pause < if self.draft.is_empty() { ANSWER_PAUSE } else { TYPING_PAUSE } {
            return None;
        }
        let prompt = self.prompt()?;
        self.is_ready = true;
        Some(prompt)
    }

    fn prompt(&self) -> Option<String> {
        Some(match self.open.front()? {
            PendingQuestion::Call { wants_reason: true, .. } => "reason> ".to_owned(),
            PendingQuestion::Call { request, .. } => self.question(request, None).prompt(),
            PendingQuestion::Model(..) => "> ".to_owned(),
            PendingQuestion::Choice { letters, .. } => {
                let letters: Vec<String> = letters.chars().map(String::from).collect();
                format!("{}> ", letters.join("/"))
            }
        })
    }

    /// Handles a key.
    pub(super) fn key(&mut self, key: &TypedKey, now: Instant, theme: &Theme) -> KeyEffect {
        let pause = self.last_key.is_none_or(|last| now.duration_since(last) >= ANSWER_PAUSE);
        self.last_key = Some(now);
        if self.open.is_empty() {
            if self.after_answer && !pause {
                return KeyEffect::Nothing;
            }
            self.after_answer = false;
            return match self.draft.edit(key) {
                DraftEdit::Changed(shown) => KeyEffect::Typing(shown),
                DraftEdit::Sent(line) | DraftEdit::Queued(line) if line.trim().is_empty() => {
                    KeyEffect::Typing(String::new())
                }
                DraftEdit::Sent(line) => KeyEffect::Message(line.trim().to_owned()),
                DraftEdit::Queued(line) => KeyEffect::Queue(line.trim().to_owned()),
                DraftEdit::Nothing => KeyEffect::Nothing,
            };
        }
        if !self.is_ready {
            if !self.draft.is_empty() && !matches!(key, TypedKey::Enter | TypedKey::Queue) {
                self.draft.edit(key);
            }
            return KeyEffect::Nothing;
        }
        match self.open.front_mut() {
            Some(PendingQuestion::Call { request, wants_reason: false, .. }) => {
                let request = Arc::clone(request);
                self.call_key(&request, key, theme)
            }
            Some(PendingQuestion::Choice { letters, .. }) => {
                let letter = match key {
                    TypedKey::Char(letter) => {
                        Some(letter.to_ascii_lowercase()).filter(|key| letters.contains(*key))
                    }
                    TypedKey::End => return self.take_choice(None),
                    _ => None,
                };
                match letter {
                    Some(letter) => self.take_choice(Some(letter)),
                    None => KeyEffect::Nothing,
                }
            }
            Some(_) => self.line_key(key),
            None => KeyEffect::Nothing,
        }
    }

    fn take_choice(&mut self, letter: Option<char>) -> KeyEffect {
        self.after_answer();
        KeyEffect::Chosen(letter)
    }

    /// Handles a key for a question that a single key answers.
    fn call_key(&mut self, request: &PermissionRequest, key: &TypedKey, theme: &Theme) -> KeyEffect {
        let answer = match key {
            TypedKey::Char(letter) => self.question(request, None).answer(*letter),
            TypedKey::End => ApprovalAnswer::Decided(PermissionDecision::Deny { reason: None }),
            // The Enter belongs to what was typed before.
            TypedKey::Enter | TypedKey::Queue => return KeyEffect::Nothing,
            _ => ApprovalAnswer::Unclear,
        };
        match answer {
            ApprovalAnswer::Decided(decision) => {
                self.after_answer();
                KeyEffect::Decided(request.id, decision)
            }
            ApprovalAnswer::WantsReason => {
                if let Some(PendingQuestion::Call { wants_reason, .. }) = self.open.front_mut() {
                    *wants_reason = true;
                }
                self.is_ready = false;
                KeyEffect::Write("\n".to_owned())
            }
            ApprovalAnswer::WantsDiff => {
                self.is_ready = false;
                let question = self.question(request, None);
                KeyEffect::Write(format!("\n{}{}", question.full_diff(theme), question.choices(theme)))
            }
            ApprovalAnswer::Unclear => {
                self.is_ready = false;
                let choices = self.question(request, None).choices(theme);
                KeyEffect::Write(format!("\n  Press one of the keys in brackets.\n{choices}"))
            }
        }
    }

    /// Handles a key for a question that a typed line answers.
    fn line_key(&mut self, key: &TypedKey) -> KeyEffect {
        if *key == TypedKey::Queue {
            return KeyEffect::Nothing;
        }
        let line = match (self.line.edit(key), key) {
            (DraftEdit::Changed(shown), _) => return KeyEffect::Write(shown),
            (DraftEdit::Sent(line) | DraftEdit::Queued(line), _) => Some(line),
            (DraftEdit::Nothing, TypedKey::End) if self.line.is_empty() => None,
            (DraftEdit::Nothing, _) => return KeyEffect::Nothing,
        };
        self.after_answer = true;
        match self.open.pop_front() {
            Some(PendingQuestion::Call { request, .. }) => {
                KeyEffect::Decided(request.id, approval::reason(line.as_deref()))
            }
            Some(PendingQuestion::Model(request, question)) => {
                KeyEffect::Answered(request, line.map(|line| chosen(&line, &question.options)))
            }
            Some(other) => {
                self.open.push_front(other);
                KeyEffect::Nothing
            }
            None => KeyEffect::Nothing,
        }
    }

    fn after_answer(&mut self) {
        self.open.pop_front();
        self.after_answer = true;
    }
}

/// The option with the typed number, or the typed text.
fn chosen(line: &str, options: &[String]) -> String {
    let line = line.trim();
    let number = line.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    number.and_then(|at| options.get(at)).map_or(line, String::as_str).to_owned()
}

#[cfg(test)]
#[path = "questions_tests.rs"]
mod tests;
