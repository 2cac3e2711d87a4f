//! A text to page through, with search and copy: the transcript, a diff, the context, the cost.
//!
//! The rows are painted for the width of the terminal by the caller, who gives new ones when the width changes. What
//! is wider is cut.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use lariat_terminal::text;
use lariat_terminal::theme::{Style, Theme};
use unicode_segmentation::UnicodeSegmentation as _;

use super::{OverlayOutcome, painted};
use crate::frame::{Caret, Size};
use crate::keymap::{Action, Keymap, Scope};

/// The longest search, in characters.
const MAX_QUERY: usize = 200;

/// A text and the part of it that is on the screen.
#[derive(Debug)]
pub struct Pager {
    title: String,
    rows: Vec<String>,
    keymap: Keymap,
    top: usize,
    /// How many rows were on the screen.
    page: usize,
    /// The search that is typed, before Enter.
    typing: Option<String>,
    query: String,
    /// The rows with a match.
    matches: Vec<usize>,
}

impl Pager {
    /// Creates a pager at the start of these painted rows.
    pub fn new(title: impl Into<String>, rows: Vec<String>, keymap: Keymap) -> Self {
        let (query, matches) = (String::new(), Vec::new());
        Self { title: title.into(), rows, keymap, top: 0, page: 10, typing: None, query, matches }
    }

    /// Starts at the end, as for a transcript.
    #[must_use]
    pub fn at_end(mut self) -> Self {
        self.top = usize::MAX;
        self
    }

    /// Replaces the rows. Stays at the end if it was there.
    pub fn set_rows(&mut self, rows: Vec<String>) {
        let was_at_end = !self.rows.is_empty() && self.top >= self.last_top();
        self.rows = rows;
        self.search();
        self.top =
            if was_at_end && self.last_top() > 0 { self.last_top() } else { self.top.min(self.last_top()) };
    }

    /// All rows.
    pub fn all(&self) -> &[String] {
        &self.rows
    }

    fn last_top(&self) -> usize {
        self.rows.len().saturating_sub(self.page)
    }

    /// Handles a key.
    pub fn key(&mut self, key: KeyEvent) -> OverlayOutcome {
        if key.kind == KeyEventKind::Release {
            return OverlayOutcome::Unused;
        }
        if self.typing.is_some() {
            return self.search_key(key);
        }
        self.top = self.top.min(self.last_top());
        let half = (self.page / 2).max(1);
        let full = self.page.saturating_sub(1).max(1);
        let Some(action) = self.keymap.action(Scope::Pager, &key) else { return OverlayOutcome::Unused };
        self.top = match action {
            Action::PagerClose => return OverlayOutcome::Closed,
            Action::PagerCopy => return OverlayOutcome::Copy(self.text(self.top, self.page)),
            Action::PagerCopyAll => return OverlayOutcome::Copy(self.text(0, self.rows.len())),
            Action::PagerSearch => {
                self.typing = Some(String::new());
                self.top
            }
            Action::PagerNext => self.matches.iter().copied().find(|row| *row > self.top).unwrap_or(self.top),
            Action::PagerPrevious => {
                self.matches.iter().rev().copied().find(|row| *row < self.top).unwrap_or(self.top)
            }
            Action::PagerUp => self.top.saturating_sub(1),
            Action::PagerDown => self.top + 1,
            Action::PagerPageUp => self.top.saturating_sub(full),
            Action::PagerPageDown => self.top + full,
            Action::PagerHalfUp => self.top.saturating_sub(half),
            Action::PagerHalfDown => self.top + half,
            Action::PagerFirst => 0,
            Action::PagerLast => self.last_top(),
            _ => return OverlayOutcome::Unused,
        };
        self.top = self.top.min(self.last_top());
        OverlayOutcome::Changed
    }

    /// Adds the first line of a pasted text to the search.
    pub fn paste(&mut self, text: &str) {
        if let Some(typing) = &mut self.typing {
            typing.extend(text.lines().next().unwrap_or_default().chars().take(MAX_QUERY));
        }
    }

