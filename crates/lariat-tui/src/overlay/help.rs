//! The help: every key and every `/` command, from the tables that match them.

use crossterm::event::KeyEvent;
use lariat_terminal::text;
use lariat_terminal::theme::{Style, Theme};

use super::{OverlayOutcome, Pager};
use crate::composer::CommandHint;
use crate::frame::{Caret, Size};
use crate::keymap::{Keymap, Scope, actions};

/// The widest column of keys or commands.
const MAX_LEFT: usize = 30;

/// Characters with a meaning in a draft.
const PREFIXES: [(&str, &str); 4] = [
    ("/", "At the start: run a command of the list below"),
    ("@", "Mention a file"),
    ("!", "At the start: run a shell command and add its output to the conversation"),
    ("#", "At the start: record a learning"),
];

/// The help overlay.
#[derive(Debug)]
pub struct Help {
    keymap: Keymap,
    commands: Vec<CommandHint>,
    pager: Pager,
    columns: usize,
}

impl Help {
    /// Creates the help for these keys and commands.
    pub fn new(keymap: Keymap, commands: Vec<CommandHint>) -> Self {
        let pager = Pager::new("Help", Vec::new(), keymap.clone());
        Self { keymap, commands, pager, columns: 0 }
    }

    /// Handles a key, as a pager does.
    pub fn key(&mut self, key: KeyEvent) -> OverlayOutcome {
        self.pager.key(key)
    }

    /// Adds pasted text to a search.
    pub fn paste(&mut self, text: &str) {
        self.pager.paste(text);
    }

    /// Renders it.
    pub fn rows(&mut self, theme: &Theme, size: Size) -> (Vec<String>, Option<Caret>) {
        if self.columns != size.columns {
            self.columns = size.columns;
            let rows = self.lines(theme);
            self.pager.set_rows(rows);
        }
        self.pager.rows(theme, size)
    }

    /// All rows.
    pub fn all(&mut self, theme: &Theme) -> Vec<String> {
        self.columns = theme.width;
        self.lines(theme)
    }

    fn lines(&self, theme: &Theme) -> Vec<String> {
        let mut lines = Vec::new();
        let own = |text: &str| text.to_owned();
        let prefixes = PREFIXES.map(|(prefix, meaning)| (own(prefix), own(meaning)));
        self.section("In a message", &prefixes, theme, &mut lines);
        let scopes = [
            ("Session", Scope::Session),
            ("Message", Scope::Composer),
            ("Lists", Scope::Picker),
            ("Pager", Scope::Pager),
        ];
        for (title, scope) in scopes {
            let rows = actions().iter().filter(|row| row.scope == scope);
            let rows = rows.map(|row| (self.keymap.keys(row.action).join(", "), own(row.description)));
            let rows: Vec<_> = rows.filter(|(keys, _)| !keys.is_empty()).collect();
            self.section(title, &rows, theme, &mut lines);
        }
        let command = |hint: &CommandHint| {
            let name = format!("/{} {}", hint.name, hint.arguments);
            (text::line(name.trim_end()), text::line(&hint.summary))
        };
        let commands: Vec<_> = self.commands.iter().map(command).collect();
        if !commands.is_empty() {
            self.section("Commands", &commands, theme, &mut lines);
        }
        lines
    }

    fn section(&self, title: &str, rows: &[(String, String)], theme: &Theme, lines: &mut Vec<String>) {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.push(theme.paint(Style::Heading, title));
        let widest = rows.iter().map(|(left, _)| text::width(left)).max().unwrap_or(0);
        let left_columns = widest.min(MAX_LEFT).min(self.columns.saturating_sub(4) / 2);
        let right_columns = self.columns.saturating_sub(left_columns + 4).max(1);
        for (left, right) in rows {
            let lefts = text::wrap(left, left_columns);
            let rights = text::wrap(right, right_columns);
            for at in 0..lefts.len().max(rights.len()) {
                let left = lefts.get(at).map(String::as_str).unwrap_or_default();
                let right = rights.get(at).map(String::as_str).unwrap_or_default();
                let gap = " ".repeat(left_columns.saturating_sub(text::width(left)) + 2);
                lines.push(format!("  {}{gap}{right}", theme.paint(Style::Code, left)).trim_end().to_owned());
            }
        }
    }
}

#[cfg(test)]
#[path = "help_tests.rs"]
mod tests;
