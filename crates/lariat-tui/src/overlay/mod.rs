//! Pickers, pagers and help above the composer.
//!
//! Pure code: each has `key`, which returns an [`OverlayOutcome`], and `rows`, which renders it for a size. They work in
//! 40 columns and 10 rows. Untrusted text is neutralised here, except the rows of a pager, which are painted already.

mod confirm;
mod help;
mod pager;
mod painted;
mod picker;

use crossterm::event::KeyEvent;
use lariat_terminal::theme::Theme;

use crate::frame::{Caret, Size};

pub use confirm::Confirm;
pub use help::Help;
pub use pager::Pager;
pub use picker::{Item, Picker};

/// What an overlay made of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OverlayOutcome {
    /// The key has no meaning here; the application may use it.
    Unused,
    /// What is shown changed.
    Changed,
    /// The user closed the overlay without a choice.
    Closed,
    /// The user chose the item with this id, in a [`Picker`].
    Chosen(String),
    /// The user wants this text in the clipboard.
    Copy(String),
    /// The user agreed, in a [`Confirm`].
    Confirmed,
}

/// An overlay of any type.
#[derive(Debug)]
pub enum Overlay {
    /// A list to pick from.
    Picker(Picker),
    /// A text to page through.
    Pager(Pager),
    /// A question with a safe answer.
    Confirm(Confirm),
    /// Keys and commands.
    Help(Help),
}

impl Overlay {
    /// Handles a key.
    pub fn key(&mut self, key: KeyEvent) -> OverlayOutcome {
        match self {
            Self::Picker(picker) => picker.key(key),
            Self::Pager(pager) => pager.key(key),
            Self::Confirm(confirm) => confirm.key(key),
            Self::Help(help) => help.key(key),
        }
    }

    /// Handles pasted text: it is part of a filter or of a search.
    pub fn paste(&mut self, text: &str) {
        match self {
            Self::Picker(picker) => picker.paste(text),
            Self::Pager(pager) => pager.paste(text),
            Self::Help(help) => help.paste(text),
            Self::Confirm(_) => {}
        }
    }

    /// The whole text of a pager or of the help.
    pub fn text(&mut self, theme: &Theme) -> Vec<String> {
        match self {
            Self::Pager(pager) => pager.all().to_vec(),
            Self::Help(help) => help.all(theme),
            Self::Picker(_) | Self::Confirm(_) => Vec::new(),
        }
    }

    /// What a screen reader gets: rows that are read when they change, and the line that the user types.
    pub fn spoken(&mut self, theme: &Theme, size: Size) -> (Vec<String>, Option<String>) {
        match self {
            Self::Picker(picker) => picker.spoken(theme),
            Self::Confirm(confirm) => (confirm.rows(theme, size).0, None),
            Self::Pager(_) | Self::Help(_) => (self.text(theme), None),
        }
    }

    /// Renders it: at most `size.rows` rows of at most `size.columns` columns, with the caret.
    pub fn rows(&mut self, theme: &Theme, size: Size) -> (Vec<String>, Option<Caret>) {
        match self {
            Self::Picker(picker) => picker.rows(theme, size),
            Self::Pager(pager) => pager.rows(theme, size),
            Self::Confirm(confirm) => confirm.rows(theme, size),
            Self::Help(help) => help.rows(theme, size),
        }
    }
}
