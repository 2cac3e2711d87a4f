//! Prints for every command except `run`: results to standard output, notes to standard error.
//!
//! Tables fit the width of a terminal and are complete in a pipe. All text is neutralised, so that it cannot control the
//! terminal. A closed pipe (`lariat … | head`) is not an error.

use std::io::Write as _;

use lariat_core::display;
pub(crate) use lariat_terminal::human::{ago, count, counted, money, size, time};
pub(crate) use lariat_terminal::table::Column;
use lariat_terminal::theme::Theme;
use rustix::termios::tcgetwinsize;
use serde::Serialize;

use super::CommandResult;
use crate::exit::Exit;
use crate::problem::Problem;

/// Plain text without styles, as wide as the terminal.
pub(crate) fn theme() -> Theme {
    match tcgetwinsize(std::io::stdout()) {
        Ok(size) if size.ws_col > 0 => Theme::plain(size.ws_col.into()),
        _ => Theme::piped(),
    }
}

pub(crate) fn table(columns: &[Column], rows: &[Vec<String>]) -> String {
    lariat_terminal::table::table(columns, rows, &theme())
}

pub(crate) fn out(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// Writes a neutralised line to standard output.
pub(crate) fn line(text: &str) {
    out(&format!("{}\n", display::block(text)));
}

/// Writes a line with a name and a neutralised value, aligned in columns.
pub(crate) fn field(name: &str, value: &str) {
    out(&format!("{name:<10} {}\n", display::line(value)));
}

/// Writes a neutralised line to standard error.
pub(crate) fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", display::block(text));
}

/// Writes a JSON document, escaping control and invisible characters.
pub(crate) fn json(value: &impl Serialize) -> CommandResult {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Problem::new(Exit::Failed, format!("could not write JSON: {error}")))?;
    out(&format!("{}\n", display::json(&text)));
    Ok(Exit::Done)
}

/// The first `most` characters of the first line, with `…` if there is more.
pub(crate) fn abbreviate(text: &str, most: usize) -> String {
    let text = text.trim();
    let first = text.lines().next().unwrap_or_default();
    let cut: String = first.chars().take(most).collect();
    if cut.len() < text.len() { format!("{cut}…") } else { cut }
}
