//! The draft of the next message: editing, history, completion.
//!
//! Pure code: completions are asked for as a [`Request`] and arrive by [`Composer::completed`]. Invariant: no key and no
//! paste loses text that was typed; what leaves the draft is in the history, in the kill ring or can be undone.

mod buffer;
mod completion;
mod editing;
mod kill_ring;
mod layout;
mod motion;
mod past;
mod render;
mod search;
mod vim;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use lariat_terminal::theme::Theme;

use crate::attachments;
use crate::frame::Caret;
use crate::keymap::{Key, KeyMeaning, Keymap, Scope};
use buffer::{Buffer, Cause, Unit};
use completion::Completion;
use kill_ring::{Joins, KillRing};
use past::MessageRecall;
use search::Search;
use vim::Vim;

/// A paste of more lines is shown as a block.
const MAX_PASTED_LINES: usize = 10;
/// A paste of more characters is shown as a block.
const MAX_PASTED_CHARACTERS: usize = 1_000;
/// A restored draft or a recalled message of more characters is shown as a block, so that each key stays fast.
const MAX_SHOWN_CHARACTERS: usize = 20_000;
/// The width before the first [`Composer::rows`], in columns.
const COLUMNS: usize = 80;

/// The draft and everything that edits it.
#[derive(Debug)]
pub struct Composer {
    buffer: Buffer,
    kills: KillRing,
    past: MessageRecall,
    search: Option<Search>,
    completion: Completion,
    vim: Option<Vim>,
    keymap: Keymap,
    /// The first key of a chord of two.
    prefix: Option<Key>,
    last: LastKey,
    /// The text of the last [`Outcome::Submit`], until it was sent.
    submitted: Option<String>,
    /// The columns of a row of text, without the prompt.
    width: usize,
    /// The first row of the draft on the screen.
    top: usize,
}

/// What the last key did, as far as the next one depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LastKey {
    /// Nothing that matters.
    #[default]
    Other,
    /// Cut text; the next cut joins it.
    Cut,
    /// Yanked the text cut so many cuts before the latest, into these units.
    Yank { back: usize, start: usize, end: usize },
    /// Moved up or down from this column.
    Vertical { column: usize },
}

/// What the composer made of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The key has no meaning here; the application may use it.
    Unused,
    /// The draft or the caret changed, or a completion opened.
    Changed,
    /// The draft may have changed, and the composer needs an answer to this; the caller calls [`Composer::completed`].
    Ask(Request),
    /// The draft changed: the user chose this path from the completion of files.
    Chose(String),
    /// The draft is to be sent as a message. It stays until [`Composer::sent`].
    Submit {
        /// The text, with pasted blocks in full.
        text: String,
        /// Whether it waits for the end of the run instead of steering it.
        queue: bool,
    },
    /// The draft is to be edited in `$EDITOR`: give [`Composer::draft`] to it and its result to [`Composer::set_draft`].
    OpenEditor,
    /// The image in the clipboard is to be saved to a file: give its path to [`Composer::mention`].
    PasteImage,
}

/// What a completion needs from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Files and symbols for what was typed after `@`.
    Files {
        /// What was typed.
        query: String,
    },
}

/// Something that a completion offers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suggestion {
    /// What replaces the word after its mark: a path, or a file and a line.
    pub name: String,
    /// What it is, in one line; empty for a file.
    pub summary: String,
}

impl From<String> for Suggestion {
    fn from(name: String) -> Self {
        Self { name, summary: String::new() }
    }
}

/// What the draft is, by its first character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A message to the model.
    Message,
    /// A command of the user's shell, after `!`.
    Shell,
    /// A note to memory, after `#`.
    Note,
    /// A command of the terminal UI, after `/`.
    Command,
}

/// A `/` command, for completion and help.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandHint {
    /// The name, without the slash.
    pub name: String,
    /// The arguments as the user would read them, such as `[name]`; empty if it takes none.
    pub arguments: String,
    /// What it does, in one line.
    pub summary: String,
}

