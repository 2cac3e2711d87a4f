//! A list to pick from, with a filter and, in a wide terminal, a preview.
//!
//! Used for sessions, rewind targets, models, modes, checkpoints and the queue. Letters go to the filter; a key that has
//! no meaning here is [`OverlayOutcome::Unused`], so that the application can offer more for [`Picker::selected`].

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use lariat_terminal::text;
use lariat_terminal::theme::{Style, Theme};
use unicode_segmentation::UnicodeSegmentation as _;

use super::{OverlayOutcome, painted};
use crate::frame::{Caret, Size};
use crate::fuzzy;
use crate::keymap::{Action, Keymap, Scope};

/// From this width on, the preview is shown beside the list, in columns.
const MIN_PREVIEW: usize = 80;
/// The longest filter, in characters.
const MAX_FILTER: usize = 200;
/// Items deeper in a tree are not indented further.
const MAX_INDENT: usize = 8;

/// Something to pick. Its texts may be untrusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Item {
    /// What the application knows it by.
    pub id: String,
    /// What it is, in one line.
    pub label: String,
    /// More about it, less prominent.
    pub detail: String,
    /// What the preview shows; `None` if the application gets it only when it is wanted.
    pub preview: Option<String>,
    /// How many items it is below, in a list that is a tree. Shown while there is no filter.
    pub depth: usize,
}

/// A list with a selected item.
#[derive(Debug)]
pub struct Picker {
    title: String,
    /// More keys that the application offers, for the last row.
    hint: String,
    items: Vec<Item>,
    keymap: Keymap,
    filter: String,
    /// The items that match the filter, best first.
    matches: Vec<usize>,
    /// The selected one of `matches`.
    selected: usize,
    /// The first one of `matches` on the screen.
    top: usize,
    /// How many items were on the screen.
    page: usize,
}

impl Picker {
    /// Creates a list with the first item selected.
    pub fn new(title: impl Into<String>, items: Vec<Item>, keymap: Keymap) -> Self {
        let matches = (0..items.len()).collect();
        let (filter, hint) = (String::new(), String::new());
        Self { title: title.into(), hint, items, keymap, filter, matches, selected: 0, top: 0, page: 10 }
    }

    /// Adds a hint to the last row, such as `delete drop`, for keys that the application handles.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// Replaces the items, keeping the filter and, by its id, the selected item.
    pub fn set_items(&mut self, items: Vec<Item>) {
        let id = self.selected().map(|item| item.id.clone());
        self.items = items;
        self.filter();
        let place =
            self.matches.iter().position(|at| self.items.get(*at).map(|item| &item.id) == id.as_ref());
        self.selected = place.unwrap_or(0);
    }

    /// Selects the item with this id, if it is shown.
    pub fn select(&mut self, id: &str) {
        let is_it = |at: &usize| self.items.get(*at).is_some_and(|item| item.id == id);
        if let Some(place) = self.matches.iter().position(is_it) {
            self.selected = place;
        }
    }

    /// The selected item.
    pub fn selected(&self) -> Option<&Item> {
        self.matches.get(self.selected).and_then(|at| self.items.get(*at))
    }

    /// The id of the selected item if its preview is not there yet; the caller may call [`Picker::set_preview`].
    pub fn wanted_preview(&self) -> Option<&str> {
        self.selected().filter(|item| item.preview.is_none()).map(|item| item.id.as_str())
    }

    /// Gives the preview of an item.
    pub fn set_preview(&mut self, id: &str, preview: String) {
        if let Some(item) = self.items.iter_mut().find(|item| item.id == id) {
            item.preview = Some(preview);
        }
    }

    /// Handles a key.
    pub fn key(&mut self, key: KeyEvent) -> OverlayOutcome {
        if key.kind == KeyEventKind::Release {
            return OverlayOutcome::Unused;
        }
        let last = self.matches.len().saturating_sub(1);
        let typed = key.modifiers.difference(KeyModifiers::SHIFT).is_empty();
        match (self.keymap.action(Scope::Picker, &key), key.code) {
            (Some(Action::PickerClose), _) => return OverlayOutcome::Closed,
            (Some(Action::PickerChoose), _) => {
                let chosen = self.selected().map(|item| OverlayOutcome::Chosen(item.id.clone()));
                return chosen.unwrap_or(OverlayOutcome::Changed);
            }
            (Some(Action::PickerUp), _) => self.selected = self.selected.saturating_sub(1),
            (Some(Action::PickerDown), _) => self.selected = (self.selected + 1).min(last),
            (Some(Action::PickerPageUp), _) => self.selected = self.selected.saturating_sub(self.page),
            (Some(Action::PickerPageDown), _) => self.selected = (self.selected + self.page).min(last),
            (Some(Action::PickerFirst), _) => self.selected = 0,
            (Some(Action::PickerLast), _) => self.selected = last,
            (_, KeyCode::Char('u')) if key.modifiers == KeyModifiers::CONTROL => {
                self.set_filter(String::new())
            }
            (_, KeyCode::Backspace) if !self.filter.is_empty() => {
                let end = self.filter.grapheme_indices(true).next_back().map_or(0, |(at, _)| at);
                self.set_filter(self.filter.get(..end).unwrap_or_default().to_owned());
            }
            (_, KeyCode::Char(letter)) if typed => self.set_filter(format!("{}{letter}", self.filter)),
            _ => return OverlayOutcome::Unused,
        }
        OverlayOutcome::Changed
    }

    /// Adds the first line of a pasted text to the filter.
    pub fn paste(&mut self, text: &str) {
        let line = text.lines().next().unwrap_or_default();
        self.set_filter(format!("{}{line}", self.filter));
    }

