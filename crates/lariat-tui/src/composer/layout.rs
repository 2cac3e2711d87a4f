//! The rows of the draft on the screen: wraps units at a width and maps the caret to a cell and back.
//!
//! A row breaks after a space if it can. Invariant: every unit is in exactly one row, and the column of the caret is at
//! most the width, for which the renderer reserves one more column.

use std::borrow::Cow;

use lariat_terminal::{human, text};

use super::buffer::Unit;

/// Units from `start` to `end` (exclusive) in one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) start: usize,
    pub(super) end: usize,
}

/// All rows of a draft.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) rows: Vec<Row>,
    /// The columns of each unit.
    columns: Vec<usize>,
    width: usize,
}

/// A unit as it is shown: neutralised, and cut if it is wider than the row.
pub(super) fn shown(unit: &Unit, width: usize) -> Cow<'_, str> {
    let shown: Cow<'_, str> = match unit {
        Unit::Grapheme(text) if is_plain(text) => return Cow::Borrowed(text),
        Unit::Grapheme(text) => text::line(text).into(),
        Unit::Paste(text) => paste_label(text).into(),
    };
    if text::width(&shown) <= width {
        return shown;
    }
    let (start, _) = text::split(&shown, width.saturating_sub(1));
    Cow::Owned(format!("{start}~"))
}

/// What stands for a pasted block.
fn paste_label(text: &str) -> String {
    let lines = text.lines().count();
    if lines > 1 {
        format!("[pasted {} lines]", human::count(lines as u64))
    } else {
        format!("[pasted {} characters]", human::count(text.chars().count() as u64))
    }
}

/// Most graphemes are one printable ASCII character.
fn is_plain(text: &str) -> bool {
    matches!(text.as_bytes(), [b' '..=b'~'])
}

impl Layout {
    /// Wraps units at `width` columns.
    pub(super) fn new(units: &[Unit], width: usize) -> Self {
        let width = width.max(1);
        let columns: Vec<usize> = units.iter().map(|unit| columns_of(unit, width)).collect();
        let mut rows = Vec::new();
        let (mut start, mut used, mut after_space) = (0, 0, None);
        for (at, (unit, own)) in units.iter().zip(&columns).enumerate() {
            if unit.is_break() {
                rows.push(Row { start, end: at + 1 });
                (start, used, after_space) = (at + 1, 0, None);
                continue;
            }
            let is_space = unit.is_space() && shown(unit, width).trim().is_empty();
            // One space that does not fit hangs over the edge, unseen.
            if used + own > width && !(is_space && used <= width) {
                let end = after_space.filter(|end| *end > start && *end <= at).unwrap_or(at);
                if end > start {
                    rows.push(Row { start, end });
                    used = columns.get(end..at).unwrap_or_default().iter().sum();
                    (start, after_space) = (end, None);
                }
            }
            used += own;
            if is_space {
                after_space = Some(at + 1);
            }
        }
        rows.push(Row { start, end: units.len() });
        Self { rows, columns, width }
    }

    /// The row and the column of the caret.
    pub(super) fn place(&self, caret: usize) -> (usize, usize) {
        let row = self.rows.partition_point(|row| row.start <= caret).saturating_sub(1);
        let start = self.rows.get(row).map_or(0, |row| row.start);
        let columns: usize = self.columns.get(start..caret).unwrap_or_default().iter().sum();
        (row, columns.min(self.width))
    }

    /// The caret in a row that is nearest to a column.
    pub(super) fn caret(&self, row: usize, column: usize) -> usize {
        let Some(Row { start, end }) = self.rows.get(row).copied() else { return self.columns.len() };
        let mut used = 0;
        for at in start..end {
            let columns = self.columns.get(at).copied().unwrap_or(0);
            // The caret behind the last unit of a row is shown in the next row.
            let is_last = at + 1 == end && row + 1 < self.rows.len();
            if is_last || used + columns > column {
                return at;
            }
            used += columns;
        }
        end
    }
}

fn columns_of(unit: &Unit, width: usize) -> usize {
    if unit.is_break() { 0 } else { text::width(&shown(unit, width)) }
}

#[cfg(test)]
#[path = "layout_tests.rs"]
mod tests;
