//! The text of the draft as units: one grapheme or one pasted block each. The caret is between two units.
//!
//! Every change is an [`Edit`] on the undo stack. Invariants: the caret is at most at the end; no text leaves the buffer
//! without being part of an edit that can be undone; a new change after an undo keeps what was undone reachable.

use std::ops::Range;
use std::sync::Arc;

use unicode_segmentation::UnicodeSegmentation as _;

/// How many edits can be undone. Typing a word is one edit.
const MAX_EDITS: usize = 2_000;

/// What the caret moves over as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// A grapheme or a line break.
    Grapheme(Arc<str>),
    /// A pasted block.
    Paste(Arc<str>),
}

/// Why the text changed; what belongs together is undone together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// A letter was typed.
    Typed,
    /// A message from the history replaced the draft.
    Recalled,
    /// A change of another kind, which undo does not join with others.
    Other,
}

/// A change that can be undone.
#[derive(Clone, Debug)]
pub(super) struct Edit {
    at: usize,
    removed: Vec<Unit>,
    inserted: Vec<Unit>,
    caret_before: usize,
    caret_after: usize,
    cause: Cause,
}

/// Text, caret and undo.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    units: Vec<Unit>,
    caret: usize,
    undo: Vec<Edit>,
    redo: Vec<Edit>,
}

impl Unit {
    /// The text that is sent.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Grapheme(text) | Self::Paste(text) => text,
        }
    }

    pub(super) fn is_break(&self) -> bool {
        matches!(self, Self::Grapheme(text) if matches!(text.as_ref(), "\n" | "\r\n"))
    }

    pub(super) fn is_space(&self) -> bool {
        matches!(self, Self::Grapheme(text) if text.chars().all(char::is_whitespace))
    }

    pub(super) fn is_word(&self) -> bool {
        let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
        matches!(self, Self::Grapheme(text) if text.chars().next().is_some_and(is_word))
    }

    /// Whether it may be one grapheme with a neighbor: only text beyond ASCII joins.
    fn may_join(&self) -> bool {
        matches!(self, Self::Grapheme(text) if !text.is_ascii())
    }
}

/// Cuts a text into units.
pub(super) fn units(text: &str) -> Vec<Unit> {
    text.graphemes(true).map(|grapheme| Unit::Grapheme(grapheme.into())).collect()
}

/// The text of units.
pub(super) fn text(units: &[Unit]) -> String {
    units.iter().map(Unit::text).collect()
}

impl Edit {
    fn inverse(&self) -> Self {
        Self {
            at: self.at,
            removed: self.inserted.clone(),
            inserted: self.removed.clone(),
            caret_before: self.caret_after,
            caret_after: self.caret_before,
            cause: Cause::Other,
        }
    }

    /// Includes the edit after this one, if both belong together.
    fn join(&mut self, next: &Self) -> bool {
        let starts_word = next.inserted.last().is_some_and(|unit| !unit.is_space())
            && self.inserted.last().is_some_and(Unit::is_space);
        let is_typed = self.cause == Cause::Typed && next.cause == Cause::Typed && !starts_word;
        let end = self.at + self.inserted.len();
        // An accent replaces the letter that it joins.
        let replaces_end = next.at >= self.at && next.at + next.removed.len() == end;
        let joins = match (is_typed, next.cause) {
            (true, _) => replaces_end,
            // The message in between is still in the history.
            (_, Cause::Recalled) => {
                self.cause == Cause::Recalled && next.at == self.at && next.removed == self.inserted
            }
            _ => false,
        };
        if joins && is_typed {
            self.inserted.truncate(next.at - self.at);
            self.inserted.extend(next.inserted.iter().cloned());
        } else if joins {
            self.inserted.clone_from(&next.inserted);
        }
        if joins {
            self.caret_after = next.caret_after;
        }
        joins
    }
}

impl Buffer {
    pub(super) fn units(&self) -> &[Unit] {
        &self.units
    }

    pub(super) const fn len(&self) -> usize {
        self.units.len()
    }

    pub(super) const fn caret(&self) -> usize {
        self.caret
    }

    pub(super) fn get(&self, at: usize) -> Option<&Unit> {
        self.units.get(at)
    }

    /// The unit to the left of a place.
    pub(super) fn before(&self, at: usize) -> Option<&Unit> {
        at.checked_sub(1).and_then(|at| self.units.get(at))
    }

    pub(super) fn part(&self, range: Range<usize>) -> &[Unit] {
        self.units.get(range).unwrap_or_default()
    }

