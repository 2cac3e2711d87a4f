//! Untrusted text made safe to read, measured, cut and wrapped.
//!
//! Owns how the guard's renderer is used for reading. What a person approves is shown by `display` directly; text that is
//! only read may lose what has no meaning: spaces that do not break become spaces, tabs become columns.
//! Invariant: what comes out of [`line()`] has no control character, no letter that hides or reorders, and a width.

use std::borrow::Cow;

use lariat_guard::display;
use unicode_width::UnicodeWidthStr;

use super::look::{Look, Style};

/// Columns of a tab.
const TAB: &str = "    ";
/// What becomes a space: itself, tabs, and spaces that do not break.
const SPACES: [char; 4] = [' ', '\t', '\u{a0}', '\u{202f}'];

/// One line, for reading. Line ends are written out like every other control character. Neutralised word by word: in
/// what is only read, a run of spaces is alignment, not a trick.
pub(crate) fn line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for piece in text.split_inclusive(SPACES) {
        let word = piece.strip_suffix(SPACES).unwrap_or(piece);
        // A digit in a box: the selector says nothing that the box does not.
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

/// One line for another program: spaces and tabs stay as they are, the rest is neutralised.
pub(crate) fn kept(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for piece in text.split_inclusive(SPACES) {
        let word = piece.strip_suffix(SPACES).unwrap_or(piece);
        shown.push_str(&display::line(word));
        shown.push_str(piece.get(word.len()..).unwrap_or_default());
    }
    shown
}

/// Lines, for reading. `\r\n` ends a line as `\n` does.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split('\n').map(|text| line(text.strip_suffix('\r').unwrap_or(text)))
}

/// The first line that says something, for reading.
pub(crate) fn first_line(text: &str) -> String {
    text.lines().map(str::trim).find(|text| !text.is_empty()).map(line).unwrap_or_default()
}

/// A word as a POSIX shell takes it: quoted where it has to be, so that a command with it can be copied.
pub(crate) fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Columns that a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// Whether a text fits into columns. Looks no further than it must: lines can be long.
fn fits(text: &str, most: usize) -> bool {
    let far = most.saturating_mul(2).saturating_add(16);
    match text.char_indices().nth(far).and_then(|(at, _)| text.get(..at)) {
        Some(start) if width(start) > most => false,
        _ => width(text) <= most,
    }
}

/// The text, or its start with a mark that more follows, in at most `most` columns.
pub(crate) fn cut<'a>(text: &'a str, most: usize, look: &Look) -> Cow<'a, str> {
    if fits(text, most) {
        return Cow::Borrowed(text);
    }
    let mark = look.mark("…", "...");
    let mark = if width(mark) > most { "" } else { mark };
    let (start, _) = split(text, most.saturating_sub(width(mark)));
    Cow::Owned(format!("{start}{mark}"))
}

/// The longest start of a text that fits, and the rest. Never between letters that make one picture.
pub(crate) fn split(text: &str, most: usize) -> (&str, &str) {
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

/// Letters that change the one before them.
fn is_joining(letter: char) -> bool {
    matches!(letter, '\u{200d}' | '\u{fe0f}') || width(letter.encode_utf8(&mut [0; 4])) == 0
}

/// A line in pieces that fit: between words where possible.
pub(crate) fn wrap(text: &str, most: usize) -> Vec<String> {
    let most = most.max(1);
    let mut lines = Vec::new();
    let mut rest = text;
    while !fits(rest, most) {
        let (start, _) = split(rest, most);
        let next_is_space = rest.get(start.len()..).is_some_and(|rest| rest.starts_with(' '));
        let end = if next_is_space { start.len() } else { start.rfind(' ').unwrap_or(start.len()) };
        let end =
            if start.get(..end).is_none_or(|start| start.trim().is_empty()) { start.len() } else { end };
        // A letter wider than the line has to go somewhere.
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

/// A text cut hard into pieces that fit, without losing a space: for what must be shown exactly.
pub(crate) fn chunks(text: &str, most: usize) -> Vec<&str> {
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

/// Pieces in their styles, cut to at most `most` columns.
pub(crate) fn painted(pieces: &[(Style, String)], most: usize, look: &Look) -> String {
    let total: usize = pieces.iter().map(|(_, text)| width(text)).sum();
    let mark = if total > most { look.mark("…", "...") } else { "" };
    let mark = if width(mark) > most { "" } else { mark };
    let mut room = most.saturating_sub(width(mark));
    let mut shown = String::new();
    for (style, text) in pieces {
        let (start, rest) = split(text, room);
        shown.push_str(&look.paint(*style, start));
        room = room.saturating_sub(width(start));
        if !rest.is_empty() {
            shown.push_str(mark);
            break;
        }
    }
    shown
}

/// Pieces cut hard into rows that fit, without losing a letter. At least one row.
pub(crate) fn rows(pieces: &[(Style, String)], most: usize) -> Vec<Vec<(Style, String)>> {
    let most = most.max(1);
    let mut rows = vec![Vec::new()];
    let mut room = most;
    for (style, text) in pieces {
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let (mut start, mut after) = split(rest, room);
            if start.is_empty() && room == most {
                // A letter wider than the row has to go somewhere.
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