    fn search_key(&mut self, key: KeyEvent) -> OverlayOutcome {
        let Some(typing) = &mut self.typing else { return OverlayOutcome::Unused };
        let is_typed = key.modifiers.difference(KeyModifiers::SHIFT).is_empty();
        match key.code {
            KeyCode::Esc => self.typing = None,
            KeyCode::Char('c') if key.modifiers == KeyModifiers::CONTROL => self.typing = None,
            KeyCode::Char('u') if key.modifiers == KeyModifiers::CONTROL => typing.clear(),
            KeyCode::Backspace => match typing.grapheme_indices(true).next_back() {
                Some((end, _)) => typing.truncate(end),
                None => self.typing = None,
            },
            KeyCode::Char(letter) if is_typed && typing.chars().count() < MAX_QUERY => typing.push(letter),
            KeyCode::Enter => {
                self.query = self.typing.take().unwrap_or_default();
                self.search();
                let next = self.matches.iter().copied().find(|row| *row >= self.top);
                let found = next.or_else(|| self.matches.first().copied()).unwrap_or(self.top);
                self.top = found.min(self.last_top());
            }
            _ => return OverlayOutcome::Unused,
        }
        OverlayOutcome::Changed
    }

    fn search(&mut self) {
        let query = self.query.to_lowercase();
        let has = |row: &str| !query.is_empty() && painted::plain(row).to_lowercase().contains(&query);
        self.matches = (0..).zip(&self.rows).filter(|(_, row)| has(row)).map(|(at, _)| at).collect();
    }

    /// The text of some rows, without styles and without spaces at their ends.
    fn text(&self, from: usize, count: usize) -> String {
        let rows = self.rows.iter().skip(from).take(count);
        let mut text: Vec<_> = rows.map(|row| painted::plain(row).trim_end().to_owned()).collect();
        text.push(String::new());
        text.join("\n")
    }

    /// Renders it: the title, the rows, and a last row with the place or the search.
    pub fn rows(&mut self, theme: &Theme, size: Size) -> (Vec<String>, Option<Caret>) {
        self.page = size.rows.saturating_sub(2).max(1);
        self.top = self.top.min(self.last_top());
        let mut rows =
            vec![theme.paint(Style::Strong, &text::cut(&text::line(&self.title), size.columns, theme))];
        let body = self.rows.iter().skip(self.top).take(self.page);
        rows.extend(body.map(|row| self.shown(row, size.columns, theme)));
        rows.resize(self.page + 1, String::new());
        let mut caret = None;
        if let Some(typing) = &self.typing {
            let typed = format!("/{}", text::line(typing));
            let (start, _) = text::split(&typed, size.columns.saturating_sub(1));
            caret = Some(Caret { row: rows.len(), column: text::width(start) });
            rows.push(start.to_owned());
        } else {
            rows.push(theme.paint(Style::Dim, &text::cut(&self.place(theme), size.columns, theme)));
        }
        rows.truncate(size.rows);
        (rows, caret.filter(|caret| caret.row < size.rows))
    }

    fn place(&self, theme: &Theme) -> String {
        let dot = theme.mark(" · ", ", ");
        let end = (self.top + self.page).min(self.rows.len());
        let percent = if self.rows.is_empty() { 100 } else { end * 100 / self.rows.len() };
        let mut place = format!("{end}/{} {percent}%", self.rows.len());
        if !self.query.is_empty() {
            let before = self.matches.iter().filter(|row| **row <= self.top).count();
            let at = before.max(usize::from(!self.matches.is_empty()));
            place.push_str(&format!("{dot}match {at}/{}", self.matches.len()));
        }
        place.push_str(&format!("{dot}/ search{dot}n/N next{dot}y copy{dot}q close"));
        place
    }

    /// A row, with matches highlighted. A row with a match loses its own styles.
    fn shown(&self, row: &str, columns: usize, theme: &Theme) -> String {
        let query = self.query.to_lowercase();
        let plain = painted::plain(row);
        let lower = plain.to_lowercase();
        // Only where lowering keeps the places of bytes can a match be marked in the original.
        if query.is_empty() || lower.len() != plain.len() || !lower.contains(&query) {
            return painted::clip(row, columns);
        }
        let mut shown = String::new();
        let mut from = 0;
        for (at, found) in lower.match_indices(&query) {
            shown.push_str(plain.get(from..at).unwrap_or_default());
            let part = plain.get(at..at + found.len()).unwrap_or_default();
            shown.push_str(&theme.paint(Style::AddedWord, part));
            from = at + found.len();
        }
        shown.push_str(plain.get(from..).unwrap_or_default());
        painted::clip(&shown, columns)
    }
}

#[cfg(test)]
#[path = "pager_tests.rs"]
mod tests;
