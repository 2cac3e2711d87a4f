//! The questions that wait. Typed text never answers one.
//!
//! A question is shown above the composer, and everything that is typed goes to the draft. Only after the focus key do
//! keys answer, and only the question that was on the screen when they were typed. Invariants: without the focus, no
//! key answers; a question that changes or goes away while it has the focus drops the focus; a key within
//! [`QUIET`] after another question took the place answers nothing.

mod answers;
mod render;

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use lariat_api::{Action, Answer, Ask, AskDigest, AskId, AskKind};
use lariat_core::event::AgentEvent;
use lariat_core::id::{RequestId, ToolCallId};
use lariat_core::time::Timestamp;
use serde_json::Value;

/// For this long after another question took the place, keys answer nothing.
pub const QUIET: Duration = Duration::from_millis(300);

/// The questions of a session that wait for an answer.
#[derive(Debug, Default)]
pub struct Asks {
    list: Vec<Ask>,
    /// The changes of the plan with their descriptions.
    plan: Vec<(ToolCallId, String)>,
    /// The arguments of tool calls of the newest reply.
    arguments: HashMap<ToolCallId, Value>,
    /// Whether commands run in a sandbox.
    is_confined: bool,
    selected: usize,
    /// When the selected question took its place.
    since: Timestamp,
    focus: Focus,
    /// Questions that this client answered; the log has not resolved them yet.
    sent: Vec<(AskId, AskDigest)>,
    /// Rows of the question that are scrolled away.
    scroll: usize,
    /// Whether the whole diff is shown.
    is_whole: bool,
    /// Changes of the plan that the user does not approve, and the one that a key marks.
    unmarked: BTreeSet<ToolCallId>,
    change: usize,
}

/// What keys do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Focus {
    /// They write the draft.
    #[default]
    Draft,
    /// They answer the selected question.
    Keys,
    /// They write an answer or a reason.
    Field { purpose: Purpose, text: String },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// The reason of a denial.
    Reason,
    /// The answer.
    Value,
}

/// What the questions made of a key.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The key has no meaning here.
    Unused,
    /// What is shown changed.
    Changed,
    /// The user answered.
    Answer(Action),
}

impl Asks {
    /// Creates an empty list.
    pub fn new(is_confined: bool) -> Self {
        Self { is_confined, ..Self::default() }
    }

    /// The number of questions.
    pub const fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether no question waits.
    pub const fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether keys answer.
    pub fn is_focused(&self) -> bool {
        self.focus != Focus::Draft
    }

    fn current(&self) -> Option<&Ask> {
        self.list.get(self.selected)
    }

    /// Takes over the questions of a view. Returns whether one of them is new.
    pub fn set(&mut self, asks: Vec<Ask>, plan: Vec<(ToolCallId, String)>, now: Timestamp) -> bool {
        let key = |ask: &Ask| (ask.id.clone(), ask.digest.clone());
        self.sent.retain(|sent| asks.iter().any(|ask| key(ask) == *sent));
        let asks: Vec<Ask> = asks.into_iter().filter(|ask| !self.sent.contains(&key(ask))).collect();
        let is_new = asks.iter().any(|ask| !self.list.iter().any(|known| key(known) == key(ask)));
        self.plan = plan;
        self.replace(asks, now);
        is_new
    }

    /// Shows another list. The selected question stays if it is still there; otherwise the focus is dropped.
    fn replace(&mut self, asks: Vec<Ask>, now: Timestamp) {
        let before = self.current().map(|ask| (ask.id.clone(), ask.digest.clone()));
        self.list = asks;
        let place = before
            .as_ref()
            .and_then(|(id, digest)| self.list.iter().position(|ask| ask.id == *id && ask.digest == *digest));
        match place {
            Some(place) => self.selected = place,
            None => {
                self.selected = self.selected.min(self.list.len().saturating_sub(1));
                self.turn(now);
                self.focus = Focus::Draft;
            }
        }
    }

    /// Another question took the place.
    fn turn(&mut self, now: Timestamp) {
        self.since = now;
        self.scroll = 0;
        self.is_whole = false;
        self.unmarked.clear();
        self.change = 0;
    }

