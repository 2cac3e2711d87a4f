//! Wraps styled pieces of text into lines.
//!
//! A line breaks between words, and inside a word only if it is wider than the line. Styles and links end with each line and
//! start again on the next.

use std::rc::Rc;

use crate::text;
use crate::theme::{Style, Theme};

/// A piece of neutralised text. The text `\n` alone is a line break.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) style: Style,
    pub(super) text: String,
    /// The link target.
    pub(super) link: Option<Rc<str>>,
}

impl Piece {
    /// Neutralises an untrusted text.
    pub(super) fn new(style: Style, untrusted: &str) -> Self {
        Self { style, text: text::line(untrusted), link: None }
    }

    pub(super) fn line_break() -> Self {
        Self { text: "\n".to_owned(), ..Self::default() }
    }

    fn part(&self, text: &str) -> Self {
        Self { text: text.to_owned(), ..self.clone() }
    }
}

/// The width of pieces on one line.
pub(super) fn width(pieces: &[Piece]) -> usize {
    pieces.iter().map(|piece| text::width(&piece.text)).sum()
}

/// Applies styles and links.
pub(super) fn paint(pieces: &[Piece], theme: &Theme) -> String {
    let mut shown = String::new();
    for piece in pieces {
        let painted = theme.paint(piece.style, &piece.text);
        match &piece.link {
            Some(link) => shown.push_str(&theme.link(link, &painted)),
            None => shown.push_str(&painted),
        }
    }
    shown
}

/// Wraps pieces into lines of at most `most` columns.
pub(super) fn wrap(pieces: &[Piece], most: usize) -> Vec<Vec<Piece>> {
    let mut lines = Lines { most: most.max(1), ..Lines::default() };
    for piece in pieces {
        if piece.text == "\n" {
            lines.end_word();
            lines.end_line();
            continue;
        }
        for (at, part) in piece.text.split(' ').enumerate() {
            if at > 0 {
                lines.end_word();
                lines.space = Some(piece.part(" "));
            }
            if !part.is_empty() {
                lines.word.push(piece.part(part));
            }
        }
    }
    lines.end_word();
    if !lines.line.is_empty() || lines.done.is_empty() {
        lines.end_line();
    }
    lines.done
}

#[derive(Debug, Default)]
struct Lines {
    most: usize,
    done: Vec<Vec<Piece>>,
    line: Vec<Piece>,
    word: Vec<Piece>,
    space: Option<Piece>,
}

impl Lines {
    fn end_line(&mut self) {
        self.space = None;
        self.done.push(std::mem::take(&mut self.line));
    }

    fn end_word(&mut self) {
        let word = std::mem::take(&mut self.word);
        let Some(first) = word.first() else { return };
        let space = self.space.take().filter(|_| !self.line.is_empty());
        let needed = width(&word) + usize::from(space.is_some());
        if !self.line.is_empty() && width(&self.line) + needed > self.most {
            self.end_line();
        } else if let Some(mut space) = space {
            // A space takes the style of the text around it.
            let is_within =
                self.line.last().is_some_and(|last| last.style == first.style && last.link == first.link);
            if !is_within {
                space = Piece { text: space.text, ..Piece::default() };
            }
            self.add(space);
        }
        for piece in word {
            self.add_broken(&piece);
        }
    }

    /// Adds a piece of a word that may be wider than the line.
    fn add_broken(&mut self, piece: &Piece) {
        let mut rest = piece.text.as_str();
        while !rest.is_empty() {
            let room = self.most.saturating_sub(width(&self.line));
            let (mut start, mut after) = text::split(rest, room);
            if start.is_empty() {
                if !self.line.is_empty() {
                    self.end_line();
                    continue;
                }
                // A character wider than the line still has to be placed.
                (start, after) = rest.split_at(rest.chars().next().map_or(rest.len(), char::len_utf8));
            }
            self.add(piece.part(start));
            rest = after;
        }
    }

    fn add(&mut self, piece: Piece) {
        match self.line.last_mut() {
            Some(last) if last.style == piece.style && last.link == piece.link => {
                last.text.push_str(&piece.text)
            }
            _ => self.line.push(piece),
        }
    }
}

/// Whether later text cannot change how this text is rendered: code, emphasis and links are complete, and nothing else has a
/// meaning in Markdown. For prose only; in doubt, returns false.
pub(super) fn is_settled(text: &str) -> bool {
    let mut rest = text;
    let mut before = ' ';
    while let Some(letter) = rest.chars().next() {
        let after = rest.get(letter.len_utf8()..).unwrap_or_default();
        let is_inside_word = before.is_alphanumeric() && after.starts_with(char::is_alphanumeric);
        let length = match letter {
            '_' if is_inside_word => Some(1),
            '`' => closed(rest, "`", "`"),
            '*' if rest.starts_with("**") => closed(rest, "**", "**"),
            '*' => closed(rest, "*", "*"),
            '_' => closed(rest, "_", "_"),
            '[' => closed(rest, "[", "](").and_then(|text| {
                let address = closed(rest.get(text - 1..)?, "(", ")")?;
                Some(text - 1 + address)
            }),
            '<' | '~' | '|' | ']' => None,
            letter => Some(letter.len_utf8()),
        };
        let Some(length) = length else { return false };
        before = rest.get(..length).and_then(|taken| taken.chars().next_back()).unwrap_or(' ');
        rest = rest.get(length..).unwrap_or_default();
    }
    true
}

/// The length of a span between two marks without marks inside; `None` if it is incomplete.
fn closed(text: &str, open: &str, close: &str) -> Option<usize> {
    let inner = text.strip_prefix(open)?;
    let end = inner.find(close)?;
    let inside = inner.get(..end)?;
    // Inside code and addresses, other marks have no meaning.
    let marks: &[char] = match open {
        "`" => &['\n'],
        "(" => &['(', '<', ' ', '\\', '\n'],
        _ => &['`', '*', '_', '[', ']', '<', '~', '|', '\\', '\n', '('],
    };
    let is_plain = !inside.is_empty() && !inside.contains(marks);
    let after = inner.get(end + close.len()..)?;
    // The mark may grow, since `**` is not two `*`, and the next character is unknown at the end.
    let is_over = after.chars().next().is_some_and(|next| !close.ends_with(next) && !next.is_alphanumeric());
    (is_plain && (is_over || close == "](")).then(|| open.len() + end + close.len())
}
