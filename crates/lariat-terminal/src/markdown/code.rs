//! Renders a code block with syntax highlighting.
//!
//! Code without highlighting is printed at once; otherwise at the end of the block, or in pieces if it is long. Lines are
//! never wrapped, because users copy code.

use crate::highlight::{Token, highlight, is_known};
use crate::text;
use crate::theme::{Style, Theme};

/// Indentation of code.
const INDENT: &str = "  ";
/// Lines per printed piece.
const PIECE: usize = 200;

/// A code block that is still arriving.
#[derive(Clone, Debug)]
pub(super) struct Code {
    language: String,
    theme: Theme,
    /// Whether to collect lines until the piece ends, to highlight it.
    waits: bool,
    piece: String,
    lines: usize,
}

impl Code {
    pub(super) fn new(language: &str, theme: Theme) -> Self {
        let waits = theme.colour && is_known(language);
        Self { language: language.to_owned(), theme, waits, piece: String::new(), lines: 0 }
    }

    /// Adds a line and returns what can be printed.
    pub(super) fn line(&mut self, line: &str) -> String {
        if !self.waits {
            let style = match self.language.as_str() {
                "diff" | "patch" if line.starts_with('+') => Style::Added,
                "diff" | "patch" if line.starts_with('-') => Style::Removed,
                _ => Style::Plain,
            };
            let line = text::line(line);
            let line =
                if line.is_empty() { line } else { format!("{INDENT}{}", self.theme.paint(style, &line)) };
            return format!("{line}\n");
        }
        self.piece.push_str(line);
        self.piece.push('\n');
        self.lines += 1;
        if self.lines < PIECE { String::new() } else { self.finish() }
    }

    /// Returns the collected lines.
    pub(super) fn finish(&mut self) -> String {
        self.lines = 0;
        let piece = std::mem::take(&mut self.piece);
        let mut shown = HighlightedCode { shown: String::new(), at_start: true, theme: self.theme };
        let mut end = 0;
        for (range, token) in highlight(&self.language, &piece) {
            shown.put(Style::Plain, piece.get(end..range.start).unwrap_or_default());
            shown.put(style(token), piece.get(range.clone()).unwrap_or_default());
            end = range.end;
        }
        shown.put(Style::Plain, piece.get(end..).unwrap_or_default());
        shown.shown
    }
}

/// Renders a complete code block.
pub(super) fn render_block(language: &str, code: &str, theme: &Theme) -> String {
    let mut block = Code::new(language, *theme);
    let mut shown: String = code.lines().map(|line| block.line(line)).collect();
    shown.push_str(&block.finish());
    shown
}

struct HighlightedCode {
    shown: String,
    at_start: bool,
    theme: Theme,
}

impl HighlightedCode {
    fn put(&mut self, style: Style, code: &str) {
        for (at, part) in code.split('\n').enumerate() {
            if at > 0 {
                self.shown.push('\n');
                self.at_start = true;
            }
            if !part.is_empty() && std::mem::take(&mut self.at_start) {
                self.shown.push_str(INDENT);
            }
            self.shown.push_str(&self.theme.paint(style, &text::line(part)));
        }
    }
}

const fn style(token: Token) -> Style {
    match token {
        Token::Keyword => Style::Keyword,
        Token::Type => Style::Type,
        Token::Function => Style::Function,
        Token::String => Style::Text,
        Token::Number => Style::Number,
        Token::Comment => Style::Comment,
        _ => Style::Plain,
    }
}
