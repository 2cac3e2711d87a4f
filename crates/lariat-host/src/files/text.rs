//! Decodes and encodes text files and preserves their encoding, line endings and final newline.
//!
//! The model sees Unicode with lines that end in `\n`. Invariant: decoding and encoding unchanged text yields the same
//! bytes; after a change, every untouched line still has the same bytes.

use std::ops::Range;

/// A text file as a model sees it, together with what is needed to write it back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    text: String,
    encoding: Encoding,
    ends: LineEnds,
}

/// A character encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Encoding {
    /// Without a byte-order mark.
    Utf8,
    /// With a byte-order mark.
    Utf8Bom,
    /// Little-endian, with a byte-order mark.
    Utf16Le,
    /// Big-endian, with a byte-order mark.
    Utf16Be,
    /// One byte per character.
    Latin1,
}

/// Which line endings a text has.
#[derive(Clone, Debug, PartialEq, Eq)]
enum LineEnds {
    Lf,
    Crlf,
    /// For each line, whether it ends in `\r\n`.
    Mixed(Vec<bool>),
}

/// In text of unknown encoding, the maximum percentage of control characters.
const MAX_CONTROL_PERCENT: usize = 2;

impl Text {
    /// Decodes bytes as text; `None` if they are not text.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        Self::from_bytes(bytes.to_vec())
    }

    /// Like [`decode`](Self::decode), without copying plain UTF-8.
    pub fn from_bytes(bytes: Vec<u8>) -> Option<Self> {
        let (encoding, raw) = if let Some(rest) = bytes.strip_prefix(b"\xEF\xBB\xBF") {
            (Encoding::Utf8Bom, String::from_utf8(rest.to_vec()).ok()?)
        } else if let Some(rest) = bytes.strip_prefix(b"\xFF\xFE") {
            (Encoding::Utf16Le, utf16(rest, u16::from_le_bytes)?)
        } else if let Some(rest) = bytes.strip_prefix(b"\xFE\xFF") {
            (Encoding::Utf16Be, utf16(rest, u16::from_be_bytes)?)
        } else {
            match String::from_utf8(bytes) {
                Ok(text) => (Encoding::Utf8, text),
                Err(error) if is_mostly_printable(error.as_bytes()) => {
                    (Encoding::Latin1, error.as_bytes().iter().copied().map(char::from).collect())
                }
                Err(_) => return None,
            }
        };
        if raw.contains('\0') {
            return None;
        }
        let (text, ends) = split_ends(raw);
        Some(Self { text, encoding, ends })
    }

    /// Creates a new text: UTF-8, with the line endings that `text` has.
    pub fn new(text: impl Into<String>) -> Self {
        let (text, ends) = split_ends(text.into());
        Self { text, encoding: Encoding::Utf8, ends }
    }

    /// The text as a model sees it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The encoding of the file.
    pub const fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Whether most of its lines end in `\r\n`.
    pub fn is_crlf(&self) -> bool {
        match &self.ends {
            LineEnds::Lf => false,
            LineEnds::Crlf => true,
            LineEnds::Mixed(ends) => ends.iter().filter(|crlf| **crlf).count() * 2 > ends.len(),
        }
    }

    /// Describes encoding and line endings; `None` for plain UTF-8 with `\n`.
    pub fn form(&self) -> Option<String> {
        let ends = match &self.ends {
            LineEnds::Lf => None,
            LineEnds::Crlf => Some("CRLF line ends"),
            LineEnds::Mixed(_) => Some("mixed line ends"),
        };
        let encoding = (self.encoding != Encoding::Utf8).then(|| self.encoding.name());
        let words: Vec<_> = encoding.into_iter().chain(ends).collect();
        (!words.is_empty()).then(|| words.join(", "))
    }

    /// Replaces ranges and preserves the encoding and line endings. A new line gets the line ending of the replaced
    /// line, otherwise of the line before. The ranges refer to [`as_str`](Self::as_str), must be in order and must not
    /// overlap; ranges that violate this are skipped.
    #[must_use]
    pub fn replace_ranges(&self, changes: &[(Range<usize>, &str)]) -> Self {
        let mut text = String::with_capacity(self.text.len());
        let mut kept = Vec::new();
        let old = match &self.ends {
            LineEnds::Mixed(ends) => ends.as_slice(),
            _ => &[],
        };
        let mut ends = old.iter().copied();
        let mut done = 0;
        let count = |text: &str| text.bytes().filter(|byte| *byte == b'\n').count();
        for (range, new) in changes {
            let (Some(before), Some(gone)) = (self.text.get(done..range.start), self.text.get(range.clone()))
            else {
                continue;
            };
            let new = new.replace("\r\n", "\n");
            text.push_str(before);
            text.push_str(&new);
            if !old.is_empty() {
                kept.extend(ends.by_ref().take(count(before)));
                let mut replaced: Vec<bool> = ends.by_ref().take(count(gone)).collect();
                let last = replaced.last().or(kept.last()).copied().unwrap_or_else(|| self.is_crlf());
                replaced.resize(count(&new), last);
                kept.extend(replaced);
            }
            done = range.end;
        }
        text.push_str(self.text.get(done..).unwrap_or_default());
        kept.extend(ends);
        let ends = match &self.ends {
            LineEnds::Mixed(_) => LineEnds::Mixed(kept),
            ends => ends.clone(),
        };
        Self { text, encoding: self.encoding, ends }
    }

    /// Returns other text in the same encoding and with the same line endings; but if `text` has `\r\n`, keeps its
    /// endings.
    #[must_use]
    pub fn with_text(&self, text: &str) -> Self {
        if text.contains("\r\n") {
            return Self { encoding: self.encoding, ..Self::new(text) };
        }
        let ends = if self.is_crlf() { LineEnds::Crlf } else { LineEnds::Lf };
        Self { text: text.to_owned(), encoding: self.encoding, ends }
    }

    /// Encodes the text as the bytes of the file.
    ///
    /// # Errors
    /// The first character that the encoding cannot represent.
    pub fn encode(&self) -> Result<Vec<u8>, char> {
        let whole = self.with_ends();
        Ok(match self.encoding {
            Encoding::Utf8 => whole.into_bytes(),
            Encoding::Utf8Bom => [b"\xEF\xBB\xBF".as_slice(), whole.as_bytes()].concat(),
            Encoding::Utf16Le => {
                "\u{feff}".encode_utf16().chain(whole.encode_utf16()).flat_map(u16::to_le_bytes).collect()
            }
            Encoding::Utf16Be => {
                "\u{feff}".encode_utf16().chain(whole.encode_utf16()).flat_map(u16::to_be_bytes).collect()
            }
            Encoding::Latin1 => {
                let byte = |character: char| u8::try_from(u32::from(character)).map_err(|_| character);
                whole.chars().map(byte).collect::<Result<_, _>>()?
            }
        })
    }

    fn with_ends(&self) -> String {
        match &self.ends {
            LineEnds::Lf => self.text.clone(),
            LineEnds::Crlf => self.text.replace('\n', "\r\n"),
            LineEnds::Mixed(ends) => {
                let mut whole = String::with_capacity(self.text.len() + ends.len());
                let mut ends = ends.iter();
                for line in self.text.split_inclusive('\n') {
                    match line.strip_suffix('\n') {
                        Some(line) if ends.next() == Some(&true) => {
                            whole.push_str(line);
                            whole.push_str("\r\n");
                        }
                        _ => whole.push_str(line),
                    }
                }
                whole
            }
        }
    }
}

