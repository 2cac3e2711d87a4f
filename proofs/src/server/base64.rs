//! Base64 as model servers read and write it.
//!
//! Decoding also accepts the URL-safe alphabet, as Google's JSON does.
//! Invariant: `decode(encode(x)) == x`; text with a wrong length or an invalid character does not decode.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};

/// Requires padding, as servers do.
const ENGINE: GeneralPurpose =
    GeneralPurpose::new(&STANDARD, GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true));

/// Encodes with padding.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    ENGINE.encode(bytes)
}

/// Decodes the text, or returns `None` if it is not base64 with correct padding.
#[must_use]
pub fn decode(text: &str) -> Option<Vec<u8>> {
    ENGINE.decode(text.replace('-', "+").replace('_', "/")).ok()
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
