//! Painted rows: their width, and a cut that respects escape sequences.
//!
//! Invariant: a row that [`fit`] returns draws a picture, or has SGR and OSC 8 sequences only, no other control character,
//! and is at most as wide as asked.

use std::borrow::Cow;

use lariat_terminal::{picture, text};
use unicode_segmentation::UnicodeSegmentation as _;

/// A part of a painted row.
enum Piece<'a> {
    /// Text without control characters.
    Text(&'a str),
    /// An SGR or OSC 8 sequence.
    Style(&'a str),
    /// Anything else that is not printed.
    Other,
}

/// Splits a row into text and sequences.
struct Pieces<'a>(&'a str);

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        let first = self.0.chars().next()?;
        if !first.is_control() {
            let end = self.0.find(char::is_control).unwrap_or(self.0.len());
            return Some(Piece::Text(self.take(end)));
        }
        if let Some(body) = self.0.strip_prefix("\u{1b}[") {
            let parameters = body.find(|c: char| !('\u{20}'..='\u{3f}').contains(&c)).unwrap_or(body.len());
            // A control character inside belongs to no sequence.
            let last = body.get(parameters..).and_then(|rest| rest.chars().next());
            let has_last = last.is_some_and(|last| ('\u{40}'..='\u{7e}').contains(&last));
            let sequence = self.take(2 + parameters + usize::from(has_last));
            return Some(if is_style(sequence) { Piece::Style(sequence) } else { Piece::Other });
        }
        if let Some(body) = self.0.strip_prefix("\u{1b}]") {
            let content = body.find(char::is_control).unwrap_or(body.len());
            let rest = body.get(content..).unwrap_or_default();
            let ends = ["\u{1b}\\", "\u{7}"].into_iter().find(|end| rest.starts_with(end));
            let sequence = self.take(2 + content + ends.map_or(0, str::len));
            let is_link = ends.is_some() && body.starts_with("8;");
            return Some(if is_link { Piece::Style(sequence) } else { Piece::Other });
        }
        self.take(first.len_utf8());
        Some(Piece::Other)
    }
}

/// Whether a sequence is SGR: numbers only. Others that end in `m` change what keys send.
fn is_style(sequence: &str) -> bool {
    let numbers = sequence.strip_prefix("\u{1b}[").and_then(|body| body.strip_suffix('m'));
    numbers.is_some_and(|numbers| {
        numbers.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b';' | b':'))
    })
}

/// The styles that a row has switched on so far.
#[derive(Default)]
struct OpenStyles {
    style: bool,
    link: bool,
}

impl OpenStyles {
    fn add(&mut self, sequence: &str) {
        match sequence.strip_prefix("\u{1b}]8;") {
            Some(link) => {
                self.link = !link.starts_with(['\u{1b}', '\u{7}'])
                    && !link.starts_with(";\u{1b}")
                    && !link.starts_with(";\u{7}")
            }
            None => self.style = !matches!(sequence, "\u{1b}[m" | "\u{1b}[0m"),
        }
    }

    const fn is_any(&self) -> bool {
        self.style || self.link
    }
}

impl<'a> Pieces<'a> {
    fn take(&mut self, end: usize) -> &'a str {
        let (piece, rest) = self.0.split_at_checked(end).unwrap_or((self.0, ""));
        self.0 = rest;
        piece
    }
}

/// The columns that a painted row takes.
pub fn width(row: &str) -> usize {
    Pieces(row).map(|piece| if let Piece::Text(words) = piece { text::width(words) } else { 0 }).sum()
}

/// The row without sequences.
pub fn plain(row: &str) -> String {
    Pieces(row).filter_map(|piece| if let Piece::Text(words) = piece { Some(words) } else { None }).collect()
}

