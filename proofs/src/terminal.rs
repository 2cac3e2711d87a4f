//! Text that is hostile to terminals, and checks of what is printed to one.

use lariat_test::SeededRandom;

/// Removes our own sequences from an output: styles, links and redraws.
pub fn without_sequences(output: &str) -> String {
    let mut left = String::new();
    let mut rest = output;
    while let Some(letter) = rest.chars().next() {
        rest = match ours(rest) {
            Some(after) => after,
            None => {
                left.push(letter);
                rest.get(letter.len_utf8()..).unwrap_or_default()
            }
        };
    }
    left
}

fn ours(text: &str) -> Option<&str> {
    if let Some(after) = text.strip_prefix("\u{1b}[K").or_else(|| text.strip_prefix("\u{1b}[J")) {
        return Some(after);
    }
    // The bottom has at most six rows.
    for rows in 1..=6 {
        if let Some(after) = text.strip_prefix(&format!("\r\u{1b}[{rows}A")) {
            return Some(after);
        }
    }
    // The status line is drawn and erased from the start of its line. In a terminal of one column it is cut to an ellipsis.
    if let Some(after) = text.strip_prefix('\r')
        && after.starts_with(|letter| matches!(letter, '\u{1b}' | '…' | '\u{2800}'..='\u{28ff}'))
    {
        return Some(after);
    }
    if let Some(style) = text.strip_prefix("\u{1b}[") {
        let end = style.find(|letter: char| !(letter.is_ascii_digit() || letter == ';'))?;
        return style.get(end..)?.strip_prefix('m');
    }
    let link = text.strip_prefix("\u{1b}]8;;")?;
    let end = link.find(|letter: char| !letter.is_ascii_graphic())?;
    link.get(end..)?.strip_prefix("\u{1b}\\")
}

/// Fails if an output can do anything to a terminal except print and style text.
pub fn assert_harmless(output: &str, context: &str) {
    let left = without_sequences(output);
    let is_bad = |letter: char| {
        (letter.is_control() && letter != '\n')
            || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200b}' | '\u{e0000}'..='\u{e0fff}')
    };
    assert!(!left.contains(is_bad), "{context}\n{left:?}");
}

/// Random text that is difficult for Markdown, terminals and readers.
pub fn hostile(dice: &mut SeededRandom) -> String {
    const PIECES: &[&str] = &[
        "\u{1b}[2J",
        "\u{1b}]0;title\u{7}",
        "\u{1b}]8;;x\u{1b}\\",
        "\u{9b}31m",
        "\u{90}",
        "\r",
        "\u{8}",
        "\u{202e}",
        "\u{2066}",
        "\u{200b}",
        "\u{e0041}",
        "\u{feff}",
        "\0",
        "&#27;[2J",
        "&#x202e;",
        "\n",
        "\n",
        "\n\n",
        "  ",
        "    ",
        "\t",
        "# ",
        "## x",
        "- ",
        "* a\n",
        "1. ",
        "7) b\n",
        "> ",
        ">> q\n",
        "```",
        "```rust\n",
        "~~~\n",
        "fn a() { \"x\" }",
        "// c",
        "**",
        "*",
        "_",
        "`",
        "``",
        "| a | b |\n|---|:-:|\n| 1 | 2 |\n",
        "|",
        "---\n",
        "===\n",
        "[t](https://x.y/\u{1b}\\z)",
        "[t](<file:///a b>)",
        "![i](u)",
        "<https://a.b>",
        "[x]: y\n",
        "<b>",
        "<!-- ",
        "- [x] done\n",
        "\\",
        "漢字",
        "👩‍💻",
        "e\u{301}",
        "word ",
        "a",
        "(",
        "]",
        "\u{a0}",
        "⟨U+001B⟩",
    ];
    let count = dice.below(40);
    let mut text = String::new();
    for _ in 0..count {
        if dice.below(12) == 0 {
            let bytes: Vec<u8> = (0..dice.below(6)).map(|_| dice.bits() as u8).collect();
            text.push_str(&String::from_utf8_lossy(&bytes));
        } else {
            let piece = PIECES.get(dice.below(PIECES.len() as u64) as usize);
            text.push_str(piece.copied().unwrap_or_default());
        }
    }
    text
}
