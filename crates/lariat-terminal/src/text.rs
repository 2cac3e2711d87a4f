//! Neutralises, measures, cuts and wraps untrusted text for reading.
//!
//! Text that the user approves is shown with `display` directly. Text that is only read may lose meaningless detail:
//! non-breaking spaces become spaces, and tabs become columns. The result of [`line()`] has no control characters and no
//! characters that hide or reorder text, so its width is known.

use std::borrow::Cow;

use lariat_core::display;
use unicode_width::UnicodeWidthStr;

use crate::theme::{Style, Theme};

/// The expansion of a tab.
const TAB: &str = "    ";
/// Characters that become a space.
const SPACES: [char; 4] = [' ', '\t', '\u{a0}', '\u{202f}'];

/// Neutralises one line for reading; line endings are written out like other control characters. Works word by word, because
/// a run of spaces in text that is only read is alignment, not a trick.
pub fn line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for piece in text.split_inclusive(SPACES) {
        let word = piece.strip_suffix(SPACES).unwrap_or(piece);
        // In a keycap such as `1️⃣`, the variation selector is redundant.
        let word: Cow<'_, str> =
            if word.contains("\u{fe0f}\u{20e3}") { word.replace('\u{fe0f}', "").into() } else { word.into() };
        shown.push_str(&display::line(&word));
        if piece.ends_with('\t') {
            shown.push_str(TAB);
        } else if piece.ends_with(SPACES) {
            shown.push(' ');
        }
    }
    shown
}

/// Neutralises one line for a pipe, keeping spaces and tabs.
pub fn with_spacing(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for piece in text.split_inclusive(SPACES) {
        let word = piece.strip_suffix(SPACES).unwrap_or(piece);
        shown.push_str(&display::line(word));
        shown.push_str(piece.get(word.len()..).unwrap_or_default());
    }
    shown
}

/// Neutralises lines for reading. `\r\n` ends a line, like `\n`.
pub fn lines(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split('\n').map(|text| line(text.strip_suffix('\r').unwrap_or(text)))
}

/// The first nonempty line, neutralised for reading.
pub fn first_line(text: &str) -> String {
    text.lines().map(str::trim).find(|text| !text.is_empty()).map(line).unwrap_or_default()
}

/// Quotes a word for a POSIX shell if necessary, so that users can copy commands.
pub fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The columns that a text without control characters takes.
pub fn width(text: &str) -> usize {
    text.width()
}

/// Whether a text fits into `most` columns. Examines only as much as needed, because lines can be long.
fn fits(text: &str, most: usize) -> bool {
    let far = most.saturating_mul(2).saturating_add(16);
    match text.char_indices().nth(far).and_then(|(at, _)| text.get(..at)) {
        Some(start) if width(start) > most => false,
        _ => width(text) <= most,
    }
}

/// Cuts a text to `most` columns, with an ellipsis if something is cut.
pub fn cut<'a>(text: &'a str, most: usize, theme: &Theme) -> Cow<'a, str> {
    if fits(text, most) {
        return Cow::Borrowed(text);
    }
    let mark = theme.mark("…", "...");
    let mark = if width(mark) > most { "" } else { mark };
    let (start, _) = split(text, most.saturating_sub(width(mark)));
    Cow::Owned(format!("{start}{mark}"))
}

/// Splits a text after `most` columns, never inside a grapheme.
pub fn split(text: &str, most: usize) -> (&str, &str) {
    if fits(text, most) {
        return (text, "");
    }
    let mut end = 0;
    for (at, letter) in text.char_indices() {
        let after = at + letter.len_utf8();
        let joins = text.get(after..).and_then(|rest| rest.chars().next()).is_some_and(is_joining)
            || letter == '\u{200d}';
        if width(text.get(..after).unwrap_or(text)) > most {
            break;
        }
        if !joins {
            end = after;
        }
    }
    text.split_at(end)
}

/// Whether a character combines with the one before it.
fn is_joining(letter: char) -> bool {
    matches!(letter, '\u{200d}' | '\u{fe0f}') || width(letter.encode_utf8(&mut [0; 4])) == 0
}

/// Wraps a line, between words where possible.
pub fn wrap(text: &str, most: usize) -> Vec<String> {
    let most = most.max(1);
    let mut lines = Vec::new();
    let mut rest = text;
    while !fits(rest, most) {
        let (start, _) = split(rest, most);
        let next_is_space = rest.get(start.len()..).is_some_and(|rest| rest.starts_with(' '));
        let end = if next_is_space { start.len() } else { start.rfind(' ').unwrap_or(start.len()) };
        let end =
            if start.get(..end).is_none_or(|start| start.trim().is_empty()) { start.len() } else { end };
        // A character wider than the line still has to be placed.
        let end = if end == 0 { rest.chars().next().map_or(rest.len(), char::len_utf8) } else { end };
        let (line, after) = rest.split_at(end);
        lines.push(line.trim_end().to_owned());
        rest = after.trim_start_matches(' ');
    }
    if !rest.is_empty() || lines.is_empty() {
        lines.push(rest.to_owned());
    }
    lines
}

/// Splits a text at exactly `most` columns, keeping every space, for text that must be shown exactly.
pub fn chunks(text: &str, most: usize) -> Vec<&str> {
    let most = most.max(1);
    let mut chunks = Vec::new();
    let mut rest = text;
    while !fits(rest, most) {
        let (start, _) = split(rest, most);
        let end = if start.is_empty() {
            rest.chars().next().map_or(rest.len(), char::len_utf8)
        } else {
            start.len()
        };
        let (chunk, after) = rest.split_at(end);
        chunks.push(chunk);
        rest = after;
    }
    if !rest.is_empty() || chunks.is_empty() {
        chunks.push(rest);
    }
    chunks
}

/// Styles pieces and cuts them to `most` columns.
pub fn paint_pieces(pieces: &[(Style, String)], most: usize, theme: &Theme) -> String {
    let total: usize = pieces.iter().map(|(_, text)| width(text)).sum();
    let mark = if total > most { theme.mark("…", "...") } else { "" };
    let mark = if width(mark) > most { "" } else { mark };
    let mut room = most.saturating_sub(width(mark));
    let mut shown = String::new();
    for (style, text) in pieces {
        let (start, rest) = split(text, room);
        shown.push_str(&theme.paint(*style, start));
        room = room.saturating_sub(width(start));
        if !rest.is_empty() {
            shown.push_str(mark);
            break;
        }
    }
    shown
}

/// Splits styled pieces at exactly `most` columns, keeping every character. Returns at least one row.
pub fn rows(pieces: &[(Style, String)], most: usize) -> Vec<Vec<(Style, String)>> {
    let most = most.max(1);
    let mut rows = vec![Vec::new()];
    let mut room = most;
    for (style, text) in pieces {
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let (mut start, mut after) = split(rest, room);
            if start.is_empty() && room == most {
                // A character wider than the row still has to be placed.
                (start, after) = rest.split_at(rest.chars().next().map_or(rest.len(), char::len_utf8));
            }
            if let Some(row) = rows.last_mut().filter(|_| !start.is_empty()) {
                row.push((*style, start.to_owned()));
            }
            room = room.saturating_sub(width(start));
            rest = after;
            if !rest.is_empty() {
                rows.push(Vec::new());
                room = most;
            }
        }
    }
    rows
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
