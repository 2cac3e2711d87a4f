//! Reads the size of an image from the start of its file.
//!
//! Supports PNG and JPEG. Decodes only as much base64 as needed. Returns no size for any other data.

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

/// Decodes at most `characters` characters, up to the first one that is not base64.
fn decode(data: &str, characters: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(characters.min(data.len()) / 4 * 3);
    let (mut held, mut bits) = (0_u32, 0);
    for character in data.bytes().take(characters) {
        let value = match character {
            b'A'..=b'Z' => character - b'A',
            b'a'..=b'z' => character - b'a' + 26,
            b'0'..=b'9' => character - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'\r' | b'\n' => continue,
            _ => break,
        };
        held = (held << 6) | u32::from(value);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
        }
    }
    bytes
}
