use std::num::NonZero;

use proptest::prelude::*;

use super::*;

#[test]
fn plain_text_is_unchanged() {
    for text in ["cargo test --all", "naïve Ω 漢字 שלום", "👩‍💻 ❤️ done", "a  b   c"] {
        assert!(
            matches!(line(text), Cow::Borrowed(shown) if shown == text) || line(text) == text,
            "{text:?}"
        );
    }
    let code = "fn main() {\n\tif x {\n            y();\n    }\n}\n";
    assert_eq!(block(code), code);
}

#[test]
fn invisible_characters_are_escaped() {
    for (text, shown) in [
        ("a\u{1b}[2Kb", "a⟨U+001B⟩[2Kb"),
        ("ls\rrm -rf /", "ls⟨U+000D⟩rm -rf /"),
        ("a\u{202e}cod.exe", "a⟨U+202E⟩cod.exe"),
        ("zero\u{200b}width", "zero⟨U+200B⟩width"),
        ("tag\u{e0041}", "tag⟨U+E0041⟩"),
        ("c1\u{9b}31m", "c1⟨U+009B⟩31m"),
        ("no\u{a0}break", "no⟨U+00A0⟩break"),
        ("a\nb\tc", "a⟨U+000A⟩b⟨U+0009⟩c"),
        ("⟨U+001B⟩", "⟨U+27E8⟩U+001B⟨U+27E9⟩"),
        ("join\u{200d}er", "join⟨U+200D⟩er"),
    ] {
        assert_eq!(line(text), shown);
    }
    let padded = format!("ls{}; rm -rf ~", " ".repeat(300));
    assert_eq!(line(&padded), "ls⟨300 spaces⟩; rm -rf ~");
    assert_eq!(block(&padded), "ls⟨300 spaces⟩; rm -rf ~");
}

#[test]
fn output_drops_colours() {
    assert_eq!(output("\u{1b}[1;31merror\u{1b}[0m: x\r\n10%\r20%"), "error: x\n10%\n20%");
    assert_eq!(output("\u{1b}[2J\u{1b}]0;title\u{7}x"), "⟨U+001B⟩[2J⟨U+001B⟩]0;title⟨U+0007⟩x");
    assert_eq!(output("\u{1b}[31"), "⟨U+001B⟩[31");
}

/// Control sequences that terminals obey, standard and proprietary.
fn hostile() -> Vec<String> {
    let introducers = [
        "\u{1b}[", "\u{9b}", "\u{1b}]", "\u{9d}", "\u{1b}P", "\u{90}", "\u{1b}_", "\u{9f}", "\u{1b}^",
        "\u{9e}", "\u{1b}X", "\u{98}",
    ];
    let bodies = [
        "2J",
        "H",
        "1;1H",
        "10A",
        "10B",
        "99D",
        "3J",
        "2K",
        "s",
        "u",
        "?1049h",
        "?1049l",
        "?25l",
        "?1000h",
        "?2004h",
        "8;1;1t",
        "20t",
        "21t",
        "6n",
        "c",
        ">c",
        "!p",
        "4h",
        "1;5r",
        "10L",
        "10M",
        "10P",
        "10@",
        "5S",
        "5T",
        "31m",
        "8m",
        "0;owned\u{7}",
        "2;owned\u{1b}\\",
        "52;c;ZXZpbA==\u{7}",
        "8;;http://x\u{7}click\u{1b}]8;;\u{7}",
        "4;1;rgb:0/0/0\u{7}",
        "104\u{7}",
        "1337;File=:AAAA\u{7}",
        "9;notify\u{7}",
        "777;notify;a;b\u{7}",
        "$q\"p\u{1b}\\",
        "+q544e\u{1b}\\",
        "Gi=1;AAAA\u{1b}\\",
    ];
    let alone = [
        "\u{1b}c", "\u{1b}7", "\u{1b}8", "\u{1b}D", "\u{1b}M", "\u{1b}E", "\u{1b}#8", "\u{1b}(0", "\u{1b}>",
        "\u{1b}=", "\u{1b}Z", "\u{7}", "\u{8}", "\u{b}", "\u{c}", "\r", "\u{e}", "\u{f}", "\u{5}", "\u{18}",
        "\u{1a}", "\u{7f}", "\u{84}", "\u{85}", "\u{88}", "\u{8d}", "\u{8e}", "\u{9c}", "\u{2028}",
    ];
    let combined =
        introducers.iter().flat_map(|start| bodies.iter().map(move |body| format!("{start}{body}")));
    combined.chain(alone.iter().map(|&text| text.to_owned())).collect()
}

