//! Reads the size of an image from the start of its file.
//!
//! Supports PNG and JPEG. Decodes only as much base64 as needed. Returns no size for any other data.

use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{Engine as _, alphabet};

/// Base64 characters to read at most: enough for the metadata that cameras write before the size in a JPEG.
const HEAD_CHARACTERS: usize = 96 * 1024;
/// Base64 characters that contain the size of a PNG.
const PNG_CHARACTERS: usize = 32;
const PNG_MAGIC: &[u8] = b"\x89PNG\r\n\x1a\n";

/// Size in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ImageSize {
    pub(super) width: u32,
    pub(super) height: u32,
}

/// Returns the size of a base64 image.
pub(super) fn size(data: &str) -> Option<ImageSize> {
    let start = decode(data, PNG_CHARACTERS);
    if start.starts_with(PNG_MAGIC) {
        return png(&start);
    }
    if start.starts_with(&[0xff, 0xd8]) { jpeg(&decode(data, HEAD_CHARACTERS)) } else { None }
}

/// Width and height are the first fields of the first chunk.
fn png(head: &[u8]) -> Option<ImageSize> {
    let number = |at: usize| Some(u32::from_be_bytes(head.get(at..at + 4)?.try_into().ok()?));
    Some(ImageSize { width: number(16)?, height: number(20)? })
}

/// Skips segments until one that starts a frame: `FF Cn`, but not the tables C4, C8 and CC.
fn jpeg(head: &[u8]) -> Option<ImageSize> {
    let number = |at: usize| Some(u16::from_be_bytes(head.get(at..at + 2)?.try_into().ok()?));
    let mut at = 2;
    loop {
        let [marker, kind] = head.get(at..at + 2)? else { return None };
        if *marker != 0xff {
            return None;
        }
        match kind {
            0xff => at += 1,
            0xc0..=0xcf if !matches!(kind, 0xc4 | 0xc8 | 0xcc) => {
                let (height, width) = (number(at + 5)?, number(at + 7)?);
                return Some(ImageSize { width: width.into(), height: height.into() });
            }
            0xd9 | 0xda => return None,
            _ => at += 2 + usize::from(number(at + 2)?).max(2),
        }
    }
}

/// Accepts text that was cut anywhere.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Decodes at most `characters` characters of either alphabet, up to the first one that is not base64.
fn decode(data: &str, characters: usize) -> Vec<u8> {
    let standard = |character| match character {
        b'-' => b'+',
        b'_' => b'/',
        other => other,
    };
    let letters = data.bytes().take(characters).filter(|character| !matches!(character, b'\r' | b'\n'));
    let mut letters: Vec<u8> = letters
        .map(standard)
        .take_while(|letter| letter.is_ascii_alphanumeric() || matches!(letter, b'+' | b'/'))
        .collect();
    // A single character of a group holds less than a byte.
    if letters.len() % 4 == 1 {
        letters.pop();
    }
    LENIENT.decode(letters).unwrap_or_default()
}
