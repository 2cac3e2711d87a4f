use proptest::prelude::*;

use super::*;

fn decoded(bytes: &[u8]) -> Text {
    Text::decode(bytes).unwrap()
}

#[test]
fn recognises_and_preserves_every_encoding() {
    let utf16 = |unit: fn(u16) -> [u8; 2]| -> Vec<u8> {
        "\u{feff}aä😀\r\n".encode_utf16().flat_map(unit).collect()
    };
    let cases: [(Vec<u8>, Encoding, &str); 5] = [
        ("aä😀\n".into(), Encoding::Utf8, "aä😀\n"),
        ("\u{feff}aä\n".into(), Encoding::Utf8Bom, "aä\n"),
        (utf16(u16::to_le_bytes), Encoding::Utf16Le, "aä😀\n"),
        (utf16(u16::to_be_bytes), Encoding::Utf16Be, "aä😀\n"),
        (b"gr\xFC\xDFe\n".to_vec(), Encoding::Latin1, "grüße\n"),
    ];
    for (bytes, encoding, seen) in cases {
        let text = decoded(&bytes);
        assert_eq!((text.encoding(), text.as_str()), (encoding, seen));
        assert_eq!(text.encode().unwrap(), bytes, "{encoding:?}");
    }
}

#[test]
fn rejects_binary_content() {
    for bytes in [
        b"a\0b".as_slice(),
        b"\x7FELF\x02\x01\x01\0\xFF",
        b"\xFF\xFEa",
        b"\xFF\xFE\x00\xD8",
        b"\x89PNG\r\n\x1A\n\x01\x02\x03\x04",
    ] {
        assert_eq!(Text::decode(bytes), None, "{bytes:?}");
    }
}

#[test]
fn keeps_mixed_line_endings_per_line() {
    let text = decoded(b"a\r\nb\nc\r\nd\n");
    assert_eq!(text.as_str(), "a\nb\nc\nd\n");
    let changed = text.replace_ranges(&[(2..3, "B\nB2"), (6..7, "")]);
    assert_eq!(changed.encode().unwrap(), b"a\r\nB\r\nB2\nc\r\n\n");
    let joined = text.replace_ranges(&[(1..2, "-")]);
    assert_eq!(joined.encode().unwrap(), b"a-b\nc\r\nd\n");
}

#[test]
fn new_lines_in_a_crlf_file_end_in_crlf() {
    let text = decoded(b"a\r\nb");
    assert_eq!(text.replace_ranges(&[(2..3, "x\ny\r\nz")]).encode().unwrap(), b"a\r\nx\r\ny\r\nz");
    assert_eq!(text.with_text("p\nq\n").encode().unwrap(), b"p\r\nq\r\n");
    assert_eq!(decoded(b"a\n").with_text("p\r\nq\n").encode().unwrap(), b"p\r\nq\n");
}

#[test]
fn encode_reports_the_unencodable_character() {
    let text = decoded(b"\xFC\n");
    assert_eq!(text.replace_ranges(&[(0..2, "→")]).encode(), Err('→'));
}

proptest! {
    #[test]
    fn decode_then_encode_yields_the_same_bytes(bytes in bytes()) {
        if let Some(text) = Text::decode(&bytes) {
            prop_assert_eq!(text.encode().unwrap(), bytes);
        }
    }

    #[test]
    fn untouched_lines_keep_their_bytes(lines in prop::collection::vec(("[a-cä]{0,3}", prop::bool::ANY), 1..12), at in 0..12_usize, new in "[xy\n]{0,6}") {
        let whole: String = lines.iter().map(|(line, crlf)| format!("{line}{}", if *crlf { "\r\n" } else { "\n" })).collect();
        let at = at.min(lines.len() - 1);
        let text = decoded(whole.as_bytes());
        let start: usize = lines.iter().take(at).map(|(line, _)| line.len() + 1).sum();
        let end = start + lines[at].0.len();
        let changed = String::from_utf8(text.replace_ranges(&[(start..end, &new)]).encode().unwrap()).unwrap();
        let before: String = lines.iter().take(at).map(|(line, crlf)| format!("{line}{}", if *crlf { "\r\n" } else { "\n" })).collect();
        let after: String = lines.iter().skip(at + 1).map(|(line, crlf)| format!("{line}{}", if *crlf { "\r\n" } else { "\n" })).collect();
        prop_assert!(changed.starts_with(&before), "{:?} {:?}", changed, before);
        prop_assert!(changed.ends_with(&after), "{:?} {:?}", changed, after);
    }
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let words = prop::sample::select(vec![
        b"\r\n".as_slice(),
        b"\n",
        b"\r",
        b"a",
        b"\xFC",
        "ä".as_bytes(),
        b"\xEF\xBB\xBF",
        b"\xFF\xFE",
        b"\xFE\xFF",
        b"\x00",
        b" ",
    ]);
    prop::collection::vec(words, 0..40).prop_map(|words| words.concat())
}
