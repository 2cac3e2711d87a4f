//! One key, or two in a row, as the user writes them: `ctrl+g`, `ctrl+x ctrl+e`.

use std::fmt;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A key with its modifiers, the same whatever protocol the terminal uses to report it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    code: KeyCode,
    modifiers: KeyModifiers,
}

/// One key, or two that are pressed one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chord {
    first: Key,
    second: Option<Key>,
}

/// Why a key cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyError {
    key: String,
    problem: &'static str,
}

/// Keys with a name. For a code with several names, the first one is shown.
const NAMES: [(&str, KeyCode); 23] = [
    ("enter", KeyCode::Enter),
    ("return", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("escape", KeyCode::Esc),
    ("tab", KeyCode::Tab),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("insert", KeyCode::Insert),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pageup", KeyCode::PageUp),
    ("pgup", KeyCode::PageUp),
    ("pagedown", KeyCode::PageDown),
    ("pgdn", KeyCode::PageDown),
    ("space", KeyCode::Char(' ')),
    ("plus", KeyCode::Char('+')),
    ("comma", KeyCode::Char(',')),
    ("minus", KeyCode::Char('-')),
    ("backslash", KeyCode::Char('\\')),
];

const MODIFIERS: [(&str, KeyModifiers); 6] = [
    ("ctrl", KeyModifiers::CONTROL),
    ("control", KeyModifiers::CONTROL),
    ("alt", KeyModifiers::ALT),
    ("meta", KeyModifiers::ALT),
    ("shift", KeyModifiers::SHIFT),
    ("super", KeyModifiers::SUPER),
];

impl Key {
    /// The key of an event. Terminals report Shift with a letter in several ways; they become one.
    pub fn of(event: &KeyEvent) -> Self {
        let kept = KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SHIFT | KeyModifiers::SUPER;
        Self::new(event.code, event.modifiers & kept)
    }

    fn new(code: KeyCode, mut modifiers: KeyModifiers) -> Self {
        let code = match code {
            KeyCode::BackTab => {
                modifiers |= KeyModifiers::SHIFT;
                KeyCode::Tab
            }
            // Terminals without the kitty protocol send one byte for Ctrl+_, Ctrl+/ and Ctrl+7.
            KeyCode::Char('7' | '/') if modifiers == KeyModifiers::CONTROL => KeyCode::Char('_'),
            KeyCode::Char('-') if modifiers == KeyModifiers::CONTROL | KeyModifiers::SHIFT => {
                modifiers = KeyModifiers::CONTROL;
                KeyCode::Char('_')
            }
            KeyCode::Char(letter) if modifiers.contains(KeyModifiers::CONTROL) => {
                if letter.is_ascii_uppercase() {
                    modifiers |= KeyModifiers::SHIFT;
                } else if !letter.is_ascii_lowercase() {
                    modifiers -= KeyModifiers::SHIFT;
                }
                KeyCode::Char(letter.to_ascii_lowercase())
            }
            KeyCode::Char(letter) if modifiers.contains(KeyModifiers::SHIFT) => {
                modifiers -= KeyModifiers::SHIFT;
                KeyCode::Char(letter.to_ascii_uppercase())
            }
            code => code,
        };
        Self { code, modifiers }
    }

    /// Reads a key such as `ctrl+shift+left`.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let wrong = |problem| KeyError { key: text.to_owned(), problem };
        let text_lower = text.to_lowercase();
        let (modifiers, name) = match text_lower.rsplit_once('+') {
            Some((modifiers, name)) => (modifiers, name),
            None => ("", text_lower.as_str()),
        };
        let mut flags = KeyModifiers::empty();
        for modifier in modifiers.split('+').filter(|_| !modifiers.is_empty()) {
            let known = MODIFIERS.iter().find(|(known, _)| *known == modifier);
            flags |= known.ok_or_else(|| wrong("unknown modifier"))?.1;
        }
        let named = NAMES.iter().find(|(known, _)| *known == name).map(|(_, code)| *code);
        let function = || name.strip_prefix('f')?.parse().ok().filter(|number| (1..=24).contains(number));
        let mut letters = name.chars();
        let code = match (letters.next(), letters.next()) {
            // Without Ctrl, the case of a letter matters, as it is typed.
            (Some(letter), None) if flags.contains(KeyModifiers::CONTROL) => Some(KeyCode::Char(letter)),
            (Some(_), None) => text.chars().next_back().map(KeyCode::Char),
            _ => named.or_else(|| function().map(KeyCode::F)),
        };
        Ok(Self::new(code.ok_or_else(|| wrong("unknown key"))?, flags))
    }
}

impl Chord {
    /// Reads one key or two, with a space between them.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let mut keys = text.split_whitespace();
        let wrong = |problem| KeyError { key: text.to_owned(), problem };
        let first = Key::parse(keys.next().ok_or_else(|| wrong("missing key"))?)?;
        let second = keys.next().map(Key::parse).transpose()?;
        if keys.next().is_some() {
            return Err(wrong("more than two keys"));
        }
        Ok(Self { first, second })
    }

    /// Reads keys with commas between them; `none` for no key at all.
    pub(super) fn parse_list(text: &str) -> Result<Vec<Self>, KeyError> {
        if text.trim().eq_ignore_ascii_case("none") {
            return Ok(Vec::new());
        }
        text.split(',').map(Self::parse).collect()
    }

    pub(super) fn is(&self, before: Option<Key>, key: Key) -> bool {
        match self.second {
            Some(second) => before == Some(self.first) && key == second,
            None => before.is_none() && key == self.first,
        }
    }

    pub(super) fn starts_with(&self, key: Key) -> bool {
        self.second.is_some() && self.first == key
    }
}

/// The event of a key such as `ctrl+g`.
#[cfg(test)]
pub(crate) fn event(text: &str) -> KeyEvent {
    let key = Key::parse(text).unwrap();
    KeyEvent::new(key.code, key.modifiers)
}

impl fmt::Display for Key {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = ["ctrl", "alt", "shift", "super"];
        for (name, flag) in MODIFIERS.iter().filter(|(name, _)| order.contains(name)) {
            if self.modifiers.contains(*flag) {
                write!(out, "{name}+")?;
            }
        }
        match (NAMES.iter().find(|(_, code)| *code == self.code), self.code) {
            (Some((name, _)), _) => out.write_str(name),
            (None, KeyCode::Char(letter)) => write!(out, "{letter}"),
            (None, KeyCode::F(number)) => write!(out, "f{number}"),
            (None, other) => write!(out, "{other}"),
        }
    }
}

impl fmt::Display for Chord {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.first)?;
        self.second.map_or(Ok(()), |second| write!(out, " {second}"))
    }
}

impl fmt::Display for KeyError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = lariat_terminal::text::line(self.key.trim());
        write!(out, "{} in `{shown}`; valid keys: a character, f1 to f24", self.problem)?;
        NAMES.iter().try_for_each(|(name, _)| write!(out, ", {name}"))?;
        write!(out, "; with ctrl+, alt+, shift+ or super+ before it; two keys with a space between them")
    }
}

impl std::error::Error for KeyError {}
