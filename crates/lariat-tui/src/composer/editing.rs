//! Applies each action of the composer to the draft.

use super::buffer::{Cause, units};
use super::kill_ring::Joins;
use super::layout::Layout;
use super::{Composer, LastKey, Outcome, motion, restored};
use crate::keymap::Action;

impl Composer {
    /// Carries out an action. `last` is what the key before did.
    pub(super) fn act(&mut self, action: Action, last: LastKey) -> Outcome {
        let caret = self.buffer.caret();
        let end = self.buffer.len();
        let left = |joins: bool| if joins { Joins::Start } else { Joins::Nothing };
        let right = |joins: bool| if joins { Joins::End } else { Joins::Nothing };
        let joins = last == LastKey::Cut;
        match action {
            Action::Submit => return self.submit(false),
            Action::Queue => return self.submit(true),
            Action::Newline => self.buffer.insert(units("\n"), Cause::Typed),
            Action::Editor => return Outcome::OpenEditor,
            Action::PasteImage => return Outcome::PasteImage,
            Action::HistorySearch => self.start_search(),
            Action::Up => return self.up(last),
            Action::Down => return self.down(last),
            Action::Left | Action::LineStart | Action::WordLeft | Action::TextStart if end == 0 => {
                return Outcome::Unused;
            }
            Action::Left => self.buffer.move_to(caret.saturating_sub(1)),
            Action::Right if end == 0 => return Outcome::Unused,
            Action::Right => self.buffer.move_to(caret + 1),
            Action::WordLeft => self.buffer.move_to(motion::word_left(&self.buffer, caret)),
            Action::WordRight => self.buffer.move_to(motion::word_right(&self.buffer, caret)),
            Action::LineStart => self.buffer.move_to(motion::line_start(&self.buffer, caret)),
            Action::LineEnd => self.buffer.move_to(motion::line_end(&self.buffer, caret)),
            Action::TextStart => self.buffer.move_to(0),
            Action::TextEnd => self.buffer.move_to(end),
            // On an empty draft, the application may use the key: Ctrl+D quits.
            Action::DeleteLeft | Action::DeleteRight if end == 0 => return Outcome::Unused,
            Action::DeleteLeft => {
                self.buffer.replace(caret.saturating_sub(1)..caret, Vec::new(), Cause::Other)
            }
            Action::DeleteRight => self.buffer.replace(caret..caret + 1, Vec::new(), Cause::Other),
            Action::CutWordLeft => self.cut(motion::big_word_left(&self.buffer, caret), caret, left(joins)),
            Action::CutWordRight => self.cut(caret, motion::word_right(&self.buffer, caret), right(joins)),
            Action::CutLineStart => {
                let start = motion::line_start(&self.buffer, caret);
                // At the start of a line, the line break before it.
                self.cut(if start == caret { caret.saturating_sub(1) } else { start }, caret, left(joins));
            }
            Action::CutLineEnd => {
                let line_end = motion::line_end(&self.buffer, caret);
                self.cut(caret, if line_end == caret { caret + 1 } else { line_end }, right(joins));
            }
            Action::Yank => return self.yank(last),
            Action::Undo if !self.buffer.undo() => return Outcome::Unused,
            Action::Redo if !self.buffer.redo() => return Outcome::Unused,
            Action::Undo | Action::Redo => {}
            // Tab without a completion, and the actions of other scopes.
            _ => return Outcome::Unused,
        }
        Outcome::Changed
    }

    fn submit(&mut self, queue: bool) -> Outcome {
        let caret = self.buffer.caret();
        if !queue && self.buffer.before(caret).is_some_and(|unit| unit.text() == "\\") {
            self.buffer.replace(caret - 1..caret, units("\n"), Cause::Other);
            return Outcome::Changed;
        }
        let text = self.draft();
        if text.trim().is_empty() {
            return Outcome::Unused;
        }
        self.completion.close();
        self.submitted = Some(text.clone());
        Outcome::Submit { text, queue }
    }

    /// Cuts a range into the kill ring.
    pub(super) fn cut(&mut self, start: usize, end: usize, joins: Joins) {
        let end = end.min(self.buffer.len());
        self.kills.push(self.buffer.part(start..end).to_vec(), joins);
        self.buffer.replace(start..end, Vec::new(), Cause::Other);
        self.last = LastKey::Cut;
    }

    fn yank(&mut self, last: LastKey) -> Outcome {
        let caret = self.buffer.caret();
        let (back, start, end) = match last {
            LastKey::Yank { back, start, end } => (back + 1, start, end),
            _ => (0, caret, caret),
        };
        let Some(cut) = self.kills.get(back) else { return Outcome::Unused };
        self.buffer.replace(start..end, cut.to_vec(), Cause::Other);
        self.last = LastKey::Yank { back, start, end: self.buffer.caret() };
        Outcome::Changed
    }

    /// One row up, or to the message sent before.
    pub(super) fn up(&mut self, last: LastKey) -> Outcome {
        let layout = Layout::new(self.buffer.units(), self.width);
        let (row, column) = layout.place(self.buffer.caret());
        if let Some(row) = row.checked_sub(1) {
            return self.move_to_row(&layout, row, column, last);
        }
        let draft = self.draft();
        let Some(text) = self.past.earlier(&draft) else { return Outcome::Unused };
        self.recall(&text);
        let layout = Layout::new(self.buffer.units(), self.width);
        self.buffer.move_to(layout.caret(0, usize::MAX));
        Outcome::Changed
    }

    /// One row down, or to the message sent after the recalled one.
    pub(super) fn down(&mut self, last: LastKey) -> Outcome {
        let layout = Layout::new(self.buffer.units(), self.width);
        let (row, column) = layout.place(self.buffer.caret());
        if row + 1 < layout.rows.len() {
            return self.move_to_row(&layout, row + 1, column, last);
        }
        let draft = self.draft();
        let Some(text) = self.past.later(&draft) else { return Outcome::Unused };
        self.recall(&text);
        Outcome::Changed
    }

    fn move_to_row(&mut self, layout: &Layout, row: usize, column: usize, last: LastKey) -> Outcome {
        let column = if let LastKey::Vertical { column } = last { column } else { column };
        self.buffer.move_to(layout.caret(row, column));
        self.last = LastKey::Vertical { column };
        Outcome::Changed
    }

    fn recall(&mut self, text: &str) {
        self.buffer.replace(0..self.buffer.len(), restored(text), Cause::Recalled);
        self.completion.dismiss(self.buffer.units(), self.buffer.caret());
    }
}
