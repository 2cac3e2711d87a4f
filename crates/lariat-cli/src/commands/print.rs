//! How commands besides `run` write: tables, lines and JSON on standard output, everything else on standard error.
//!
//! Owns the two streams; forms are the screen's. A table is as wide as the terminal, and whole in a pipe. All text is
//! neutralised. A reader that went away (`lariat … | head`) is no error.

use std::io::Write as _;

use lariat_guard::display;
use rustix::termios::tcgetwinsize;
use serde::Serialize;

use super::Ended;
use crate::exit::Exit;
use crate::problem::Problem;
pub(crate) use crate::screen::human::{ago, count, counted, money, size, time};
use crate::screen::look::Look;
pub(crate) use crate::screen::table::Column;

/// What standard output shows of a listing: letters alone, in the columns of the terminal.
pub(crate) fn look() -> Look {
    match tcgetwinsize(std::io::stdout()) {
        Ok(size) if size.ws_col > 0 => Look::plain(size.ws_col.into()),
        _ => Look::piped(),
    }
}

/// The table, one line per row, with a header.
pub(crate) fn table(columns: &[Column], rows: &[Vec<String>]) -> String {
    crate::screen::table::table(columns, rows, &look())
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

/// Writes a JSON document. What a terminal would obey, or not show, is escaped in it.
pub(crate) fn json(value: &impl Serialize) -> Ended {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Problem::new(Exit::Failed, format!("this cannot be written as JSON: {error}")))?;
    out(&format!("{}\n", display::json(&text)));
    Ok(Exit::Done)
}

/// So many letters of a text's first line, with a mark when there is more.
pub(crate) fn beginning(text: &str, most: usize) -> String {
    let text = text.trim();
    let first = text.lines().next().unwrap_or_default();
    let cut: String = first.chars().take(most).collect();
    if cut.len() < text.len() { format!("{cut}…") } else { cut }
}