    /// Learns from a durable event: arguments of tool calls, and questions that were answered.
    pub fn event(&mut self, event: &AgentEvent, now: Timestamp) {
        match event {
            AgentEvent::MessageEnd { message } => {
                if let Some(reply) = message.shared().and_then(|message| message.as_assistant()) {
                    let calls = reply.tool_calls();
                    self.arguments = calls.map(|call| (call.id.clone(), call.arguments.clone())).collect();
                }
            }
            AgentEvent::PermissionDecided { request_id, .. } => self.resolve(*request_id, now),
            AgentEvent::PlanDecided { .. } => self.withdraw(|ask| ask.subject.kind() == AskKind::Plan, now),
            AgentEvent::AgentEnd { .. } => {
                self.withdraw(|ask| ask.subject.kind() == AskKind::Approval, now);
            }
            _ => {}
        }
    }

    fn resolve(&mut self, request: RequestId, now: Timestamp) {
        use lariat_api::AskSubject::Approval;
        self.withdraw(|ask| matches!(&ask.subject, Approval { request: asked } if asked.id == request), now);
    }

    fn withdraw(&mut self, is_it: impl Fn(&Ask) -> bool, now: Timestamp) {
        if self.list.iter().any(&is_it) {
            let kept = self.list.iter().filter(|ask| !is_it(ask)).cloned().collect();
            self.replace(kept, now);
        }
    }

    /// An answer was not accepted: its question is shown again if it still waits.
    pub fn failed(&mut self, ask_id: &AskId) {
        self.sent.retain(|(id, _)| id != ask_id);
    }

    /// The focus key: keys answer from now on, or write the draft again.
    pub fn toggle_focus(&mut self) {
        self.focus = match (&self.focus, self.current()) {
            (Focus::Draft, Some(ask)) if answers::is_text(ask) => {
                Focus::Field { purpose: Purpose::Value, text: String::new() }
            }
            (Focus::Draft, Some(_)) => Focus::Keys,
            _ => Focus::Draft,
        };
    }

    /// Handles a key. Without the focus, no key has a meaning.
    pub fn key(&mut self, key: KeyEvent, now: Timestamp) -> Outcome {
        if self.current().is_none() {
            self.focus = Focus::Draft;
        }
        let is_command = key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        match &self.focus {
            Focus::Draft => Outcome::Unused,
            Focus::Field { .. } => self.field_key(key, is_command, now),
            Focus::Keys => self.answer_key(key, is_command, now),
        }
    }

    /// Pasted text belongs to a field. Returns whether there is one.
    pub fn paste(&mut self, pasted: &str) -> bool {
        if let Focus::Field { text, .. } = &mut self.focus {
            text.push_str(&pasted.split_whitespace().collect::<Vec<_>>().join(" "));
        }
        self.is_focused()
    }

    fn field_key(&mut self, key: KeyEvent, is_command: bool, now: Timestamp) -> Outcome {
        let Focus::Field { purpose, text } = &mut self.focus else { return Outcome::Unused };
        match key.code {
            KeyCode::Esc => self.focus = Focus::Draft,
            KeyCode::Char('c') if is_command => self.focus = Focus::Draft,
            KeyCode::Char('u') if is_command => text.clear(),
            KeyCode::Char(letter) if !is_command => text.push(letter),
            KeyCode::Backspace => drop(text.pop()),
            KeyCode::Enter => {
                let (purpose, text) = (*purpose, text.trim().to_owned());
                if now.since(self.since) < QUIET {
                    return Outcome::Changed;
                }
                return self.submit(purpose, &text, now);
            }
            _ => return Outcome::Unused,
        }
        Outcome::Changed
    }

    fn submit(&mut self, purpose: Purpose, text: &str, now: Timestamp) -> Outcome {
        let Some(ask) = self.current() else { return Outcome::Changed };
        let answer = match purpose {
            Purpose::Reason => answers::denial(ask, text),
            Purpose::Value if text.is_empty() => return Outcome::Changed,
            Purpose::Value => answers::value(ask, text),
        };
        self.answer(answer, now)
    }

