//! Edits the line that the user types, key by key.

use lariat_core::display;

use super::keys::TypedKey;

/// Maximum bytes of a line; further input is dropped.
const LONGEST: usize = 256 * 1024;

/// The effect of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DraftEdit {
    /// The line changed. The text repeats the change on a terminal without live redraw.
    Changed(String),
    /// The user sent the line; the draft is empty again.
    Sent(String),
    /// The user queued the line for after the run; the draft is empty again.
    Queued(String),
    Nothing,
}

/// The line being typed.
#[derive(Clone, Debug, Default)]
pub(super) struct Draft {
    text: String,
}

impl Draft {
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.text.clear();
    }

    /// Applies a key.
    pub(super) fn edit(&mut self, key: &TypedKey) -> DraftEdit {
        match key {
            TypedKey::Char(letter) => self.add(letter.encode_utf8(&mut [0; 4])),
            TypedKey::Paste(text) => self.add(text),
            TypedKey::Enter => DraftEdit::Sent(std::mem::take(&mut self.text)),
            TypedKey::Queue => DraftEdit::Queued(std::mem::take(&mut self.text)),
            TypedKey::Erase => self.truncate_to(self.text.char_indices().next_back().map_or(0, |(at, _)| at)),
            TypedKey::EraseWord => {
                let words = self.text.trim_end();
                self.truncate_to(words.rfind(char::is_whitespace).map_or(0, |at| at + 1))
            }
            TypedKey::EraseLine | TypedKey::Escape => self.truncate_to(0),
            TypedKey::End | TypedKey::Other => DraftEdit::Nothing,
        }
    }

    fn add(&mut self, text: &str) -> DraftEdit {
        if self.text.len() + text.len() > LONGEST {
            return DraftEdit::Nothing;
        }
        self.text.push_str(text);
        DraftEdit::Changed(display::line(text).into_owned())
    }

    fn truncate_to(&mut self, end: usize) -> DraftEdit {
        let gone = display::line(self.text.get(end..).unwrap_or_default()).into_owned();
        if gone.is_empty() {
            return DraftEdit::Nothing;
        }
        self.text.truncate(end);
        // Erases with backspace, space, backspace, which works without redraw.
        DraftEdit::Changed("\u{8} \u{8}".repeat(lariat_terminal::text::width(&gone)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_edit_the_line_and_enter_sends_it() {
        let mut draft = Draft::default();
        for letter in "fix the tsts".chars() {
            draft.edit(&TypedKey::Char(letter));
        }
        assert_eq!(draft.edit(&TypedKey::EraseWord), DraftEdit::Changed("\u{8} \u{8}".repeat(4)));
        draft.edit(&TypedKey::Paste("tests\nplease".to_owned()));
        draft.edit(&TypedKey::Erase);
        assert_eq!(draft.edit(&TypedKey::Enter), DraftEdit::Sent("fix the tests\npleas".to_owned()));
        assert!(draft.is_empty());
        assert_eq!(draft.edit(&TypedKey::Erase), DraftEdit::Nothing);
    }

    #[test]
    fn control_characters_are_shown_neutralised() {
        assert_eq!(
            Draft::default().edit(&TypedKey::Char('\u{202e}')),
            DraftEdit::Changed("⟨U+202E⟩".to_owned())
        );
    }
}