impl Encoding {
    /// The name for messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF-8",
            Self::Utf8Bom => "UTF-8 with a byte-order mark",
            Self::Utf16Le => "UTF-16 (little-endian)",
            Self::Utf16Be => "UTF-16 (big-endian)",
            Self::Latin1 => "Latin-1",
        }
    }
}

fn split_ends(raw: String) -> (String, LineEnds) {
    // Searching for one character is much faster than for two.
    if !raw.contains('\r') || !raw.contains("\r\n") {
        return (raw, LineEnds::Lf);
    }
    let ends: Vec<bool> = raw
        .split_inclusive('\n')
        .filter(|line| line.ends_with('\n'))
        .map(|line| line.ends_with("\r\n"))
        .collect();
    let text = raw.replace("\r\n", "\n");
    let ends = if ends.iter().all(|crlf| *crlf) { LineEnds::Crlf } else { LineEnds::Mixed(ends) };
    (text, ends)
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Option<String> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    char::decode_utf16(pairs.iter().map(|pair| unit(*pair))).collect::<Result<_, _>>().ok()
}

fn is_mostly_printable(bytes: &[u8]) -> bool {
    let control =
        bytes.iter().filter(|byte| byte.is_ascii_control() && !b"\t\n\r\x0C\x1B".contains(byte)).count();
    !bytes.contains(&0) && control * 100 <= bytes.len() * MAX_CONTROL_PERCENT
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
