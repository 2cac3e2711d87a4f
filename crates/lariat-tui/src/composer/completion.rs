//! Completions of `/` commands, `@` files and `@` symbols at the caret.
//!
//! The word at the caret decides whether one is open. It never blocks typing: it takes only Up, Down, Tab, Enter and Esc,
//! and only while it has something to offer.

use crossterm::event::{KeyCode, KeyEvent};

use super::buffer::{Cause, Unit, text, units};
use super::{CommandHint, Composer, Outcome, Request, Suggestion};
use crate::fuzzy;
use crate::keymap::{Action, Scope};

/// How many items are kept.
const MAX_ITEMS: usize = 100;

/// What is offered, if anything.
#[derive(Debug, Default)]
pub(super) struct Completion {
    commands: Vec<CommandHint>,
    word: Option<Word>,
    items: Vec<CompletionItem>,
    selected: usize,
    /// The start of the word whose completion the user closed.
    dismissed: Option<usize>,
}

/// The word that is completed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Word {
    what: CompletionKind,
    /// Where its mark is, in units.
    start: usize,
    /// What is typed between the mark and the caret.
    query: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CompletionKind {
    Command,
    File,
}

/// Something to choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CompletionItem {
    /// What replaces the word, without its mark.
    pub(super) name: String,
    /// The arguments that follow it.
    pub(super) arguments: String,
    /// The description beside the name.
    pub(super) summary: String,
}

impl Completion {
    pub(super) fn set_commands(&mut self, commands: Vec<CommandHint>) {
        self.commands = commands;
    }

    pub(super) fn is_open(&self) -> bool {
        !self.items.is_empty()
    }

    pub(super) fn close(&mut self) {
        (self.word, self.dismissed) = (None, None);
        self.items.clear();
    }

    /// Closes it until the caret is in another word.
    pub(super) fn dismiss(&mut self, units: &[Unit], caret: usize) {
        self.close();
        self.dismissed = word(units, caret).map(|word| word.start);
    }

    /// The items, and which of them is selected.
    pub(super) fn items(&self) -> (&[CompletionItem], usize) {
        (&self.items, self.selected)
    }

    /// What stands before the items.
    pub(super) fn mark(&self) -> &'static str {
        match self.word {
            Some(Word { what: CompletionKind::Command, .. }) => "/",
            _ => "@",
        }
    }

    /// The command whose arguments are typed at the caret.
    pub(super) fn arguments_of(&self, units: &[Unit], caret: usize) -> Option<&CommandHint> {
        let name: Vec<Unit> = units.iter().take_while(|unit| !unit.is_space()).cloned().collect();
        let name = text(&name).strip_prefix('/').filter(|name| caret > name.len() + 1)?.to_owned();
        self.commands.iter().find(|command| command.name == name)
    }

    /// Looks at the word at the caret again. Returns what is needed to complete it.
    fn update(&mut self, units: &[Unit], caret: usize) -> Option<Request> {
        let word = word(units, caret);
        if self.dismissed != word.as_ref().map(|word| word.start) {
            self.dismissed = None;
        }
        let word = word.filter(|_| self.dismissed.is_none());
        if word == self.word {
            return None;
        }
        let kind_and_start = |word: &Option<Word>| word.as_ref().map(|word| (word.what, word.start));
        let is_same_word = kind_and_start(&word) == kind_and_start(&self.word);
        self.word = word;
        self.selected = 0;
        match &self.word {
            Some(Word { what: CompletionKind::Command, query, .. }) => {
                self.items = self.matching(query);
                None
            }
            Some(Word { what: CompletionKind::File, query, .. }) => {
                // What was found for the query before stays until the answer comes.
                if !is_same_word {
                    self.items.clear();
                }
                Some(Request::Files { query: query.clone() })
            }
            None => {
                self.items.clear();
                None
            }
        }
    }

    /// The commands for a query: those that begin with it, then those that match in another way.
    fn matching(&self, query: &str) -> Vec<CompletionItem> {
        let names: Vec<&str> = self.commands.iter().map(|command| command.name.as_str()).collect();
        let mut places: Vec<usize> = fuzzy::find(query, &names).iter().map(|found| found.at).collect();
        let rank = |at: &usize| match names.get(*at) {
            Some(name) if *name == query => 0,
            Some(name) if name.starts_with(query) => 1,
            _ => 2,
        };
        places.sort_by_key(rank);
        let commands = places.iter().filter_map(|at| self.commands.get(*at)).take(MAX_ITEMS);
        let offer = |hint: &CommandHint| {
            let CommandHint { name, arguments, summary } = hint.clone();
            CompletionItem { name, arguments, summary }
        };
        commands.map(offer).collect()
    }

    pub(super) fn completed(&mut self, request: &Request, items: Vec<Suggestion>) {
        let Request::Files { query } = request;
        let is_current = |word: &Word| word.what == CompletionKind::File && word.query == *query;
        if !self.word.as_ref().is_some_and(is_current) {
            return;
        }
        let chosen =
            self.items.get(self.selected).map(|item| item.name.clone()).filter(|_| self.selected > 0);
        let offer = |Suggestion { name, summary }| CompletionItem { name, arguments: String::new(), summary };
        self.items = items.into_iter().take(MAX_ITEMS).map(offer).collect();
        self.selected = self.items.iter().position(|item| Some(&item.name) == chosen.as_ref()).unwrap_or(0);
    }
}