/// Returns the row as it can be written into `columns`: the rest is cut off, open styles are closed and what is neither
/// text nor style is left out.
pub fn fit(row: &str, columns: usize) -> Cow<'_, str> {
    if picture::is_row(row) {
        return Cow::Borrowed(row);
    }
    let mut open = OpenStyles::default();
    let is_clean = Pieces(row).all(|piece| {
        if let Piece::Style(sequence) = &piece {
            open.add(sequence);
        }
        !matches!(piece, Piece::Other)
    });
    if is_clean && !open.is_any() && width(row) <= columns {
        return Cow::Borrowed(row);
    }
    let mut shown = String::with_capacity(row.len());
    let mut room = columns;
    let mut open = OpenStyles::default();
    'row: for piece in Pieces(row) {
        match piece {
            Piece::Other => {}
            Piece::Style(sequence) => {
                open.add(sequence);
                shown.push_str(sequence);
            }
            Piece::Text(words) => {
                for cluster in words.graphemes(true) {
                    let wide = text::width(cluster);
                    if wide > room {
                        break 'row;
                    }
                    room -= wide;
                    shown.push_str(cluster);
                }
            }
        }
    }
    if open.style {
        shown.push_str("\u{1b}[0m");
    }
    if open.link {
        shown.push_str("\u{1b}]8;;\u{1b}\\");
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use lariat_terminal::picture::{PictureProtocol, Pictures};

    use super::{fit, plain, width};

    #[test]
    fn measures_text_without_its_sequences() {
        assert_eq!(width("\u{1b}[1;31mred\u{1b}[0m 漢"), 6);
        assert_eq!(width("\u{1b}]8;;https://a.example\u{1b}\\link\u{1b}]8;;\u{1b}\\"), 4);
        assert_eq!(plain("\u{1b}[2ma\u{1b}[0mb"), "ab");
    }

    #[test]
    fn leaves_rows_that_fit() {
        let row = "\u{1b}[1mabc\u{1b}[0m";
        assert!(matches!(fit(row, 3), std::borrow::Cow::Borrowed(_)));
    }

    #[test]
    fn cuts_and_closes_what_is_open() {
        assert_eq!(fit("\u{1b}[1mabcdef\u{1b}[0m", 3), "\u{1b}[1mabc\u{1b}[0m");
        assert_eq!(fit("a漢b", 2), "a");
        assert_eq!(
            fit("\u{1b}]8;;https://a.example\u{1b}\\link\u{1b}]8;;\u{1b}\\", 2),
            "\u{1b}]8;;https://a.example\u{1b}\\li\u{1b}]8;;\u{1b}\\"
        );
    }

    /// A control character inside a sequence, a link without an end, and a style that stayed on reached the terminal.
    #[test]
    fn leaves_out_broken_sequences_and_closes_open_styles() {
        assert_eq!(fit("\u{1b}[1\n;31mred", 9), ";31mred");
        assert_eq!(fit("\u{1b}[1\u{1b}[31mred", 9), "\u{1b}[31mred\u{1b}[0m");
        assert_eq!(fit("\u{1b}[>4;1ma\u{1b}[?4mb", 9), "ab");
        assert_eq!(fit("\u{1b}]8;;x\u{7}\u{1b}[2Ja\u{1b}\\", 9), "\u{1b}]8;;x\u{7}a\\\u{1b}]8;;\u{1b}\\");
        assert_eq!(fit("a\u{1b}]8;;x", 9), "a");
        assert_eq!(fit("\u{1b}[1mab", 9), "\u{1b}[1mab\u{1b}[0m");
        assert_eq!(
            fit("\u{1b}]8;id=1;https://a.example\u{1b}\\l", 9),
            "\u{1b}]8;id=1;https://a.example\u{1b}\\l\u{1b}]8;;\u{1b}\\"
        );
    }

    #[test]
    fn leaves_out_what_would_move_the_cursor() {
        let drawn = Pictures::new(PictureProtocol::Iterm, None).rows("R0lGODlhHgAUAA==", 80);
        assert_eq!(fit(&drawn[0], 9), drawn[0]);
        assert_eq!(fit("\u{1b}_Ga=T,t=f;L2V0Yw==\u{1b}\\a", 9), "_Ga=T,t=f");
        assert_eq!(fit("a\nb\r\u{1b}[2Jc\u{1b}[3Jd\u{7}\u{1b}]52;c;x\u{7}e\u{1b}", 9), "abcde");
    }
}