/// The mode of vim keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VimMode {
    /// Letters are commands.
    Normal,
    /// Letters are text.
    Insert,
}

impl Composer {
    /// Creates an empty draft with the messages that were sent before, oldest first.
    pub fn new(history: Vec<String>) -> Self {
        Self {
            buffer: Buffer::default(),
            kills: KillRing::default(),
            past: MessageRecall::new(history),
            search: None,
            completion: Completion::default(),
            vim: None,
            keymap: Keymap::default(),
            prefix: None,
            last: LastKey::Other,
            submitted: None,
            width: COLUMNS,
            top: 0,
        }
    }

    /// Uses these keys instead of the default ones.
    pub fn set_keymap(&mut self, keymap: Keymap) {
        self.keymap = keymap;
    }

    /// Offers these commands after `/`.
    pub fn set_commands(&mut self, commands: Vec<CommandHint>) {
        self.completion.set_commands(commands);
    }

    /// Turns vim keys on, in insert mode, or off.
    pub fn set_vim(&mut self, on: bool) {
        self.vim = on.then(Vim::default);
    }

    /// The mode of vim keys, or `None` if they are off.
    pub fn vim_mode(&self) -> Option<VimMode> {
        self.vim.as_ref().map(Vim::mode)
    }

    /// Handles a key.
    pub fn key(&mut self, key: KeyEvent) -> Outcome {
        if key.kind == KeyEventKind::Release {
            return Outcome::Unused;
        }
        let last = std::mem::take(&mut self.last);
        if self.search.is_some() {
            return self.search_key(key);
        }
        if let Some(outcome) = self.completion_key(key) {
            return outcome;
        }
        let prefix = self.prefix.take();
        if prefix.is_none()
            && let Some(outcome) = self.vim_key(key)
        {
            return outcome;
        }
        let outcome = match self.keymap.meaning(Scope::Composer, prefix, &key) {
            KeyMeaning::Action(action) => self.act(action, last),
            KeyMeaning::Prefix(key) => {
                self.prefix = Some(key);
                Outcome::Changed
            }
            KeyMeaning::Unbound => match typed(&key) {
                Some(letter) => {
                    self.buffer.insert(buffer::units(letter.encode_utf8(&mut [0; 4])), Cause::Typed);
                    Outcome::Changed
                }
                None => Outcome::Unused,
            },
        };
        match outcome {
            Outcome::Changed => self.complete(),
            outcome => outcome,
        }
    }

    /// Inserts pasted text. A long one is shown as a block and sent in full; the path of an image becomes a mention. Line ends become `\n`, because terminals
    /// change them to `\r`.
    pub fn paste(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        if let Some(search) = &mut self.search {
            search.type_text(text.lines().next().unwrap_or_default(), &self.past);
            return;
        }
        (self.last, self.prefix) = (LastKey::Other, None);
        self.completion.close();
        if let Some(mention) = attachments::dropped(&text) {
            self.buffer.insert(buffer::units(&mention), Cause::Other);
            return;
        }
        let is_long =
            text.chars().nth(MAX_PASTED_CHARACTERS).is_some() || text.lines().count() > MAX_PASTED_LINES;
        let units = if is_long { vec![Unit::Paste(text.into())] } else { buffer::units(&text) };
        self.buffer.insert(units, Cause::Other);
    }

    /// Inserts a mention of a file at the caret.
    pub fn mention(&mut self, path: &str) {
        (self.last, self.prefix) = (LastKey::Other, None);
        self.completion.close();
        self.buffer.insert(buffer::units(&attachments::written(path)), Cause::Other);
    }

    /// Offers completions for a request, best first. Ignored if the user typed on in the meantime.
    pub fn completed(&mut self, request: &Request, items: Vec<Suggestion>) {
        self.completion.completed(request, items);
    }

