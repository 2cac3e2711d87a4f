//! Base64 with the standard alphabet, implemented here so that the tests share no code with the clients.
//!
//! Decoding also accepts the URL-safe alphabet, as Google's JSON does.
//! Invariant: `decode(encode(x)) == x`; text with a wrong length or an invalid character does not decode.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Encodes with padding.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or_default());
        let word = (byte(0) << 16) | (byte(1) << 8) | byte(2);
        for place in 0..4_usize {
            let digit = (word >> (18 - 6 * place)) & 63;
            match ALPHABET.get(digit as usize) {
                Some(&letter) if place <= chunk.len() => text.push(char::from(letter)),
                _ => text.push('='),
            }
        }
    }
    text
}

/// Decodes the text, or returns `None` if it is not base64 with correct padding.
#[must_use]
pub fn decode(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let body = text.trim_end_matches('=');
    if text.len() - body.len() > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(body.len() * 3 / 4);
    let (mut word, mut bits) = (0_u32, 0_u32);
    for &letter in body.as_bytes() {
        word = (word << 6) | digit(letter)?;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from((word >> bits) & 0xff).ok()?);
        }
    }
    Some(bytes)
}

fn digit(letter: u8) -> Option<u32> {
    let value = match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};

    #[test]
    fn encodes_the_test_vectors_of_the_rfc() {
        for (plain, coded) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(encode(plain.as_bytes()), coded);
            assert_eq!(decode(coded).unwrap(), plain.as_bytes());
        }
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(decode(&encode(&all)).unwrap(), all);
    }

    #[test]
    fn rejects_invalid_base64() {
        for text in ["Zg", "Zg=", "Z===", "Zm 9", "Zm9v\n"] {
            assert_eq!(decode(text), None, "{text:?}");
        }
    }
}
