use lariat_proofs::terminal::{assert_harmless, hostile};
use lariat_test::SeededRandom;

use super::*;
use crate::markdown::Markdown;
use crate::theme::{Style, Theme};

#[test]
fn split_row_keeps_style_and_link() {
    let theme = Theme::full(80);
    let row = format!("a{}", theme.link("https://x.y", &theme.paint(Style::Bad, "bcde")));
    let link = "\u{1b}]8;;https://x.y\u{1b}\\";
    let rows = wrap(&row, 3);
    let first = format!("a{link}\u{1b}[31mbc\u{1b}[0m{LINK_END}");
    let second = format!("{link}\u{1b}[31mde\u{1b}[0m{LINK_END}");
    assert_eq!(rows, [first, second]);
    assert_eq!(rows.iter().map(|row| plain(row)).collect::<String>(), "abcde");
}

#[test]
fn row_that_fits_is_unchanged() {
    let row = Theme::full(80).paint(Style::Strong, "abc");
    assert_eq!(wrap(&row, 3), [row.as_str()]);
    assert_eq!(wrap("", 3), [""]);
    assert_eq!(width(&row), 3);
}

#[test]
fn wide_characters_are_not_split() {
    assert_eq!(wrap("日本語", 3), ["日", "本", "語"]);
    assert_eq!(wrap("日本", 1), ["日", "本"]);
}

#[test]
fn wrapped_rows_fit_and_lose_nothing() {
    for seed in 0..200 {
        let mut dice = SeededRandom::new(seed);
        let source: String = (0..8).map(|_| hostile(&mut dice)).collect();
        let mut markdown = Markdown::new(Theme::full(70));
        let lines = format!("{}{}", markdown.push(&source), markdown.finish());
        for line in lines.lines() {
            let rows = wrap(line, 20);
            let joined: String = rows.iter().map(|row| plain(row)).collect();
            assert_eq!(joined, plain(line), "seed {seed}");
            for row in rows {
                assert!(width(&row) <= 20, "seed {seed}: {row:?}");
                assert_harmless(&row, &format!("seed {seed}"));
            }
        }
    }
}