    fn answer_key(&mut self, key: KeyEvent, is_command: bool, now: Timestamp) -> Outcome {
        let count = self.list.len();
        match key.code {
            KeyCode::Esc => self.focus = Focus::Draft,
            KeyCode::Char('c') if is_command => self.focus = Focus::Draft,
            KeyCode::Tab | KeyCode::Right if count > 1 => self.select((self.selected + 1) % count, now),
            KeyCode::Left if count > 1 => self.select((self.selected + count - 1) % count, now),
            KeyCode::Up if self.is_plan() => self.change = self.change.saturating_sub(1),
            KeyCode::Down if self.is_plan() => {
                self.change = (self.change + 1).min(self.changes().len().saturating_sub(1));
            }
            KeyCode::Up => self.scroll = self.scroll.saturating_sub(1),
            KeyCode::Down => self.scroll = self.scroll.saturating_add(1),
            KeyCode::PageUp => self.scroll = self.scroll.saturating_sub(10),
            KeyCode::PageDown => self.scroll = self.scroll.saturating_add(10),
            KeyCode::Char(_) if is_command => return Outcome::Unused,
            KeyCode::Char(letter) if now.since(self.since) >= QUIET => return self.letter(letter, now),
            KeyCode::Char(_) => {}
            _ => return Outcome::Unused,
        }
        Outcome::Changed
    }

    fn letter(&mut self, letter: char, now: Timestamp) -> Outcome {
        let Some(ask) = self.current() else { return Outcome::Changed };
        let marked: Vec<ToolCallId> =
            self.changes().into_iter().filter(|change| !self.unmarked.contains(change)).collect();
        match answers::letter(ask, letter, &marked, self.is_confined) {
            answers::LetterMeaning::Answer(answer) => self.answer(answer, now),
            answers::LetterMeaning::Reason => {
                self.focus = Focus::Field { purpose: Purpose::Reason, text: String::new() };
                Outcome::Changed
            }
            answers::LetterMeaning::Whole => {
                self.is_whole = !self.is_whole;
                self.scroll = 0;
                Outcome::Changed
            }
            answers::LetterMeaning::Mark => {
                if let Some(change) = self.changes().get(self.change)
                    && !self.unmarked.remove(change)
                {
                    self.unmarked.insert(change.clone());
                }
                Outcome::Changed
            }
            answers::LetterMeaning::None => Outcome::Changed,
        }
    }

    fn select(&mut self, place: usize, now: Timestamp) {
        self.selected = place;
        self.turn(now);
        // The user chose the question; its keys need no pause.
        self.since = Timestamp::from_millis(now.as_millis().saturating_sub(1_000));
        self.focus = match self.current() {
            Some(ask) if answers::is_text(ask) => {
                Focus::Field { purpose: Purpose::Value, text: String::new() }
            }
            _ => Focus::Keys,
        };
    }

    fn answer(&mut self, answer: Answer, now: Timestamp) -> Outcome {
        let Some(ask) = self.current() else { return Outcome::Changed };
        let (ask_id, digest) = (ask.id.clone(), ask.digest.clone());
        self.sent.push((ask_id.clone(), digest.clone()));
        self.list.retain(|ask| ask.id != ask_id);
        self.selected = self.selected.min(self.list.len().saturating_sub(1));
        self.turn(now);
        let next = self.current().map(answers::is_text);
        self.focus = match next {
            // A field would take text that the user begins to write.
            None | Some(true) => Focus::Draft,
            Some(false) => Focus::Keys,
        };
        Outcome::Answer(Action::Answer { ask_id, digest, answer })
    }

    fn is_plan(&self) -> bool {
        self.current().is_some_and(|ask| ask.subject.kind() == AskKind::Plan)
    }

    /// The changes of the plan that is asked about.
    fn changes(&self) -> Vec<ToolCallId> {
        match self.current().map(|ask| &ask.subject) {
            Some(lariat_api::AskSubject::Plan { changes }) => changes.clone(),
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
#[path = "asks_tests.rs"]
mod tests;
