use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{PictureProtocol, Pictures, is_row};

fn png(width: u32, height: u32) -> String {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
    bytes.extend(width.to_be_bytes());
    bytes.extend(height.to_be_bytes());
    bytes.extend([7; 9_000]);
    STANDARD.encode(bytes)
}

fn jpeg() -> String {
    STANDARD.encode(b"\xff\xd8\xff\xe0\0\x04ab\xff\xc0\0\x11\x08\0\x28\0\x14rest")
}

#[test]
fn a_picture_has_its_size_or_what_fits() {
    let pictures = Pictures::new(PictureProtocol::Kitty, Some((10, 20)));
    let cases = [((20, 40), (2, 2)), ((5, 5), (1, 1)), ((1_200, 600), (60, 15)), ((100, 6_000), (1, 15))];
    for ((width, height), cells) in cases {
        assert_eq!(pictures.cells(&png(width, height), 80), Some(cells), "{width} × {height}");
    }
    assert_eq!(pictures.cells(&png(1_200, 600), 20), Some((20, 5)));
    assert_eq!(pictures.cells(&png(0, 10), 80), None);
    assert_eq!(pictures.cells(&jpeg(), 80), None);
    assert_eq!(pictures.cells("not base64!", 80), None);
    let pictures = Pictures::new(PictureProtocol::Iterm, None);
    assert_eq!(pictures.cells(&jpeg(), 80), Some((2, 2)));
    assert_eq!(pictures.cells(&STANDARD.encode(b"GIF89a\x1e\0\x14\0"), 80), Some((3, 1)));
}

#[test]
fn rows_are_empty_but_for_the_last_which_draws() {
    for protocol in [PictureProtocol::Kitty, PictureProtocol::Iterm] {
        let rows = Pictures::new(protocol, None).rows(&png(100, 100), 80);
        assert_eq!(rows.len(), 5);
        assert!(rows[..4].iter().all(String::is_empty));
        assert!(rows[4].starts_with("\u{1b}7\r\u{1b}[4A") && rows[4].ends_with("\u{1b}8"));
        assert!(is_row(&rows[4]), "{protocol:?}");
    }
    let row = Pictures::new(PictureProtocol::Kitty, None).rows(&png(100, 100), 80).pop().unwrap();
    assert_eq!(row.matches("\u{1b}_G").count(), 3);
    assert_eq!(row.matches("m=0;").count(), 1);
}

#[test]
fn a_row_that_does_more_is_not_a_picture() {
    let good = Pictures::new(PictureProtocol::Kitty, None).rows(&png(20, 20), 80).pop().unwrap();
    assert!(is_row(&good));
    for (from, to) in [
        ("a=T,", "a=T,t=f,"),
        ("a=T", "a=d"),
        ("\u{1b}8", "\u{1b}8x"),
        ("\u{1b}\\", "\u{1b}[2J\u{1b}\\"),
        ("C=1", "C=0"),
        (";", ";\u{1b}"),
    ] {
        let bad = good.replacen(from, to, 1);
        assert_ne!(bad, good, "{from}");
        assert!(!is_row(&bad), "{from} {to}");
    }
    let good = Pictures::new(PictureProtocol::Iterm, None).rows(&png(20, 20), 80).pop().unwrap();
    assert!(is_row(&good));
    for (from, to) in [("inline=1", "inline=0"), (":", ":\u{7}"), ("File", "Copy")] {
        assert!(!is_row(&good.replacen(from, to, 1)), "{from} {to}");
    }
    for row in ["", "\u{1b}7\r\u{1b}8", "\u{1b}7\r\u{1b}[4Atext\u{1b}8", "text"] {
        assert!(!is_row(row), "{row:?}");
    }
}

#[test]
fn terminals_are_known_by_their_names() {
    let cases = [
        ("xterm-kitty", "", false, Some(PictureProtocol::Kitty)),
        ("xterm-256color", "ghostty", false, Some(PictureProtocol::Kitty)),
        ("xterm-256color", "iTerm.app", false, Some(PictureProtocol::Iterm)),
        ("xterm-kitty", "", true, None),
        ("xterm-256color", "Apple_Terminal", false, None),
    ];
    for (term, program, is_multiplexed, protocol) in cases {
        assert_eq!(PictureProtocol::of(term, program, is_multiplexed), protocol, "{term} {program}");
    }
}
