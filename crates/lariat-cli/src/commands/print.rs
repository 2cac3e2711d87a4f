//! Plain text on standard output: tables, figures, JSON. Every cell is neutralised.
//!
//! A reader that went away (`lariat … | head`) is no error.

use std::io::Write as _;

use lariat_core::time::Timestamp;
use lariat_core::usage::Cost;
use lariat_guard::display;
use serde::Serialize;
use unicode_width::UnicodeWidthStr as _;

use super::Ended;
use crate::exit::Exit;
use crate::problem::Problem;

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    title: &'static str,
    is_number: bool,
}

impl Column {
    /// A column for text.
    pub(crate) const fn text(title: &'static str) -> Self {
        Self { title, is_number: false }
    }

    /// A column for numbers: to the right.
    pub(crate) const fn number(title: &'static str) -> Self {
        Self { title, is_number: true }
    }
}

/// The table, one line per row, with a header.
pub(crate) fn table(columns: &[Column], rows: &[Vec<String>]) -> String {
    let titles: Vec<String> = columns.iter().map(|column| column.title.to_owned()).collect();
    let shown = rows.iter().map(|row| row.iter().map(|cell| display::line(cell).into_owned()).collect());
    let rows: Vec<Vec<String>> = std::iter::once(titles).chain(shown).collect();
    let width = |index: usize| rows.iter().filter_map(|row| Some(row.get(index)?.width())).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for ((column, cell), width) in columns.iter().zip(row).zip(&widths) {
            let padding = " ".repeat(width.saturating_sub(cell.width()));
            let (before, after) =
                if column.is_number { (padding.as_str(), "") } else { ("", padding.as_str()) };
            line.push_str(&format!("{before}{cell}{after}  "));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Writes to standard output.
pub(crate) fn out(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// Writes a line to standard output. The text is neutralised.
pub(crate) fn line(text: &str) {
    out(&format!("{}\n", display::block(text)));
}

/// Writes a line with a name and a value. The value is neutralised, the space between them is ours.
pub(crate) fn field(name: &str, value: &str) {
    out(&format!("{name:<10} {}\n", display::line(value)));
}

/// Tells something that is not the answer, on standard error. The text is neutralised.
pub(crate) fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", display::block(text));
}

/// Writes a JSON document. JSON escapes control characters by itself; others are data.
pub(crate) fn json(value: &impl Serialize) -> Ended {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Problem::new(Exit::Failed, format!("this cannot be written as JSON: {error}")))?;
    out(&format!("{text}\n"));
    Ok(Exit::Done)
}

/// A time, to the minute, UTC.
pub(crate) fn time(at: Timestamp) -> String {
    let text = at.to_string();
    text.get(..16).map_or_else(|| text.clone(), |minute| minute.replace('T', " "))
}

/// An amount of money.
pub(crate) fn money(cost: Cost) -> String {
    let dollars = cost.as_usd();
    if dollars >= 1.0 { format!("${dollars:.2}") } else { format!("${dollars:.4}") }
}

/// A number of tokens.
pub(crate) fn count(number: u64) -> String {
    match number {
        0..10_000 => number.to_string(),
        10_000..1_000_000 => format!("{:.1}k", number as f64 / 1e3),
        _ => format!("{:.1}M", number as f64 / 1e6),
    }
}

/// A number with the thing that is counted.
pub(crate) fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// So many letters of a text's first line, with a mark when there is more.
pub(crate) fn beginning(text: &str, most: usize) -> String {
    let text = text.trim();
    let first = text.lines().next().unwrap_or_default();
    let cut: String = first.chars().take(most).collect();
    if cut.len() < text.len() { format!("{cut}…") } else { cut }
}
