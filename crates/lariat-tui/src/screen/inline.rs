//! The live region below the finished rows, in the normal screen.
//!
//! All moves are relative to the cursor, which always is inside the live region: the terminal may scroll or pull rows
//! out of its scrollback at any time. Rows are erased one by one and never from the first cell of the screen to its
//! end, because tmux copies what such an erasure removes into its history.

use std::borrow::Cow;

use super::{HIDE_CARET, Reflow, SHOW_CARET, move_rows, row};
use crate::frame::{Caret, Frame, Size};

const ERASE_ROW: &str = "\u{1b}[2K";
/// Erases this row and everything below. The cursor returns to where it was.
const ERASE_DOWN: &str = "\u{1b}7\u{1b}[2K\u{1b}[1B\u{1b}[J\u{1b}8";

/// The terminal cuts rows that are too wide for it (DECAWM off), and wraps them. Live rows are cut: the terminal can be
/// narrower than the program knows, for a quarter of a second in tmux, and a row that wraps would move all rows below.
/// Finished rows are wrapped, so that nothing of them is lost.
const CUT: &str = "\u{1b}[?7l";
const WRAP: &str = "\u{1b}[?7h";

/// What the terminal shows of the live region.
#[derive(Debug)]
pub(super) struct Inline {
    pub(super) reflow: Reflow,
    size: Size,
    /// The rows of the live region; empty before the first frame.
    shown: Vec<String>,
    caret: Option<Caret>,
    /// The row of the live region with the cursor, and its column.
    at: Caret,
    /// The columns of the terminal when `shown` was written, if the size changed since.
    before: Option<usize>,
    /// Whether `shown` can differ from what the terminal shows.
    is_stale: bool,
}

impl Inline {
    pub(super) const fn new(size: Size) -> Self {
        Self {
            reflow: Reflow::Wraps,
            size,
            shown: Vec::new(),
            caret: None,
            at: Caret { row: 0, column: 0 },
            before: None,
            is_stale: false,
        }
    }

    pub(super) const fn with_reflow(mut self, reflow: Reflow) -> Self {
        self.reflow = reflow;
        self
    }

    pub(super) fn resize(&mut self, size: Size) {
        if size != self.size {
            self.before = self.before.or(Some(self.size.columns));
            self.size = size;
            self.is_stale = true;
        }
    }

    /// The next frame writes every row.
    pub(super) const fn invalidate(&mut self) {
        self.is_stale = true;
    }

    /// Appends what shows the finished rows and the frame to `bytes`: nothing if nothing changed.
    pub(super) fn draw(&mut self, finished: &[String], frame: &Frame, bytes: &mut String) {
        let height = self.size.rows.max(1);
        let hidden = frame.live.len().saturating_sub(height);
        let live: Vec<Cow<'_, str>> =
            frame.live.iter().skip(hidden).map(|live| row::fit(live, self.size.columns)).collect();
        let caret = frame.caret.and_then(|caret| {
            let row = caret.row.checked_sub(hidden).filter(|row| *row < live.len())?;
            Some(Caret { row, column: caret.column.min(self.size.columns.saturating_sub(1)) })
        });
        if !self.is_stale && finished.is_empty() && self.shown == live {
            if self.caret != caret {
                self.place(caret, bytes);
            }
            return;
        }
        bytes.push_str(HIDE_CARET);
        if self.is_stale {
            self.erase(bytes);
        }
        if finished.is_empty() && !self.shown.is_empty() {
            self.rewrite(&live, bytes);
        } else {
            self.print(finished, &live, bytes);
        }
        self.shown = live.into_iter().map(Cow::into_owned).collect();
        self.caret = None;
        self.place(caret, bytes);
    }

    /// Erases the live region from the highest row that it can occupy.
    fn erase(&mut self, bytes: &mut String) {
        let above = self.before.take().map_or(self.at.row, |before| self.rows_above(before));
        let above = above.min(self.size.rows.saturating_sub(1));
        move_rows(above, 0, bytes);
        bytes.push_str(ERASE_DOWN);
        self.shown.clear();
        self.at = Caret { row: 0, column: 0 };
        self.is_stale = false;
    }

    /// The rows between the start of the live region and the cursor, after the width changed.
    fn rows_above(&self, before: usize) -> usize {
        let columns = self.size.columns.max(1);
        if self.reflow == Reflow::Cuts || columns >= before {
            return self.at.row;
        }
        let wrapped = self.shown.iter().take(self.at.row).map(|row| row::width(row).div_ceil(columns).max(1));
        wrapped.sum::<usize>() + self.at.column / columns
    }

    /// Writes the finished rows over the start of the live region, and the live rows below them.
    fn print(&mut self, finished: &[String], live: &[Cow<'_, str>], bytes: &mut String) {
        move_rows(self.at.row, 0, bytes);
        let finished = finished.iter().map(|finished| row::fit(finished, self.size.columns));
        let rows: Vec<Cow<'_, str>> =
            finished.chain(live.iter().map(|live| Cow::Borrowed(live.as_ref()))).collect();
        for (at, row) in rows.iter().enumerate() {
            bytes.push_str(if at == 0 { "" } else { "\r\n" });
            if at == rows.len() - live.len() {
                bytes.push_str(CUT);
            }
            bytes.push_str(ERASE_ROW);
            bytes.push_str(row);
        }
        if rows.is_empty() {
            bytes.push_str(ERASE_ROW);
        }
        let mut last = rows.len().saturating_sub(1);
        if live.is_empty() && !rows.is_empty() {
            bytes.push_str("\r\n");
            bytes.push_str(ERASE_ROW);
            last += 1;
        }
        let below = self.shown.len().saturating_sub(last + 1);
        for _ in 0..below {
            bytes.push_str("\r\n");
            bytes.push_str(ERASE_ROW);
        }
        bytes.push_str(WRAP);
        // The cursor is on the last row that was written or erased; count it from the first live row.
        move_rows(below, 0, bytes);
        self.at = Caret { row: live.len().saturating_sub(1), column: 0 };
    }

    /// Writes the live rows that differ.
    fn rewrite(&mut self, live: &[Cow<'_, str>], bytes: &mut String) {
        let mut at = self.at.row;
        bytes.push_str(CUT);
        for index in 0..live.len().max(self.shown.len()) {
            let (old, new) = (self.shown.get(index), live.get(index));
            if old.map(String::as_str) == new.map(AsRef::as_ref) {
                continue;
            }
            if old.is_none() {
                // Only a line feed scrolls at the bottom of the screen.
                move_rows(at, index.saturating_sub(1), bytes);
                bytes.push_str("\r\n");
            } else {
                move_rows(at, index, bytes);
            }
            at = index;
            bytes.push_str(ERASE_ROW);
            bytes.push_str(new.map_or("", AsRef::as_ref));
        }
        bytes.push_str(WRAP);
        let end = live.len().saturating_sub(1);
        if at > end {
            move_rows(at, end, bytes);
            at = end;
        }
        self.at = Caret { row: at, column: 0 };
    }

    /// Puts the cursor to the caret.
    fn place(&mut self, caret: Option<Caret>, bytes: &mut String) {
        let target = caret.unwrap_or(Caret { row: self.at.row, column: 0 });
        move_rows(self.at.row, target.row, bytes);
        if target.column > 0 {
            bytes.push_str(&format!("\u{1b}[{}C", target.column));
        }
        bytes.push_str(if caret.is_some() { SHOW_CARET } else { HIDE_CARET });
        self.at = target;
        self.caret = caret;
    }
}
