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
            let end =
                body.find(|c: char| ('\u{40}'..='\u{7e}').contains(&c)).map_or(self.0.len(), |at| at + 3);
            let sequence = self.take(end);
            return Some(if sequence.ends_with('m') { Piece::Style(sequence) } else { Piece::Other });
        }
        if self.0.starts_with("\u{1b}]") {
            let terminator = |end: &str| self.0.find(end).map(|at| at + end.len());
            let end = terminator("\u{1b}\\").or_else(|| terminator("\u{7}")).unwrap_or(self.0.len());
            let sequence = self.take(end);
            return Some(if sequence.starts_with("\u{1b}]8;") {
                Piece::Style(sequence)
            } else {
                Piece::Other
            });
        }
        self.take(first.len_utf8());
        Some(Piece::Other)
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
    let is_clean = Pieces(row).all(|piece| !matches!(piece, Piece::Other));
    if is_clean && width(row) <= columns {
        return Cow::Borrowed(row);
    }
    let mut shown = String::with_capacity(row.len());
    let mut room = columns;
    let mut has_link = false;
    let mut has_style = false;
    'row: for piece in Pieces(row) {
        match piece {
            Piece::Other => {}
            Piece::Style(sequence) => {
                has_link |= sequence.starts_with("\u{1b}]");
                has_style |= sequence.ends_with('m');
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
    if has_style {
        shown.push_str("\u{1b}[0m");
    }
    if has_link {
        shown.push_str("\u{1b}]8;;\u{1b}\\");
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use lariat_terminal::picture::{Pictures, Protocol};

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

    #[test]
    fn leaves_out_what_would_move_the_cursor() {
        let drawn = Pictures::new(Protocol::Iterm, None).rows("R0lGODlhHgAUAA==", 80);
        assert_eq!(fit(&drawn[0], 9), drawn[0]);
        assert_eq!(fit("\u{1b}_Ga=T,t=f;L2V0Yw==\u{1b}\\a", 9), "_Ga=T,t=f");
        assert_eq!(fit("a\nb\r\u{1b}[2Jc\u{1b}[3Jd\u{7}\u{1b}]52;c;x\u{7}e\u{1b}", 9), "abcde");
    }
}
