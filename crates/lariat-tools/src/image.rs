//! Recognises images by their first bytes and encodes them for the model.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

/// Returns the media type of an image that models accept.
pub fn kind(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', ..] => Some("image/png"),
        [0xFF, 0xD8, 0xFF, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// Encodes bytes as Base64 (RFC 4648, padded).
pub fn base64(bytes: &[u8]) -> String {
    BASE64_STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_matches_the_rfc() {
        let cases = [
            "", "", "f", "Zg==", "fo", "Zm8=", "foo", "Zm9v", "foob", "Zm9vYg==", "fooba", "Zm9vYmE=",
            "foobar", "Zm9vYmFy",
        ];
        for pair in cases.chunks(2) {
            assert_eq!(base64(pair[0].as_bytes()), pair[1]);
        }
        assert_eq!(base64(&[0xFB, 0xFF]), "+/8=");
    }

    #[test]
    fn recognises_images_by_their_first_bytes() {
        assert_eq!(kind(b"\x89PNG\r\n\x1A\n"), Some("image/png"));
        assert_eq!(kind(b"\xFF\xD8\xFF\xE0"), Some("image/jpeg"));
        assert_eq!(kind(b"GIF89a"), Some("image/gif"));
        assert_eq!(kind(b"RIFF\x01\x02\x03\x04WEBPVP8 "), Some("image/webp"));
        assert_eq!(kind(b"RIFF\x01\x02\x03\x04WAVE"), None);
        assert_eq!(kind(b""), None);
    }
}