    fn set_filter(&mut self, filter: String) {
        self.filter = filter.chars().take(MAX_FILTER).collect();
        self.filter();
        (self.selected, self.top) = (0, 0);
    }

    fn filter(&mut self) {
        let texts: Vec<String> =
            self.items.iter().map(|item| format!("{} {}", item.label, item.detail)).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        self.matches = fuzzy::find(&self.filter, &texts).iter().map(|found| found.at).collect();
    }

    /// Renders it with the caret in the filter.
    pub fn rows(&mut self, theme: &Theme, size: Size) -> (Vec<String>, Option<Caret>) {
        let body = size.rows.saturating_sub(3).max(1);
        self.page = body;
        self.top = self.top.min(self.selected).max((self.selected + 1).saturating_sub(body));
        self.top = self.top.min(self.matches.len().saturating_sub(body));
        let count = format!("{}/{}", self.matches.len(), self.items.len());
        let head = [(Style::Strong, text::line(&self.title)), (Style::Dim, format!("  {count}"))];
        let mut rows = vec![text::paint_pieces(&head, size.columns, theme)];

        let mark = theme.mark("› ", "> ");
        let filter = text::line(&self.filter);
        let room = size.columns.saturating_sub(text::width(mark) + 1);
        let shown = end_of(&filter, room);
        let column = text::width(mark) + text::width(shown);
        let caret = Caret { row: 1, column: column.min(size.columns.saturating_sub(1)) };
        let placeholder = text::cut("type to filter", room, theme);
        let shown = if filter.is_empty() { theme.paint(Style::Dim, &placeholder) } else { shown.to_owned() };
        rows.push(painted::clip(&format!("{}{shown}", theme.paint(Style::Strong, mark)), size.columns));

        let has_preview = size.columns >= MIN_PREVIEW && self.items.iter().any(|item| item.preview.is_some());
        let list = if has_preview { size.columns / 2 } else { size.columns };
        let preview = if has_preview { self.preview(size.columns - list - 3) } else { Vec::new() };
        let shown = body.min(self.matches.len().max(preview.len()).max(1));
        for at in 0..shown {
            let item = self.item_row(self.top + at, list, theme);
            if !has_preview {
                rows.push(item);
                continue;
            }
            let bar = theme.paint(Style::Dim, theme.mark(" │ ", " | "));
            let preview = preview.get(at).map(String::as_str).unwrap_or_default();
            rows.push(format!("{}{bar}{preview}", painted::fill(&item, list)));
        }
        let keys =
            theme.mark("↑↓ select · enter choose · esc close", "up/down select, enter choose, esc close");
        let hint = if self.hint.is_empty() {
            keys.to_owned()
        } else {
            format!("{}{}{keys}", text::line(&self.hint), theme.mark(" · ", ", "))
        };
        rows.push(theme.paint(Style::Dim, &text::cut(&hint, size.columns, theme)));
        rows.truncate(size.rows);
        (rows, (size.rows > 1).then_some(caret))
    }

    /// What a screen reader gets: the title with the keys, the selected item, and the filter that is typed.
    pub fn spoken(&self, theme: &Theme) -> (Vec<String>, Option<String>) {
        let keys = "up and down select, enter chooses, esc closes, letters filter";
        let mut rows = vec![format!("{}: {keys}", text::line(&self.title))];
        let place = format!(" ({} of {})", self.selected + 1, self.matches.len());
        let place = if self.matches.is_empty() { String::new() } else { place };
        rows.push(format!("{}{place}", self.item_row(self.selected, usize::MAX, theme)));
        let filter = text::line(&self.filter);
        (rows, (!filter.is_empty()).then(|| format!("filter: {filter}")))
    }

    fn item_row(&self, place: usize, columns: usize, theme: &Theme) -> String {
        let Some(item) = self.matches.get(place).and_then(|at| self.items.get(*at)) else {
            let is_first = place == 0 && self.matches.is_empty();
            let text = if is_first { "  nothing matches" } else { "" };
            return theme.paint(Style::Dim, &text::cut(text, columns, theme));
        };
        let is_selected = place == self.selected;
        let (mark, style) =
            if is_selected { (theme.mark("❯ ", "> "), Style::Strong) } else { ("  ", Style::Plain) };
        let mut pieces = vec![(style, mark.to_owned())];
        if item.depth > 0 && self.filter.is_empty() {
            let indent = "  ".repeat(item.depth.min(MAX_INDENT) - 1);
            pieces.push((Style::Dim, format!("{indent}{}", theme.mark("└ ", "- "))));
        }
        pieces.push((style, text::line(&item.label)));
        if !item.detail.is_empty() {
            pieces.push((Style::Dim, format!("  {}", text::line(&item.detail))));
        }
        text::paint_pieces(&pieces, columns, theme)
    }

    fn preview(&self, columns: usize) -> Vec<String> {
        let preview = self.selected().and_then(|item| item.preview.as_deref()).unwrap_or_default();
        text::lines(preview)
            .take(self.page)
            .flat_map(|line| text::wrap(&line, columns))
            .take(self.page)
            .collect()
    }
}

/// The end of a text that fits.
fn end_of(text: &str, most: usize) -> &str {
    let mut shown = text;
    while text::width(shown) > most {
        let first = shown.graphemes(true).next().map_or(shown.len(), str::len);
        shown = shown.get(first..).unwrap_or_default();
    }
    shown
}

#[cfg(test)]
#[path = "picker_tests.rs"]
mod tests;
