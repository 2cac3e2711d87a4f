//! Encodes and parses messages of `application/vnd.amazon.eventstream`.
//!
//! Layout, all numbers big-endian: total length u32, length of the headers u32, CRC of those 8 bytes u32,
//! headers, payload, CRC of everything before u32. A header is a name (u8 length), a type byte (7 = string)
//! and a value (u16 length).
//! Invariant: `parse` reads what `message` writes, and detects a flipped bit anywhere.

use crate::server::crc32::crc32;

/// Bytes before the headers: two lengths and their checksum.
const PRELUDE: usize = 12;
/// The checksum at the end, in bytes.
const TRAILER: usize = 4;
/// The type byte of a string header.
const STRING: u8 = 7;

/// Encodes a message with string headers. Truncates names longer than 255 bytes and values longer than
/// 65,535.
#[must_use]
pub fn message(headers: &[(&str, &str)], payload: &[u8]) -> Vec<u8> {
    let mut encoded = Vec::new();
    for (name, value) in headers {
        let name = name.as_bytes().get(..name.len().min(255)).unwrap_or_default();
        let value = value.as_bytes().get(..value.len().min(65_535)).unwrap_or_default();
        encoded.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
        encoded.extend_from_slice(name);
        encoded.push(STRING);
        encoded.extend_from_slice(&u16::try_from(value.len()).unwrap_or(u16::MAX).to_be_bytes());
        encoded.extend_from_slice(value);
    }
    let length = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX).to_be_bytes();
    let mut frame = Vec::with_capacity(PRELUDE + encoded.len() + payload.len() + TRAILER);
    frame.extend_from_slice(&length(PRELUDE + encoded.len() + payload.len() + TRAILER));
    frame.extend_from_slice(&length(encoded.len()));
    frame.extend_from_slice(&crc32(&frame).to_be_bytes());
    frame.extend_from_slice(&encoded);
    frame.extend_from_slice(payload);
    frame.extend_from_slice(&crc32(&frame).to_be_bytes());
    frame
}

/// The headers of a message.
pub type Headers = Vec<(String, String)>;

/// Parses exactly one message into headers and payload; `None` if a length or a checksum is wrong.
#[must_use]
pub fn parse(frame: &[u8]) -> Option<(Headers, Vec<u8>)> {
    let number = |place: usize| {
        let bytes: [u8; 4] = frame.get(place..place + 4)?.try_into().ok()?;
        Some(u32::from_be_bytes(bytes))
    };
    let body = frame.len().checked_sub(TRAILER)?;
    if number(0)? as usize != frame.len()
        || number(8)? != crc32(frame.get(..8)?)
        || number(body)? != crc32(frame.get(..body)?)
    {
        return None;
    }
    let end = PRELUDE.checked_add(number(4)? as usize)?;
    let mut rest = frame.get(PRELUDE..end)?;
    let payload = frame.get(end..body)?.to_vec();
    let mut headers = Vec::new();
    while let Some((&length, tail)) = rest.split_first() {
        let (name, tail) = tail.split_at_checked(usize::from(length))?;
        let (&[kind, high, low], tail) = tail.split_first_chunk::<3>()?;
        if kind != STRING {
            return None;
        }
        let (value, tail) = tail.split_at_checked(usize::from(u16::from_be_bytes([high, low])))?;
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
        headers.push((text(name)?, text(value)?));
        rest = tail;
    }
    Some((headers, payload))
}

#[cfg(test)]
mod tests {
    use super::{message, parse};

    #[test]
    fn a_message_survives_encoding_and_parsing() {
        let frame = message(&[(":event-type", "messageStart"), ("x", "")], b"{}");
        let (headers, payload) = parse(&frame).unwrap();
        assert_eq!(headers, [(":event-type".into(), "messageStart".into()), ("x".into(), String::new())]);
        assert_eq!(payload, b"{}");
    }

    /// The first vector of the AWS test suite: an empty message.
    #[test]
    fn an_empty_message_equals_the_aws_test_vector() {
        let expected = [0, 0, 0, 16, 0, 0, 0, 0, 0x05, 0xc2, 0x48, 0xeb, 0x7d, 0x98, 0xc8, 0xff];
        assert_eq!(message(&[], b""), expected);
    }

    #[test]
    fn detects_every_flipped_bit() {
        let frame = message(&[("a", "b")], b"payload");
        for bit in 0..frame.len() * 8 {
            let mut broken = frame.clone();
            broken[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(parse(&broken), None, "bit {bit}");
        }
    }
}
