//! A terminal that is only written forwards, as a screen reader needs it.
//!
//! Finished rows are lines, and the row that the user types is the last line. Letters at its end are echoed and the
//! last one is deleted as a terminal does it; any other change prints the row again on the next line.

use super::row;
use crate::frame::Frame;

/// The line that the user types.
#[derive(Debug, Default)]
pub(super) struct Linear {
    /// What is on the line; empty if the cursor is in the first column.
    typed: String,
}

impl Linear {
    /// Appends what prints the frame to `bytes`: nothing if nothing changed.
    pub(super) fn draw(&mut self, finished: &[String], frame: &Frame, bytes: &mut String) {
        if !finished.is_empty() {
            self.end_line(bytes);
        }
        for line in finished {
            bytes.push_str(&row::fit(line, usize::MAX));
            bytes.push_str("\r\n");
        }
        let typed = frame.live.first().map(|row| row::fit(row, usize::MAX).into_owned()).unwrap_or_default();
        if let Some(more) = typed.strip_prefix(self.typed.as_str()) {
            bytes.push_str(more);
        } else if let Some(less) =
            self.typed.strip_prefix(typed.as_str()).filter(|less| is_last_key(&typed, less))
        {
            bytes.push_str(&"\u{8} \u{8}".repeat(row::width(less)));
        } else {
            self.end_line(bytes);
            bytes.push_str(&typed);
        }
        self.typed = typed;
    }

    /// Goes to the start of a line. The next frame prints the typed row again.
    pub(super) fn end_line(&mut self, bytes: &mut String) {
        if !self.typed.is_empty() {
            bytes.push_str("\r\n");
            self.typed.clear();
        }
    }
}

/// Whether a row lost its last letter only.
fn is_last_key(typed: &str, less: &str) -> bool {
    use unicode_segmentation::UnicodeSegmentation as _;
    !typed.is_empty() && less.graphemes(true).count() == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(finished: &[&str], typed: &str) -> (Vec<String>, Frame) {
        let live = if typed.is_empty() { Vec::new() } else { vec![typed.to_owned()] };
        (finished.iter().map(|row| (*row).to_owned()).collect(), Frame { live, ..Frame::default() })
    }

    fn write(steps: &[(&[&str], &str)]) -> String {
        let (mut linear, mut bytes) = (Linear::default(), String::new());
        for (finished, typed) in steps {
            let (finished, frame) = frame(finished, typed);
            linear.draw(&finished, &frame, &mut bytes);
        }
        bytes
    }

    #[test]
    fn echoes_what_is_typed_and_deletes_the_last_letter() {
        assert_eq!(write(&[(&[], "> a"), (&[], "> ab"), (&[], "> ab")]), "> ab");
        assert_eq!(write(&[(&[], "> ab"), (&[], "> a")]), "> ab\u{8} \u{8}");
        assert_eq!(write(&[(&[], "> a漢"), (&[], "> a")]), "> a漢\u{8} \u{8}\u{8} \u{8}");
    }

    #[test]
    fn prints_lines_above_what_is_typed() {
        assert_eq!(write(&[(&[], "> ab"), (&["one", "two"], "> ab")]), "> ab\r\none\r\ntwo\r\n> ab");
        assert_eq!(write(&[(&["one"], ""), (&["two"], "")]), "one\r\ntwo\r\n");
    }

    #[test]
    fn prints_another_row_on_the_next_line() {
        assert_eq!(write(&[(&[], "> ab"), (&[], "> cab")]), "> ab\r\n> cab");
        assert_eq!(write(&[(&[], "> y"), (&[], "")]), "> y\r\n");
    }

    #[test]
    fn never_moves_the_cursor() {
        let bytes = write(&[(&["a\u{1b}[2Jb\u{1b}[1A"], "> x"), (&["\u{1b}[1mbold\u{1b}[0m"], "> ")]);
        assert_eq!(bytes, "ab\r\n> x\r\n\u{1b}[1mbold\u{1b}[0m\r\n> ");
    }
}
