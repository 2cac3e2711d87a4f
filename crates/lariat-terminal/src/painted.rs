//! Measures and wraps rows that are already painted.
//!
//! A painted row has our own sequences only: styles (SGR) that end with a reset, and links (OSC 8). A row that is split
//! ends its style and link, and the next row starts them again.

use crate::text;

const RESET: &str = "\u{1b}[0m";
const LINK_END: &str = "\u{1b}]8;;\u{1b}\\";

/// A piece of a row: a sequence, or text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece<'a> {
    Style(&'a str),
    Link(&'a str),
    Text(&'a str),
}

/// Splits a row into sequences and texts.
fn pieces(row: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = row;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, after) = next(rest);
        rest = after;
        Some(piece)
    })
}

fn next(rest: &str) -> (Piece<'_>, &str) {
    let until = |end: Option<usize>| rest.split_at(end.unwrap_or(rest.len()));
    if rest.starts_with("\u{1b}[") {
        let (style, after) = until(rest.find('m').map(|at| at + 1));
        return (Piece::Style(style), after);
    }
    if rest.starts_with("\u{1b}]") {
        let (link, after) = until(rest.find("\u{1b}\\").map(|at| at + 2));
        return (Piece::Link(link), after);
    }
    let (first, others) = rest.split_at(rest.chars().next().map_or(0, char::len_utf8));
    let length = others.find('\u{1b}').map_or(rest.len(), |at| first.len() + at);
    let (text, after) = rest.split_at(length);
    (Piece::Text(text), after)
}

/// The text of a row, without sequences.
pub fn plain(row: &str) -> String {
    pieces(row)
        .filter_map(|piece| match piece {
            Piece::Text(text) => Some(text),
            _ => None,
        })
        .collect()
}

/// The columns that a row takes.
pub fn width(row: &str) -> usize {
    if row.contains('\u{1b}') { text::width(&plain(row)) } else { text::width(row) }
}

/// Splits a row at exactly `most` columns, keeping every character.
pub fn wrap(row: &str, most: usize) -> Vec<String> {
    let most = most.max(1);
    if width(row) <= most {
        return vec![row.to_owned()];
    }
    let mut lines = Vec::new();
    let mut line = Line::default();
    for piece in pieces(row) {
        match piece {
            Piece::Style(RESET) => line.set_style(""),
            Piece::Style(style) => line.set_style(style),
            Piece::Link(LINK_END) => line.set_link(""),
            Piece::Link(link) => line.set_link(link),
            Piece::Text(text) => {
                for chunk in chunks(text, most, &mut line.columns) {
                    if let ParsedChunk::Break = chunk {
                        lines.push(line.end());
                    } else if let ParsedChunk::Text(text) = chunk {
                        line.shown.push_str(text);
                    }
                }
            }
        }
    }
    lines.push(line.end());
    lines
}

enum ParsedChunk<'a> {
    Text(&'a str),
    Break,
}

/// Splits a text that starts at a column into chunks that fit.
fn chunks<'a>(text: &'a str, most: usize, columns: &mut usize) -> Vec<ParsedChunk<'a>> {
    let mut chunks = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (mut start, mut after) = text::split(rest, most.saturating_sub(*columns));
        if start.is_empty() && *columns == 0 {
            // A character wider than the row still has to be placed.
            (start, after) = rest.split_at(rest.chars().next().map_or(rest.len(), char::len_utf8));
        }
        *columns += text::width(start);
        chunks.push(ParsedChunk::Text(start));
        rest = after;
        if !rest.is_empty() {
            *columns = 0;
            chunks.push(ParsedChunk::Break);
        }
    }
    chunks
}

/// A row under construction.
#[derive(Debug, Default)]
struct Line<'a> {
    shown: String,
    style: &'a str,
    link: &'a str,
    columns: usize,
}

impl<'a> Line<'a> {
    fn set_style(&mut self, style: &'a str) {
        self.shown.push_str(if style.is_empty() { RESET } else { style });
        self.style = style;
    }

    fn set_link(&mut self, link: &'a str) {
        self.shown.push_str(if link.is_empty() { LINK_END } else { link });
        self.link = link;
    }

    /// Ends the row and starts the next one in the same style.
    fn end(&mut self) -> String {
        let mut shown = std::mem::take(&mut self.shown);
        if !self.style.is_empty() {
            shown.push_str(RESET);
        }
        if !self.link.is_empty() {
            shown.push_str(LINK_END);
        }
        self.shown.push_str(self.link);
        self.shown.push_str(self.style);
        shown
    }
}

#[cfg(test)]
#[path = "painted_tests.rs"]
mod tests;