    /// The text of the last [`Outcome::Submit`] was sent: it moves to the history. What was typed since then stays.
    pub fn sent(&mut self) {
        let text = self.submitted.take().unwrap_or_else(|| self.draft());
        let mut length = 0;
        let count = self.buffer.units().iter().take_while(|unit| {
            length += unit.text().len();
            length <= text.len()
        });
        let count = count.count();
        if buffer::text(self.buffer.part(0..count)) == text {
            let caret = self.buffer.caret().saturating_sub(count);
            self.buffer.replace(0..count, Vec::new(), Cause::Other);
            self.buffer.move_to(caret);
        }
        self.past.push(text);
        self.completion.close();
        if let Some(vim) = &mut self.vim {
            vim.insert();
        }
    }

    /// Clears the draft. It can be yanked and undone.
    pub fn clear(&mut self) {
        self.cut(0, self.buffer.len(), Joins::Nothing);
        (self.last, self.prefix, self.search) = (LastKey::Other, None, None);
        self.completion.close();
    }

    /// Whether the draft has no text at all.
    pub fn is_empty(&self) -> bool {
        self.buffer.len() == 0
    }

    /// Whether a completion or a search is open, which Esc closes.
    pub fn is_busy(&self) -> bool {
        self.search.is_some() || self.completion.is_open()
    }

    /// What the draft is. The application decides by this, not by the text, what a [`Outcome::Submit`] does: a pasted
    /// block is a message whatever it begins with.
    pub fn kind(&self) -> Kind {
        let Some(Unit::Grapheme(first)) = self.buffer.get(0) else { return Kind::Message };
        match first.as_ref() {
            "!" => Kind::Shell,
            "#" => Kind::Note,
            "/" => {
                // `/usr/bin` is a path, and `//` a comment.
                let name = self.buffer.units().iter().skip(1).take_while(|unit| !unit.is_space());
                let is_name = |unit: &Unit| matches!(unit, Unit::Grapheme(text) if text.as_ref() != "/");
                if name.into_iter().all(is_name) { Kind::Command } else { Kind::Message }
            }
            _ => Kind::Message,
        }
    }

    /// The draft in full, to keep it on disk.
    pub fn draft(&self) -> String {
        self.buffer.text()
    }

    /// Replaces the draft, as after `$EDITOR` or a restart. Can be undone.
    pub fn set_draft(&mut self, text: &str) {
        (self.last, self.prefix, self.search) = (LastKey::Other, None, None);
        self.completion.close();
        self.buffer.replace(0..self.buffer.len(), restored(text), Cause::Other);
    }

    /// Renders the draft, its prompt and an open completion for `theme.width` columns, at most `most` rows, with the
    /// caret. Keeps the width and the scroll position for the keys that follow.
    pub fn rows(&mut self, theme: &Theme, most: usize) -> (Vec<String>, Caret) {
        self.render(theme, most)
    }

    /// All text that can still be reached.
    #[cfg(test)]
    fn reachable(&self) -> String {
        let search = self.search.as_ref().map(|search| search.query().to_owned()).unwrap_or_default();
        self.buffer.reachable() + &self.kills.reachable() + &self.past.reachable() + &search
    }
}

/// The character that a key types.
fn typed(key: &KeyEvent) -> Option<char> {
    let KeyCode::Char(letter) = key.code else { return None };
    if !key.modifiers.difference(KeyModifiers::SHIFT).is_empty() {
        return None;
    }
    let is_shifted = key.modifiers.contains(KeyModifiers::SHIFT);
    // Some terminals report the letter on the key and Shift beside it.
    let mut upper = letter.to_uppercase();
    match (is_shifted, upper.next(), upper.next()) {
        (true, Some(upper), None) => Some(upper),
        _ => Some(letter),
    }
}

/// The units of a text that was typed or pasted before.
fn restored(text: &str) -> Vec<Unit> {
    let is_long = text.chars().nth(MAX_SHOWN_CHARACTERS).is_some();
    if is_long { vec![Unit::Paste(text.into())] } else { buffer::units(text) }
}

#[cfg(test)]
mod tests;
