//! Which key does what: a table of actions with their default keys, and the user's changes to it.
//!
//! The same table matches keys and fills the help overlay, so that the help is never wrong. Keys of an open completion,
//! of a history search and of vim's normal mode are fixed and not part of the table.

mod actions;
mod chord;

use std::collections::BTreeMap;
use std::fmt;

use crossterm::event::KeyEvent;

pub use actions::{Action, ActionRow, Scope, actions};
#[cfg(test)]
pub(crate) use chord::event;
pub use chord::{Chord, Key, KeyError};

/// The keys of every action.
#[derive(Clone, Debug)]
pub struct Keymap {
    /// The chords of each row of [`actions()`], in its order.
    chords: Vec<Vec<Chord>>,
}

/// What a key means in a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyMeaning {
    /// The key, with the one before it if there was one, is bound to this action.
    Action(Action),
    /// The key starts a chord of two keys.
    Prefix(Key),
    /// The key is not bound.
    Unbound,
}

/// Why a setting of a key is not valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeymapError {
    /// No action has this name.
    UnknownAction {
        /// The name.
        name: String,
    },
    /// The keys of an action cannot be read.
    Key {
        /// The name of the action.
        name: String,
        /// Which key is wrong, and what would be valid.
        error: KeyError,
    },
    /// Two actions of a scope were given the same keys.
    Twice {
        /// The keys.
        chord: String,
        /// The names of the actions.
        names: [&'static str; 2],
    },
}

impl Default for Keymap {
    fn default() -> Self {
        let parse = |key: &&str| Chord::parse(key).ok();
        Self { chords: actions().iter().map(|row| row.keys.iter().filter_map(parse).collect()).collect() }
    }
}

impl Keymap {
    /// Creates the default keys with the user's changes: the name of an action to its keys, as in `"ctrl+g"`,
    /// `"ctrl+x ctrl+e, f4"` or `"none"`. A key that the user gives to an action is taken from others in its scope.
    pub fn with(changes: &BTreeMap<String, String>) -> Result<Self, KeymapError> {
        let mut keymap = Self::default();
        let mut given: Vec<(usize, Vec<Chord>)> = Vec::new();
        for (name, keys) in changes {
            let at = actions()
                .iter()
                .position(|row| row.name == name)
                .ok_or_else(|| KeymapError::UnknownAction { name: name.clone() })?;
            let chords =
                Chord::parse_list(keys).map_err(|error| KeymapError::Key { name: name.clone(), error })?;
            given.push((at, chords));
        }
        for (place, (at, chords)) in given.iter().enumerate() {
            let Some(row) = actions().get(*at) else { continue };
            for chord in chords {
                let other = given.iter().take(place).filter(|(_, others)| others.contains(chord));
                for other in other.filter_map(|(other, _)| actions().get(*other)) {
                    if other.scope == row.scope {
                        let names = [other.name, row.name];
                        return Err(KeymapError::Twice { chord: chord.to_string(), names });
                    }
                }
            }
        }
        for (at, chords) in given {
            let scope = actions().get(at).map(|row| row.scope);
            for (row, bound) in actions().iter().zip(&mut keymap.chords) {
                if Some(row.scope) == scope {
                    bound.retain(|chord| !chords.contains(chord));
                }
            }
            if let Some(bound) = keymap.chords.get_mut(at) {
                *bound = chords;
            }
        }
        Ok(keymap)
    }

    /// What a key means in a scope, after `before` if that was a [`KeyMeaning::Prefix`].
    pub fn meaning(&self, scope: Scope, before: Option<Key>, key: &KeyEvent) -> KeyMeaning {
        let key = Key::of(key);
        let rows = || actions().iter().zip(&self.chords).filter(move |(row, _)| row.scope == scope);
        let bound = |before: Option<Key>| {
            rows()
                .find(|(_, chords)| chords.iter().any(|chord| chord.is(before, key)))
                .map(|(row, _)| row.action)
        };
        if let Some(action) = before.and_then(|before| bound(Some(before))).or_else(|| bound(None)) {
            return KeyMeaning::Action(action);
        }
        let starts = rows().any(|(_, chords)| chords.iter().any(|chord| chord.starts_with(key)));
        if starts { KeyMeaning::Prefix(key) } else { KeyMeaning::Unbound }
    }

    /// The action of a key that needs no key before it.
    pub fn action(&self, scope: Scope, key: &KeyEvent) -> Option<Action> {
        match self.meaning(scope, None, key) {
            KeyMeaning::Action(action) => Some(action),
            KeyMeaning::Prefix(_) | KeyMeaning::Unbound => None,
        }
    }

    /// The keys of an action as the user writes them, the preferred one first.
    pub fn keys(&self, action: Action) -> Vec<String> {
        let row = actions().iter().position(|row| row.action == action);
        let chords = row.and_then(|row| self.chords.get(row));
        chords.map(|chords| chords.iter().map(Chord::to_string).collect()).unwrap_or_default()
    }

    /// The preferred key of an action, for hints on the screen. Empty if the user took it away.
    pub fn hint(&self, action: Action) -> String {
        self.keys(action).into_iter().next().unwrap_or_default()
    }
}

impl fmt::Display for KeymapError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownAction { name } => {
                let names: Vec<_> = actions().iter().map(|row| row.name).collect();
                write!(out, "unknown action `{name}`; valid actions: {}", names.join(", "))
            }
            Self::Key { name, error } => write!(out, "invalid key for `{name}`: {error}"),
            Self::Twice { chord, names: [one, other] } => {
                write!(out, "`{chord}` is set for both `{one}` and `{other}`")
            }
        }
    }
}

impl std::error::Error for KeymapError {}

#[cfg(test)]
mod tests;
