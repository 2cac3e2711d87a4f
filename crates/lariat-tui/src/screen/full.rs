//! The alternate screen: every row has a place, and only rows that differ are written.

use super::{HIDE_CARET, SHOW_CARET, row};
use crate::frame::{Caret, Frame, Size};

/// What the alternate screen shows.
#[derive(Debug)]
pub(super) struct FullScreen {
    size: Size,
    /// The rows; `None` before the first frame.
    shown: Option<Vec<String>>,
    caret: Option<Caret>,
}

impl FullScreen {
    pub(super) const fn new(size: Size) -> Self {
        Self { size, shown: None, caret: None }
    }

    /// Appends what shows the frame to `bytes`: nothing if nothing changed.
    pub(super) fn draw(&mut self, frame: &Frame, bytes: &mut String) {
        let hidden = frame.live.len().saturating_sub(self.size.rows);
        let mut rows: Vec<String> = frame
            .live
            .iter()
            .skip(hidden)
            .map(|live| row::fit(live, self.size.columns).into_owned())
            .collect();
        rows.resize(self.size.rows, String::new());
        let caret = frame.caret.and_then(|caret| {
            let row = caret.row.checked_sub(hidden)?;
            Some(Caret { row, column: caret.column.min(self.size.columns.saturating_sub(1)) })
        });
        if self.shown.as_ref() == Some(&rows) && self.caret == caret {
            return;
        }
        bytes.push_str(HIDE_CARET);
        for (at, row) in rows.iter().enumerate() {
            if self.shown.as_ref().and_then(|shown| shown.get(at)) != Some(row) {
                bytes.push_str(&format!("\u{1b}[{};1H\u{1b}[2K{row}", at + 1));
            }
        }
        if let Some(caret) = caret {
            bytes.push_str(&format!("\u{1b}[{};{}H{SHOW_CARET}", caret.row + 1, caret.column + 1));
        }
        self.shown = Some(rows);
        self.caret = caret;
    }
}