    pub(super) fn text(&self) -> String {
        text(&self.units)
    }

    pub(super) fn move_to(&mut self, caret: usize) {
        self.caret = caret.min(self.units.len());
    }

    /// Inserts units at the caret, which moves behind them.
    pub(super) fn insert(&mut self, units: Vec<Unit>, cause: Cause) {
        self.replace(self.caret..self.caret, units, cause);
    }

    /// Replaces a range; the caret moves behind what was inserted.
    pub(super) fn replace(&mut self, range: Range<usize>, new: Vec<Unit>, cause: Cause) {
        let end = range.end.min(self.units.len());
        let start = range.start.min(end);
        if start == end && new.is_empty() {
            self.move_to(start);
            return;
        }
        let (range, new, caret) = self.rejoined(start..end, new);
        let edit = Edit {
            at: range.start,
            removed: self.part(range).to_vec(),
            inserted: new,
            caret_before: self.caret,
            caret_after: caret,
            cause,
        };
        self.keep_undone();
        self.apply(&edit);
        if !self.undo.last_mut().is_some_and(|last| last.join(&edit)) {
            self.undo.push(edit);
        }
        let surplus = self.undo.len().saturating_sub(MAX_EDITS);
        self.undo.drain(..surplus);
    }

    /// Widens a change to the neighbors that form graphemes with it, such as a letter and an accent typed after it.
    /// Returns the range, its new units and the caret behind the inserted ones.
    fn rejoined(&self, range: Range<usize>, new: Vec<Unit>) -> (Range<usize>, Vec<Unit>, usize) {
        let caret = range.start + new.len();
        if !new.iter().chain(self.get(range.end)).any(Unit::may_join) {
            return (range, new, caret);
        }
        let (mut start, mut end) = (range.start, range.end);
        // Back to the first unit that nothing before it can join, and that one may take an accent.
        while let Some(Unit::Grapheme(before)) = self.before(start).filter(|unit| !unit.is_break()) {
            start -= 1;
            if before.is_ascii() {
                break;
            }
        }
        while self.get(end).is_some_and(Unit::may_join) {
            end += 1;
        }
        let head = self.part(start..range.start);
        let tail = self.part(range.end..end);
        let behind = text(head).len() + text(&new).len();
        let mut joined: Vec<Unit> = Vec::new();
        let mut run = String::new();
        for unit in head.iter().chain(&new).chain(tail) {
            match unit {
                Unit::Grapheme(text) => run.push_str(text),
                Unit::Paste(_) => {
                    joined.extend(units(&std::mem::take(&mut run)));
                    joined.push(unit.clone());
                }
            }
        }
        joined.extend(units(&run));
        let mut length = 0;
        let count = joined.iter().take_while(|unit| {
            let is_before = length < behind;
            length += unit.text().len();
            is_before
        });
        let caret = start + count.count();
        (start..end, joined, caret)
    }

    fn apply(&mut self, edit: &Edit) {
        let start = edit.at.min(self.units.len());
        let end = (start + edit.removed.len()).min(self.units.len());
        self.units.splice(start..end, edit.inserted.iter().cloned());
        self.move_to(edit.caret_after);
    }

    /// Keeps what was undone: the undone edits and their inverses become part of what can be undone.
    fn keep_undone(&mut self) {
        let undone: Vec<Edit> = self.redo.drain(..).collect();
        let inverses: Vec<Edit> = undone.iter().map(Edit::inverse).collect();
        self.undo.extend(undone.into_iter().rev());
        self.undo.extend(inverses);
    }

    /// Undoes the last edit. Returns whether there was one.
    pub(super) fn undo(&mut self) -> bool {
        let Some(edit) = self.undo.pop() else { return false };
        self.apply(&edit.inverse());
        self.redo.push(edit);
        true
    }

    /// Does the last undone edit again. Returns whether there was one.
    pub(super) fn redo(&mut self) -> bool {
        let Some(edit) = self.redo.pop() else { return false };
        self.apply(&edit);
        self.undo.push(edit);
        true
    }

    /// All text that the buffer and its undo stack hold.
    #[cfg(test)]
    pub(super) fn reachable(&self) -> String {
        let edits = self.undo.iter().chain(&self.redo);
        self.text() + &edits.map(|edit| text(&edit.removed) + &text(&edit.inserted)).collect::<String>()
    }
}

#[cfg(test)]
#[path = "buffer_tests.rs"]
mod tests;
