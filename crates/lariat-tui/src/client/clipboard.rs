//! Sequences for the terminal's clipboard and its notifications.

use lariat_terminal::text;

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Sets the clipboard (OSC 52). Works over SSH, because the terminal does it.
pub(super) fn copy(words: &str) -> String {
    format!("\u{1b}]52;c;{}\u{7}", base64(words.as_bytes()))
}

/// Shows a notification (OSC 9), and rings the bell for terminals that have none.
pub(super) fn notify(words: &str) -> String {
    format!("\u{1b}]9;{}\u{7}\u{7}", text::line(words))
}

/// Base64 with padding (RFC 4648).
fn base64(bytes: &[u8]) -> String {
    let mut encoded = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let letter = usize::try_from(bits >> (18 - 6 * at) & 63).unwrap_or_default();
            let letter = LETTERS.get(letter).copied().unwrap_or_default();
            encoded.push(if at <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::{base64, copy};

    #[test]
    fn encodes_as_the_standard_says() {
        let cases = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("foobar", "Zm9vYmFy"),
        ];
        for (text, encoded) in cases {
            assert_eq!(base64(text.as_bytes()), encoded, "{text}");
        }
        assert_eq!(base64(&[0xff, 0xfe, 0xfd]), "//79");
        assert_eq!(copy("foo"), "\u{1b}]52;c;Zm9v\u{7}");
    }
}
