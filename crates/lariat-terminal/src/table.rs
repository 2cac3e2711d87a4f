//! Lays out rows in columns.
//!
//! Each column is as wide as its widest cell; if the table is too wide, the widest column shrinks first. Cells are untrusted
//! text of one line.

use crate::text;
use crate::theme::Theme;

/// Space between two columns.
const GAP: usize = 2;

/// The alignment of a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Align {
    /// For text.
    #[default]
    Left,
    /// For numbers.
    Right,
}

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    title: &'static str,
    align: Align,
    least: usize,
}

impl Column {
    /// A column for text, which may shrink to eight characters.
    pub const fn text(title: &'static str) -> Self {
        Self { title, align: Align::Left, least: 8 }
    }

    /// A right-aligned column for numbers, never cut.
    pub const fn number(title: &'static str) -> Self {
        Self { title, align: Align::Right, least: usize::MAX }
    }

    /// A column that is never cut, for text that users copy or approve.
    pub const fn whole(title: &'static str) -> Self {
        Self { least: usize::MAX, ..Self::text(title) }
    }
}

/// Formats a table with a header. In a pipe, nothing is cut.
pub fn table(columns: &[Column], rows: &[Vec<String>], theme: &Theme) -> String {
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|cell| text::line(cell)).collect()).collect();
    let widths = widths(columns, &rows, theme);
    let titles: Vec<String> = columns.iter().map(|column| column.title.to_owned()).collect();
    let mut shown = String::new();
    for cells in std::iter::once(&titles).chain(&rows) {
        shown.push_str(&row(columns, &widths, cells, theme));
        shown.push('\n');
    }
    shown
}

fn widths(columns: &[Column], rows: &[Vec<String>], theme: &Theme) -> Vec<usize> {
    let natural = |(at, column): (usize, &Column)| {
        let cells = rows.iter().filter_map(|row| row.get(at)).map(|cell| text::width(cell));
        cells.max().unwrap_or_default().max(text::width(column.title))
    };
    let mut widths: Vec<usize> = columns.iter().enumerate().map(natural).collect();
    let room = theme.width.saturating_sub(GAP * columns.len().saturating_sub(1));
    while theme.is_terminal && widths.iter().sum::<usize>() > room {
        let gives = widths.iter_mut().zip(columns).filter(|(width, column)| **width > column.least);
        match gives.max_by_key(|(width, _)| **width) {
            Some((width, _)) => *width -= 1,
            None => break,
        }
    }
    widths
}

fn row(columns: &[Column], widths: &[usize], cells: &[String], theme: &Theme) -> String {
    let mut line = String::new();
    for ((column, width), cell) in columns.iter().zip(widths).zip(cells) {
        if !line.is_empty() {
            line.push_str(&" ".repeat(GAP));
        }
        let cell = text::cut(cell, *width, theme);
        let padding = " ".repeat(width.saturating_sub(text::width(&cell)));
        match column.align {
            Align::Left => line.extend([&*cell, &padding]),
            Align::Right => line.extend([&*padding, &cell]),
        }
    }
    line.truncate(line.trim_end().len());
    line
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
