//! Sequences for the terminal's clipboard and its notifications.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lariat_terminal::text;

/// Sets the clipboard (OSC 52). Works over SSH, because the terminal does it.
pub(super) fn copy(words: &str) -> String {
    format!("\u{1b}]52;c;{}\u{7}", STANDARD.encode(words))
}

/// Shows a notification (OSC 9), and rings the bell for terminals that have none.
pub(super) fn notify(words: &str) -> String {
    format!("\u{1b}]9;{}\u{7}\u{7}", text::line(words))
}

#[cfg(test)]
mod tests {
    use super::copy;

    #[test]
    fn copies_as_the_sequence_says() {
        assert_eq!(copy("foo"), "\u{1b}]52;c;Zm9v\u{7}");
    }
}