#[test]
fn no_sequence_affects_the_terminal() {
    let hostile = hostile();
    assert!(hostile.len() >= 500, "{}", hostile.len());
    let mut bare = 0;
    for sequence in &hostile {
        for render in [line, block, output] {
            let text = format!("before{sequence}after");
            let shown = render(&text);
            assert!(!shown.chars().any(|letter| letter.is_control() && letter != '\n'), "{shown:?}");
            if let Some(why) = effect(&shown) {
                panic!("{sequence:?}: {why}: {shown:?}");
            }
        }
        bare += usize::from(effect(&format!("before{sequence}after")).is_some());
    }
    // Most sequences do have an effect without the renderer, so the check above can fail.
    assert!(bare > 300, "only {bare} of {} have an effect by themselves", hostile.len());
}

/// Returns what happened to a terminal besides showing the text from its first cell on.
fn effect(shown: &str) -> Option<String> {
    let (rows, columns) = (NonZero::new(24).unwrap(), NonZero::new(200).unwrap());
    let mut parser = vt100::Parser::new_with_callbacks(rows, columns, 100, TerminalRequests::default());
    parser.process(shown.replace('\n', "\r\n").as_bytes());
    let lines: Vec<&str> = shown.lines().collect();
    let contents = parser.screen().contents();
    if contents.lines().collect::<Vec<_>>() != lines {
        return Some(format!("the screen shows {contents:?}"));
    }
    if let Some(request) = &parser.callbacks().0 {
        return Some(request.clone());
    }
    let mut clean = vt100::Parser::new(rows, columns, 100);
    clean.process(contents.replace('\n', "\r\n").as_bytes());
    (parser.screen().state_formatted() != clean.screen().state_formatted())
        .then(|| "the state differs".to_owned())
}

/// Records what the terminal was asked to do besides showing text.
#[derive(Default)]
struct TerminalRequests(Option<String>);

impl vt100::Callbacks for TerminalRequests {
    fn audible_bell(&mut self, _: &mut vt100::Screen) {
        self.0 = Some("bell".to_owned());
    }
    fn set_window_title(&mut self, _: &mut vt100::Screen, title: &[u8]) {
        self.0 = Some(format!("title {title:?}"));
    }
    fn copy_to_clipboard(&mut self, _: &mut vt100::Screen, _: &[u8], data: &[u8]) {
        self.0 = Some(format!("clipboard {data:?}"));
    }
    fn resize(&mut self, _: &mut vt100::Screen, _: (u16, u16)) {
        self.0 = Some("resize".to_owned());
    }
    fn unhandled_control(&mut self, _: &mut vt100::Screen, b: u8) {
        self.0 = Some(format!("control {b}"));
    }
    fn unhandled_csi(&mut self, _: &mut vt100::Screen, _: Option<u8>, _: Option<u8>, _: &[&[u16]], c: char) {
        self.0 = Some(format!("sequence {c}"));
    }
    fn unhandled_osc(&mut self, _: &mut vt100::Screen, _: &[&[u8]]) {
        self.0 = Some("system command".to_owned());
    }
}

proptest! {
    #[test]
    fn shown_text_converts_back_exactly(text in any::<String>()) {
        prop_assert_eq!(exact(&line(&text)), Some(text.clone()));
        prop_assert_eq!(exact(&block(&text)), Some(text));
    }

    #[test]
    fn shown_marks_and_spaces_convert_back_exactly(
        text in proptest::collection::vec(prop_oneof![Just("⟨"), Just("⟩"), Just(" "), Just("        "), Just("\n"), Just("U+001B"), Just("8 spaces"), Just("\u{200d}"), Just("👩"), Just("\u{fe0f}")], 0..20)
    ) {
        let text = text.concat();
        prop_assert_eq!(exact(&line(&text)), Some(text.clone()));
        prop_assert_eq!(exact(&block(&text)), Some(text));
    }
}

/// `sessions export` once wrote one-character (C1) terminal controls unescaped.
#[test]
fn json_escapes_invisible_characters_and_stays_the_same_document() {
    let value = serde_json::json!({ "a\u{9b}2J": "x\u{202e}y\u{85}\u{e0041}\u{7f}\u{1b}[0m ⟨é⟩ 漢 🙂\u{fe0f}", "n": [1, null] });
    let text = serde_json::to_string(&value).unwrap();
    let shown = json(&text);
    assert!(shown.chars().all(|letter| !is_hidden(letter)), "{shown}");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    assert!(matches!(json("{\"a\": \"é 漢\"}"), Cow::Borrowed(_)));
}
