//! Computes how much a document unpacks to, before anything is unpacked into memory.
//!
//! Checks every position that could begin a stream, whatever the document's tables say, and unpacks it only to count
//! the bytes. Rejects what cannot be counted (packed twice, filters defined elsewhere), and encrypted documents, whose
//! streams cannot be checked.

use std::sync::atomic::{AtomicBool, Ordering};

use flate2::{Decompress, FlushDecompress, Status};
use memchr::memmem;

use super::PdfError;

/// Maximum unpacked size of one stream in bytes.
const STREAM: u64 = 64_000_000;
/// Maximum unpacked size of all streams in bytes.
pub(super) const TOTAL: u64 = 512_000_000;
/// Maximum packed size of a stream that cannot be counted: LZW expands at most 2,600 times, in practice less than 5.
const UNCOUNTED: usize = 256 * 1024;
/// Number of bytes before a stream that are searched for its dictionary.
const DICTIONARY: usize = 16 * 1024;

/// Checks a document.
pub(super) fn check(bytes: &[u8], stop: &AtomicBool) -> Result<(), PdfError> {
    if names(bytes).any(|name| name == b"Encrypt") {
        return Err(PdfError::Encrypted);
    }
    let mut total = 0;
    for at in memmem::find_iter(bytes, b"stream") {
        if stop.load(Ordering::Relaxed) {
            return Err(PdfError::Late);
        }
        let before = bytes.get(at.saturating_sub(DICTIONARY)..at).unwrap_or_default();
        if before.ends_with(b"end") {
            continue;
        }
        let object = memmem::rfind(before, b"obj").unwrap_or(0);
        let body = bytes.get(at + b"stream".len()..).unwrap_or_default();
        total += size(before.get(object..).unwrap_or(before), skip_line_end(body))?;
        if total > TOTAL {
            return Err(PdfError::TooHeavy);
        }
    }
    Ok(())
}

/// The unpacked size of a stream; 0 if it is not packed.
fn size(dictionary: &[u8], body: &[u8]) -> Result<u64, PdfError> {
    let names: Vec<Vec<u8>> = names(dictionary).collect();
    let has = |long: &[u8], short: &[u8]| names.iter().filter(|name| *name == long || *name == short).count();
    let (flate, lzw) = (has(b"FlateDecode", b"Fl"), has(b"LZWDecode", b"LZW"));
    let run = has(b"RunLengthDecode", b"RL");
    if flate + lzw + run > 1 || filters_are_elsewhere(dictionary) {
        return Err(PdfError::TooHeavy);
    }
    if lzw + run > 0 {
        let end = memmem::find(body, b"endstream").unwrap_or(body.len());
        return if end > UNCOUNTED { Err(PdfError::TooHeavy) } else { Ok(end as u64) };
    }
    let decoded = match (has(b"ASCII85Decode", b"A85"), has(b"ASCIIHexDecode", b"AHx")) {
        (0, 0) => None,
        (1, 0) => Some(ascii85(body)),
        (0, 1) => Some(hexadecimal(body)),
        _ => return Err(PdfError::TooHeavy),
    };
    let packed = decoded.as_deref().unwrap_or(body);
    let zlib = inflated_size(packed, Header::Zlib)?;
    if zlib > 0 || flate == 0 { Ok(zlib) } else { inflated_size(packed, Header::None) }
}

/// Whether the filters are a separate object: `/Filter 7 0 R`.
fn filters_are_elsewhere(dictionary: &[u8]) -> bool {
    memmem::find_iter(dictionary, b"Filter").any(|at| {
        let rest = dictionary.get(at + b"Filter".len()..).unwrap_or_default();
        let rest = rest.trim_ascii_start();
        let rest = rest.strip_prefix(b"[").unwrap_or(rest).trim_ascii_start();
        rest.first().is_some_and(u8::is_ascii_digit)
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Header {
    Zlib,
    None,
}

/// The unpacked size up to where the packed data ends or is damaged.
fn inflated_size(packed: &[u8], header: Header) -> Result<u64, PdfError> {
    let mut room = [0; 16 * 1024];
    let mut unpacking = Decompress::new(header == Header::Zlib);
    loop {
        let (fed, made) = (unpacking.total_in(), unpacking.total_out());
        let rest = packed.get(usize::try_from(fed).unwrap_or(usize::MAX)..).unwrap_or_default();
        let status = unpacking.decompress(rest, &mut room, FlushDecompress::None);
        if unpacking.total_out() > STREAM {
            return Err(PdfError::TooHeavy);
        }
        let stuck = (fed, made) == (unpacking.total_in(), unpacking.total_out());
        if stuck || !matches!(status, Ok(Status::Ok | Status::BufError)) {
            return Ok(unpacking.total_out());
        }
    }
}

fn skip_line_end(body: &[u8]) -> &[u8] {
    let body = body.strip_prefix(b"\r").unwrap_or(body);
    body.strip_prefix(b"\n").unwrap_or(body)
}

/// Decodes Base 85 up to its end mark or the first invalid character.
fn ascii85(text: &[u8]) -> Vec<u8> {
    let (mut bytes, mut group, mut count) = (Vec::new(), 0_u64, 0);
    for byte in text.iter().filter(|byte| !byte.is_ascii_whitespace() && **byte != 0) {
        match byte {
            b'z' if count == 0 => bytes.extend([0; 4]),
            b'!'..=b'u' => {
                group = group * 85 + u64::from(byte - b'!');
                count += 1;
            }
            _ => break,
        }
        if count == 5 {
            bytes.extend_from_slice(group.to_be_bytes().get(4..).unwrap_or_default());
            (group, count) = (0, 0);
        }
    }
    if count > 1 {
        let full = (count..5).fold(group, |group, _| group * 85 + 84);
        bytes.extend_from_slice(full.to_be_bytes().get(4..3 + count).unwrap_or_default());
    }
    bytes
}

/// Decodes hexadecimal digits up to the end mark or the first invalid character.
fn hexadecimal(text: &[u8]) -> Vec<u8> {
    let digits = text.iter().filter(|byte| !byte.is_ascii_whitespace() && **byte != 0);
    let digits: Vec<u8> =
        digits.map_while(|byte| char::from(*byte).to_digit(16)).map(|digit| digit as u8).collect();
    digits
        .chunks(2)
        .map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit) << (8 - 4 * pair.len()))
        .collect()
}

/// The names in a part of a document, without slashes and with escapes decoded.
fn names(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    const LONGEST: usize = 64;
    memchr::memchr_iter(b'/', bytes).map(|at| {
        let rest = bytes.get(at + 1..).unwrap_or_default();
        let raw = rest.iter().take(LONGEST).take_while(|byte| !is_end_of_name(**byte));
        let mut name = Vec::new();
        let mut raw = raw.copied();
        while let Some(byte) = raw.next() {
            name.push(if byte == b'#' {
                let mut digit =
                    || raw.next().and_then(|byte| char::from(byte).to_digit(16)).unwrap_or_default();
                (digit() << 4 | digit()) as u8
            } else {
                byte
            });
        }
        name
    })
}

const fn is_end_of_name(byte: u8) -> bool {
    matches!(
        byte,
        0 | b'\t'
            | b'\n'
            | 0x0C
            | b'\r'
            | b' '
            | b'('
            | b')'
            | b'<'
            | b'>'
            | b'['
            | b']'
            | b'{'
            | b'}'
            | b'/'
            | b'%'
    )
}