/// The word at the caret that can be completed.
fn word(units: &[Unit], caret: usize) -> Option<Word> {
    let before = units.get(..caret)?;
    let is_end = |unit: &Unit| unit.is_space() || matches!(unit, Unit::Paste(_));
    let start = before.iter().rposition(is_end).map_or(0, |at| at + 1);
    let typed = text(before.get(start..)?);
    if start == 0 && typed.starts_with('/') {
        return Some(Word { what: CompletionKind::Command, start, query: typed.get(1..)?.to_owned() });
    }
    // `(@file` is a file, and `name@host` is not.
    let at = typed.find('@')?;
    let is_opening = |letter: char| "([{<\"'`!#".contains(letter);
    let opening = typed.get(..at)?;
    let mark = start + units_in(opening);
    opening.chars().all(is_opening).then(|| {
        Some(Word { what: CompletionKind::File, start: mark, query: typed.get(at + 1..)?.to_owned() })
    })?
}

fn units_in(text: &str) -> usize {
    units(text).len()
}

impl Composer {
    /// Looks for a completion after a change.
    pub(super) fn complete(&mut self) -> Outcome {
        let request = self.completion.update(self.buffer.units(), self.buffer.caret());
        request.map_or(Outcome::Changed, Outcome::Ask)
    }

    /// Handles a key if a completion is open and the key is for it.
    pub(super) fn completion_key(&mut self, key: KeyEvent) -> Option<Outcome> {
        if !self.completion.is_open() || self.prefix.is_some() {
            return None;
        }
        let last = self.completion.items.len() - 1;
        let selected = self.completion.selected;
        match (key.code, self.keymap.action(Scope::Composer, &key)) {
            (KeyCode::Esc, _) => self.completion.dismiss(self.buffer.units(), self.buffer.caret()),
            (_, Some(Action::Up)) => self.completion.selected = selected.checked_sub(1).unwrap_or(last),
            (_, Some(Action::Down)) => {
                self.completion.selected = if selected == last { 0 } else { selected + 1 };
            }
            (_, Some(Action::Complete)) => return Some(self.choose(false)),
            (_, Some(Action::Submit)) => return Some(self.choose(true)),
            _ => return None,
        }
        Some(Outcome::Changed)
    }

    /// Replaces the word by the selected item. With `submits`, sends a command that takes no arguments.
    fn choose(&mut self, submits: bool) -> Outcome {
        let item = self.completion.items.get(self.completion.selected).cloned();
        let (Some(word), Some(item)) = (self.completion.word.clone(), item) else { return Outcome::Unused };
        let caret = self.buffer.caret();
        let rest = self.buffer.part(caret..self.buffer.len());
        let end = caret + rest.iter().take_while(|unit| !unit.is_space()).count();
        let is_at_end = self.buffer.get(end).is_none();
        match word.what {
            CompletionKind::Command => {
                let is_typed = word.query == item.name && end == caret;
                let is_whole = is_at_end && (item.arguments.is_empty() || is_typed);
                let gap = if is_at_end && !(submits && is_whole) { " " } else { "" };
                if !(is_typed && submits) {
                    self.buffer.replace(0..end, units(&format!("/{}{gap}", item.name)), Cause::Other);
                }
                self.completion.close();
                if submits && is_whole {
                    let action = Action::Submit;
                    return self.act(action, super::LastKey::Other);
                }
                self.complete()
            }
            CompletionKind::File => {
                let is_folder = item.name.ends_with('/');
                let needs_quotes = item.name.contains(char::is_whitespace);
                let name =
                    if needs_quotes { format!("@\"{}\"", item.name) } else { format!("@{}", item.name) };
                let gap = if is_at_end && !is_folder { " " } else { "" };
                self.buffer.replace(word.start..end, units(&format!("{name}{gap}")), Cause::Other);
                self.completion.close();
                // A folder is not the end of the choice: its files come next.
                if is_folder && !needs_quotes { self.complete() } else { Outcome::Chose(item.name) }
            }
        }
    }
}

#[cfg(test)]
#[path = "completion_tests.rs"]
mod tests;
