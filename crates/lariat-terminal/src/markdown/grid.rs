//! Renders a Markdown table.
//!
//! If the table is too wide, the widest column shrinks first and its cells wrap. If that is not enough, each row becomes a
//! list of its cells.

use pulldown_cmark::Alignment;

use super::inline::{self, Piece};
use crate::theme::{Style, Theme};

/// Minimum width of a column.
const LEAST: usize = 4;

type Cell = Vec<Piece>;

/// The table being read.
#[derive(Debug, Default)]
pub(super) struct Grid {
    pub(super) alignments: Vec<Alignment>,
    /// The first row is the header.
    pub(super) rows: Vec<Vec<Cell>>,
}

impl Grid {
    /// The lines of the table, at most `most` columns wide.
    pub(super) fn lines(&self, most: usize, theme: &Theme) -> Vec<String> {
        let columns = self.alignments.len();
        let between = theme.mark(" │ ", " | ");
        let room = most.saturating_sub(3 * columns.saturating_sub(1));
        let mut widths: Vec<usize> = (0..columns).map(|at| self.widest(at)).collect();
        while widths.iter().sum::<usize>() > room {
            match widths.iter_mut().filter(|width| **width > LEAST).max() {
                Some(width) => *width -= 1,
                None => return self.as_list(most, theme),
            }
        }
        let mut lines = Vec::new();
        for (at, row) in self.rows.iter().enumerate() {
            let cells: Vec<Vec<Cell>> =
                row.iter().zip(&widths).map(|(cell, width)| inline::wrap(cell, *width)).collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or_default();
            for line in 0..height {
                let shown = widths.iter().enumerate().map(|(column, width)| {
                    let cell =
                        cells.get(column).and_then(|cell| cell.get(line)).map_or(&[][..], Vec::as_slice);
                    self.aligned(column, cell, *width, theme)
                });
                let shown = shown.collect::<Vec<_>>().join(&theme.paint(Style::Dim, between));
                lines.push(shown.trim_end().to_owned());
            }
            if at == 0 {
                let dash = theme.mark("─", "-");
                let rule: Vec<String> = widths.iter().map(|width| dash.repeat(*width)).collect();
                lines.push(theme.paint(Style::Dim, &rule.join(theme.mark("─┼─", "-+-"))));
            }
        }
        lines
    }

    fn widest(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| inline::width(cell)).max().unwrap_or_default().max(1)
    }

    fn aligned(&self, column: usize, cell: &[Piece], width: usize, theme: &Theme) -> String {
        let free = width.saturating_sub(inline::width(cell));
        let before = match self.alignments.get(column) {
            Some(Alignment::Right) => free,
            Some(Alignment::Center) => free / 2,
            _ => 0,
        };
        format!("{}{}{}", " ".repeat(before), inline::paint(cell, theme), " ".repeat(free - before))
    }

    /// One line per cell, with the title of its column.
    fn as_list(&self, most: usize, theme: &Theme) -> Vec<String> {
        let mut lines = Vec::new();
        let Some((header, rows)) = self.rows.split_first() else { return lines };
        for row in rows {
            for (name, cell) in header.iter().zip(row) {
                let mut pieces = name.clone();
                pieces.push(Piece::new(Style::Plain, ": "));
                pieces.extend(cell.iter().cloned());
                lines.extend(inline::wrap(&pieces, most).iter().map(|line| inline::paint(line, theme)));
            }
            lines.push(String::new());
        }
        lines.pop();
        lines
    }
}
