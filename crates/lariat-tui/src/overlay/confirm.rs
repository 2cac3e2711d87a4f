//! A question with two answers. The safe one is selected at first, unless the other can be undone. No letter answers it.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind};
use lariat_terminal::text;
use lariat_terminal::theme::{Style, Theme};

use super::{OverlayOutcome, painted};
use crate::frame::{Caret, Size};

/// A question.
#[derive(Debug)]
pub struct Confirm {
    question: String,
    details: String,
    /// The safe answer, and the other one.
    answers: [String; 2],
    agrees: bool,
}

impl Confirm {
    /// Creates a question with details of any length, the safe answer and the one that does it.
    pub fn new(
        question: impl Into<String>,
        details: impl Into<String>,
        safe: impl Into<String>,
        agree: impl Into<String>,
    ) -> Self {
        let answers = [safe.into(), agree.into()];
        Self { question: question.into(), details: details.into(), answers, agrees: false }
    }

    /// Selects the answer that does it at first: what it does can be undone.
    #[must_use]
    pub const fn that_can_be_undone(mut self) -> Self {
        self.agrees = true;
        self
    }

    /// Handles a key: arrows or Tab select, Enter answers, Esc is the safe answer.
    pub fn key(&mut self, key: KeyEvent) -> OverlayOutcome {
        if key.kind == KeyEventKind::Release {
            return OverlayOutcome::Unused;
        }
        match key.code {
            KeyCode::Left | KeyCode::Up => self.agrees = false,
            KeyCode::Right | KeyCode::Down => self.agrees = true,
            KeyCode::Tab | KeyCode::BackTab => self.agrees = !self.agrees,
            KeyCode::Enter if self.agrees => return OverlayOutcome::Confirmed,
            KeyCode::Enter | KeyCode::Esc => return OverlayOutcome::Closed,
            _ => return OverlayOutcome::Unused,
        }
        OverlayOutcome::Changed
    }

    /// Renders it. The caret is at the selected answer, so that a screen reader reads it.
    pub fn rows(&self, theme: &Theme, size: Size) -> (Vec<String>, Option<Caret>) {
        let [safe, agree] = &self.answers;
        let mut answers = String::new();
        let mut column = 0;
        for (answer, is_selected) in [(safe, !self.agrees), (agree, self.agrees)] {
            let answer = text::line(answer);
            if is_selected {
                column = text::width(&painted::plain(&answers));
                answers.push_str(&theme.paint(Style::Strong, &format!("[{answer}]")));
            } else {
                answers.push_str(&format!(" {answer} "));
            }
            answers.push_str("  ");
        }
        let head = text::wrap(&text::line(&self.question), size.columns);
        let mut rows: Vec<String> = head.iter().map(|row| theme.paint(Style::Strong, row)).collect();
        let details = text::lines(&self.details).flat_map(|line| text::wrap(&line, size.columns));
        rows.extend(details.filter(|_| !self.details.is_empty()));
        rows.truncate(size.rows.saturating_sub(2));
        let row = rows.len();
        rows.push(painted::clip(&answers, size.columns));
        let hint =
            theme.mark("←/→ select · enter confirm · esc cancel", "left/right select, enter, esc cancel");
        rows.push(painted::clip(&theme.paint(Style::Dim, hint), size.columns));
        rows.truncate(size.rows);
        let column = column.min(size.columns.saturating_sub(1));
        (rows, Some(Caret { row: row.min(size.rows.saturating_sub(1)), column }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keymap::event;

    fn question() -> Confirm {
        Confirm::new(
            "Rewind to message 3?",
            "Restores 2 files:\nsrc/main.rs\nsrc/\u{1b}lib.rs",
            "Keep",
            "Rewind",
        )
    }

    fn screen(columns: usize, rows: usize) -> String {
        let (rows, caret) = question().rows(&Theme::plain(columns), Size { columns, rows });
        format!("{}\n{caret:?}", rows.join("\n"))
    }

    #[test]
    fn the_safe_answer_is_selected_at_first() {
        assert_eq!(question().key(event("enter")), OverlayOutcome::Closed);
        assert_eq!(question().key(event("esc")), OverlayOutcome::Closed);
    }

    #[test]
    fn only_an_explicit_selection_confirms() {
        let mut confirm = question();
        for letter in ["y", "Y", "r", "space"] {
            assert_eq!(confirm.key(event(letter)), OverlayOutcome::Unused);
        }
        confirm.key(event("right"));
        assert_eq!(confirm.key(event("enter")), OverlayOutcome::Confirmed);
        confirm.key(event("tab"));
        assert_eq!(confirm.key(event("enter")), OverlayOutcome::Closed);
    }

    #[test]
    fn fits_small_and_large_terminals() {
        insta::assert_snapshot!([screen(80, 24), screen(40, 10), screen(10, 3)].join("\n--\n"));
    }
}
