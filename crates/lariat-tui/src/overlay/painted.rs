//! Rows that are painted already: their text, and a part of them.
//!
//! A row has SGR and OSC 8 sequences and no other control characters.

use lariat_terminal::text;

const ESCAPE: char = '\u{1b}';

/// A part of a painted row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece<'a> {
    /// An escape sequence, which takes no room.
    Sequence(&'a str),
    /// Text.
    Text(&'a str),
}

/// The text of a row without its sequences.
pub(super) fn plain(row: &str) -> String {
    pieces(row).filter_map(|piece| if let Piece::Text(text) = piece { Some(text) } else { None }).collect()
}

/// A row cut to `most` columns. A style or a link that was on at the cut is turned off.
pub(super) fn clip(row: &str, most: usize) -> String {
    let mut room = most;
    let mut shown = String::with_capacity(row.len());
    let (mut style, mut link) = (false, false);
    for piece in pieces(row) {
        match piece {
            Piece::Sequence(sequence) => {
                match sequence.strip_prefix("\u{1b}]8;") {
                    Some(target) => link = !target.trim_end_matches(['\u{1b}', '\\', '\u{7}']).ends_with(';'),
                    None => style = !matches!(sequence, "\u{1b}[0m" | "\u{1b}[m"),
                }
                shown.push_str(sequence);
            }
            Piece::Text(text) => {
                let (start, rest) = text::split(text, room);
                shown.push_str(start);
                room = room.saturating_sub(text::width(start));
                if !rest.is_empty() {
                    break;
                }
            }
        }
    }
    if link {
        shown.push_str("\u{1b}]8;;\u{1b}\\");
    }
    if style {
        shown.push_str("\u{1b}[0m");
    }
    shown
}

/// A row cut or filled with spaces to exactly `columns`.
pub(super) fn fill(row: &str, columns: usize) -> String {
    let row = clip(row, columns);
    let missing = columns.saturating_sub(text::width(&plain(&row)));
    format!("{row}{}", " ".repeat(missing))
}

fn pieces(row: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = row;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let length =
            if rest.starts_with(ESCAPE) { sequence(rest) } else { rest.find(ESCAPE).unwrap_or(rest.len()) };
        let is_sequence = rest.starts_with(ESCAPE);
        let (piece, after) = rest.split_at(length);
        rest = after;
        Some(if is_sequence { Piece::Sequence(piece) } else { Piece::Text(piece) })
    })
}

/// The length of the sequence at the start.
fn sequence(text: &str) -> usize {
    let after = |at: usize, ending: &str| {
        let found = text.get(at..).and_then(|rest| rest.find(ending));
        found.map_or(text.len(), |found| at + found + ending.len())
    };
    match text.as_bytes().get(1) {
        Some(b'[') => {
            let end = text.bytes().skip(2).position(|byte| (0x40..=0x7e).contains(&byte));
            end.map_or(text.len(), |end| end + 3)
        }
        Some(b']') => after(2, "\u{1b}\\").min(after(2, "\u{7}")),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use lariat_terminal::theme::{Style, Theme};

    use super::*;

    #[test]
    fn plain_text_has_no_sequences() {
        let theme = Theme::full(80);
        let link = theme.link("https://example.com/a", "here");
        let row = format!("a {} {link}", theme.paint(Style::Heading, "b"));
        assert_eq!(plain(&row), "a b here");
        assert_eq!(plain("\u{1b}]8;;x\u{7}y\u{1b}]8;;\u{7}"), "y");
        assert_eq!(plain("cut \u{1b}[3"), "cut ");
    }

    #[test]
    fn a_cut_ends_styles_and_links() {
        let theme = Theme::full(80);
        assert_eq!(clip(&theme.paint(Style::Strong, "hello"), 2), "\u{1b}[1mhe\u{1b}[0m");
        let link = clip(&theme.link("https://example.com", "hello"), 2);
        assert_eq!(link, "\u{1b}]8;;https://example.com\u{1b}\\he\u{1b}]8;;\u{1b}\\");
        let whole = theme.paint(Style::Strong, "hello") + " x";
        assert_eq!(clip(&whole, 7), whole);
    }

    #[test]
    fn a_wide_character_is_not_cut_in_half() {
        assert_eq!(clip("日本", 3), "日");
        assert_eq!(fill("日本", 3), "日 ");
        assert_eq!(fill("a", 3), "a  ");
    }
}
