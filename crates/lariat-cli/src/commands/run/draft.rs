//! Edits the line that the user types, key by key.

use lariat_core::display;

use super::keys::Key;

/// Maximum bytes of a line; further input is dropped.
const LONGEST: usize = 256 * 1024;

/// The effect of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Edit {
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
    pub(super) fn edit(&mut self, key: &Key) -> Edit {
        match key {
            Key::Char(letter) => self.add(letter.encode_utf8(&mut [0; 4])),
            Key::Paste(text) => self.add(text),
            Key::Enter => Edit::Sent(std::mem::take(&mut self.text)),
            Key::Queue => Edit::Queued(std::mem::take(&mut self.text)),
            Key::Erase => self.truncate_to(self.text.char_indices().next_back().map_or(0, |(at, _)| at)),
            Key::EraseWord => {
                let words = self.text.trim_end();
                self.truncate_to(words.rfind(char::is_whitespace).map_or(0, |at| at + 1))
            }
            Key::EraseLine | Key::Escape => self.truncate_to(0),
            Key::End | Key::Other => Edit::Nothing,
        }
    }

    fn add(&mut self, text: &str) -> Edit {
        if self.text.len() + text.len() > LONGEST {
            return Edit::Nothing;
        }
        self.text.push_str(text);
        Edit::Changed(display::line(text).into_owned())
    }

    fn truncate_to(&mut self, end: usize) -> Edit {
        let gone = display::line(self.text.get(end..).unwrap_or_default()).into_owned();
        if gone.is_empty() {
            return Edit::Nothing;
        }
        self.text.truncate(end);
        // Erases with backspace, space, backspace, which works without redraw.
        Edit::Changed("\u{8} \u{8}".repeat(lariat_terminal::text::width(&gone)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_edit_the_line_and_enter_sends_it() {
        let mut draft = Draft::default();
        for letter in "fix the tsts".chars() {
            draft.edit(&Key::Char(letter));
        }
        assert_eq!(draft.edit(&Key::EraseWord), Edit::Changed("\u{8} \u{8}".repeat(4)));
        draft.edit(&Key::Paste("tests\nplease".to_owned()));
        draft.edit(&Key::Erase);
        assert_eq!(draft.edit(&Key::Enter), Edit::Sent("fix the tests\npleas".to_owned()));
        assert!(draft.is_empty());
        assert_eq!(draft.edit(&Key::Erase), Edit::Nothing);
    }

    #[test]
    fn control_characters_are_shown_neutralised() {
        assert_eq!(Draft::default().edit(&Key::Char('\u{202e}')), Edit::Changed("⟨U+202E⟩".to_owned()));
    }
}
