//! Decodes the bytes from a terminal into keys: UTF-8, control characters, escape sequences, bracketed paste.
//!
//! Pure. Incomplete input at the end of a read waits for the next read. Pasted text is one [`TypedKey::Paste`], never single keys,
//! and at most [`PASTE`] bytes long.

/// Maximum bytes of a pasted text; the rest is dropped.
const PASTE: usize = 256 * 1024;
/// Maximum bytes of an escape sequence; a longer one is dropped.
const SEQUENCE: usize = 64;

const PASTE_START: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TypedKey {
    Char(char),
    Enter,
    /// Tab, or Alt+Enter.
    Queue,
    /// Backspace.
    Erase,
    /// Ctrl-W.
    EraseWord,
    /// Ctrl-U.
    EraseLine,
    /// Ctrl-D.
    End,
    Escape,
    /// A pasted text.
    Paste(String),
    /// A key without a function here.
    Other,
}

/// Decodes keys; keeps incomplete input between reads.
#[derive(Debug, Default)]
pub(super) struct KeyDecoder {
    pending: Vec<u8>,
    paste: Option<Vec<u8>>,
}

impl KeyDecoder {
    /// Adds bytes and returns the keys that are complete.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Vec<TypedKey> {
        self.pending.extend_from_slice(bytes);
        let pending = std::mem::take(&mut self.pending);
        let mut keys = Vec::new();
        let mut rest = pending.as_slice();
        while !rest.is_empty() {
            let taken = match self.paste.is_some() {
                true => self.take_paste(rest, &mut keys),
                false => self.key(rest, &mut keys),
            };
            match rest.get(taken..).filter(|_| taken > 0) {
                Some(after) => rest = after,
                None => break,
            }
        }
        self.pending = rest.to_vec();
        keys
    }

    /// Reads one key. Returns its length, or 0 if it is incomplete.
    fn key(&mut self, bytes: &[u8], keys: &mut Vec<TypedKey>) -> usize {
        let Some(first) = bytes.first() else { return 0 };
        let key = match first {
            b'\r' | b'\n' => TypedKey::Enter,
            b'\t' => TypedKey::Queue,
            0x7f | 0x08 => TypedKey::Erase,
            0x17 => TypedKey::EraseWord,
            0x15 => TypedKey::EraseLine,
            0x04 => TypedKey::End,
            0x1b => return self.sequence(bytes, keys),
            0x00..=0x1f => TypedKey::Other,
            _ => return character(bytes, keys),
        };
        keys.push(key);
        1
    }

    fn sequence(&mut self, bytes: &[u8], keys: &mut Vec<TypedKey>) -> usize {
        if bytes.starts_with(PASTE_START) {
            self.paste = Some(Vec::new());
            return PASTE_START.len();
        }
        let length = match bytes.get(1) {
            // A terminal sends a sequence in one piece, so this is the Escape key.
            None | Some(0x1b) => {
                keys.push(TypedKey::Escape);
                return 1;
            }
            Some(b'\r' | b'\n') => {
                keys.push(TypedKey::Queue);
                return 2;
            }
            Some(b'[') => match bytes.iter().skip(2).position(|byte| (0x40..=0x7e).contains(byte)) {
                Some(at) => at + 3,
                None if bytes.len() < SEQUENCE => return 0,
                None => bytes.len(),
            },
            Some(b'O') => 3.min(bytes.len()),
            Some(_) => 2,
        };
        keys.push(TypedKey::Other);
        length
    }

    /// Reads pasted text. Returns the number of bytes consumed.
    fn take_paste(&mut self, bytes: &[u8], keys: &mut Vec<TypedKey>) -> usize {
        let Some(paste) = &mut self.paste else { return 0 };
        let end = bytes.windows(PASTE_END.len()).position(|window| window == PASTE_END);
        // The last bytes may be the start of the end marker.
        let safe = end.unwrap_or(bytes.len().saturating_sub(PASTE_END.len() - 1));
        let room = PASTE.saturating_sub(paste.len());
        paste.extend(bytes.iter().take(safe.min(room)));
        if end.is_none() {
            return safe;
        }
        let paste = self.paste.take().unwrap_or_default();
        let text = String::from_utf8_lossy(&paste).replace("\r\n", "\n").replace('\r', "\n");
        keys.push(TypedKey::Paste(text));
        safe + PASTE_END.len()
    }
}

/// Reads a UTF-8 character. Invalid bytes become [`TypedKey::Other`].
fn character(bytes: &[u8], keys: &mut Vec<TypedKey>) -> usize {
    let length = match bytes.first() {
        Some(0x00..=0x7f) => 1,
        Some(0xc2..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf4) => 4,
        _ => {
            keys.push(TypedKey::Other);
            return 1;
        }
    };
    let Some(text) = bytes.get(..length) else { return 0 };
    match std::str::from_utf8(text).ok().and_then(|text| text.chars().next()) {
        Some(letter) => {
            keys.push(TypedKey::Char(letter));
            length
        }
        None => {
            keys.push(TypedKey::Other);
            1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(reads: &[&[u8]]) -> Vec<TypedKey> {
        let mut decoder = KeyDecoder::default();
        reads.iter().flat_map(|read| decoder.take(read)).collect()
    }

    #[test]
    fn decodes_letters_and_control_keys() {
        let expected = [
            TypedKey::Char('y'),
            TypedKey::Enter,
            TypedKey::Erase,
            TypedKey::EraseLine,
            TypedKey::EraseWord,
            TypedKey::End,
        ];
        assert_eq!(keys(&[b"y\r\x7f\x15\x17\x04"]), expected);
        assert_eq!(keys(&[b"\x1b[A", b"\x1bOP", b"\x1b", b"\x01"])[..], {
            [TypedKey::Other, TypedKey::Other, TypedKey::Escape, TypedKey::Other]
        });
    }

    #[test]
    fn decodes_tab_and_alt_enter_as_queue_key() {
        assert_eq!(
            keys(&[b"\t", b"\x1b\r", b"\x1b\n", b"\r"]),
            [TypedKey::Queue, TypedKey::Queue, TypedKey::Queue, TypedKey::Enter]
        );
    }

    #[test]
    fn decodes_letter_split_between_reads() {
        let euro = "€".as_bytes();
        assert_eq!(keys(&[&euro[..1], &euro[1..2], &euro[2..]]), [TypedKey::Char('€')]);
        assert_eq!(keys(&[b"\xff"]), [TypedKey::Other]);
    }

    #[test]
    fn decodes_paste_split_between_reads_as_one_key() {
        let sent = b"a\x1b[200~touch x\rls\x1b[201~b";
        let expected = [TypedKey::Char('a'), TypedKey::Paste("touch x\nls".to_owned()), TypedKey::Char('b')];
        assert_eq!(keys(&[sent]), expected);
        for at in 8..sent.len() {
            assert_eq!(keys(&[&sent[..at], &sent[at..]]), expected, "cut at {at}");
        }
    }

    #[test]
    fn limits_pasted_text() {
        let sent = [PASTE_START, &vec![b'x'; PASTE + 100], PASTE_END].concat();
        assert!(matches!(&keys(&[&sent])[..], [TypedKey::Paste(text)] if text.len() == PASTE));
    }
}
