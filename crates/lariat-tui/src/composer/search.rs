//! Ctrl+R: searches the messages sent before, newest first, while the query is typed. The draft stays as it is until a
//! message is taken.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use unicode_segmentation::UnicodeSegmentation as _;

use super::buffer::{Cause, units};
use super::past::MessageRecall;
use super::{Composer, Outcome, restored, typed};
use crate::keymap::{Action, Scope};

/// The longest query, in characters.
const MAX_QUERY: usize = 200;

/// A search that is open.
#[derive(Debug, Default)]
pub(super) struct Search {
    query: String,
    /// The message that is shown.
    found: Option<usize>,
    /// Whether no further match exists.
    is_at_end: bool,
}

impl Search {
    pub(super) fn query(&self) -> &str {
        &self.query
    }

    pub(super) fn found<'a>(&self, past: &'a MessageRecall) -> Option<&'a str> {
        self.found.and_then(|at| past.get(at))
    }

    pub(super) fn has_failed(&self) -> bool {
        self.is_at_end && !self.query.is_empty()
    }

    pub(super) fn type_text(&mut self, text: &str, past: &MessageRecall) {
        let room = MAX_QUERY.saturating_sub(self.query.chars().count());
        self.query.extend(text.chars().take(room));
        let from = self.found.unwrap_or(past.len().saturating_sub(1));
        self.find((0..=from).rev(), past);
    }

    fn shorten(&mut self, past: &MessageRecall) {
        let end = self.query.grapheme_indices(true).next_back().map_or(0, |(at, _)| at);
        self.query.truncate(end);
        self.found = None;
        self.find((0..past.len()).rev(), past);
    }

    fn older(&mut self, past: &MessageRecall) {
        let from = self.found.unwrap_or(past.len());
        self.find((0..from).rev(), past);
    }

    fn newer(&mut self, past: &MessageRecall) {
        let from = self.found.map_or(0, |at| at + 1);
        self.find(from..past.len(), past);
    }

    /// Goes to the first of these messages that has the query; without one, stays where it is if that still matches.
    fn find(&mut self, mut places: impl Iterator<Item = usize>, past: &MessageRecall) {
        let query = self.query.to_lowercase();
        let has = |at: usize| past.get(at).is_some_and(|text| text.to_lowercase().contains(&query));
        let found = places.find(|at| has(*at));
        self.is_at_end = found.is_none();
        self.found = found.or(self.found.filter(|at| has(*at)));
    }
}

impl Composer {
    pub(super) fn start_search(&mut self) {
        self.completion.close();
        self.search = Some(Search::default());
    }

    /// Handles a key while a search is open.
    pub(super) fn search_key(&mut self, key: KeyEvent) -> Outcome {
        let Some(search) = &mut self.search else { return Outcome::Unused };
        let is_control = key.modifiers == KeyModifiers::CONTROL;
        let action = self.keymap.action(Scope::Composer, &key);
        match (key.code, action) {
            (KeyCode::Esc, _) => self.end_search(false),
            (KeyCode::Char('c' | 'g'), _) if is_control => self.end_search(false),
            (_, Some(Action::HistorySearch | Action::Up)) => search.older(&self.past),
            (_, Some(Action::Down)) => search.newer(&self.past),
            (KeyCode::Char('s'), _) if is_control => search.newer(&self.past),
            (KeyCode::Char('u'), _) if is_control => {
                let query = std::mem::take(search).query;
                self.kills.push_last(units(&query));
            }
            (KeyCode::Backspace, _) => search.shorten(&self.past),
            (KeyCode::Enter | KeyCode::Tab, _)
            | (_, Some(Action::Left | Action::Right | Action::LineStart | Action::LineEnd)) => {
                self.end_search(true);
            }
            _ => match typed(&key) {
                Some(letter) => search.type_text(letter.encode_utf8(&mut [0; 4]), &self.past),
                None => return Outcome::Unused,
            },
        }
        Outcome::Changed
    }

    /// Closes the search. The query stays in the kill ring: it may be a message typed into the wrong place.
    fn end_search(&mut self, takes_found: bool) {
        let Some(search) = self.search.take() else { return };
        self.kills.push_last(units(search.query()));
        if let Some(text) = search.found(&self.past).filter(|_| takes_found) {
            self.buffer.replace(0..self.buffer.len(), restored(text), Cause::Other);
        }
    }
}
