#![cfg(feature = "second-parser")]
use super::super::{Doubt, first_parser, second_parser};
use super::read;

#[test]
fn scanner_and_parsers_agree() {
    let texts = [
        "ls",
        "git status",
        "cargo test -p foo -- --nocapture 2>&1 | tail -20",
        "a && b || c | d ; e",
        "a;b",
        "a ;",
        "a>f",
        "a > f b",
        "a 2>/dev/null",
        "a &>f",
        "echo 'a b' \"c d\"e",
        "a <f",
        "x 2>&1;y",
        "a=b",
        "echo a=b",
        "1 2",
        "a 2",
        "a >f>g",
        "- a",
        "a ; ; b",
        "a &&",
        "&& a",
        "a || | b",
        "if x",
        "time ls",
        "a>&2",
        "a >&2b",
        "a 1>&2|b",
        "a 12>f",
        "a '' b",
        "a \"\"",
        "a &>>f",
        "a&&b||c",
    ];
    for text in texts {
        same(text);
    }
}

/// Checks that the second parser agrees, and also the first, except on words such as `a@` that it rejects.
fn same(text: &str) {
    let Some(plain) = read(text) else { return };
    let second = second_parser::read(text);
    assert_eq!(second.doubts, [], "{text:?}");
    assert_eq!(plain.lines(), second.lines(), "{text:?}");
    let first = first_parser::read(text);
    if first.doubts.iter().any(|doubt| matches!(doubt, Doubt::Unreadable(_))) {
        return;
    }
    assert_eq!(first.doubts, [], "{text:?}");
    assert_eq!(plain.commands, first.commands, "{text:?}");
    assert_eq!(plain.files, first.files, "{text:?}");
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 4_000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn scanner_and_parsers_agree_on_random_texts(
        parts in proptest::collection::vec(
            proptest::sample::select(vec![
                "$x", "${x}", "\"$x\"", "\"a ${x} b\"", "$", "*", "~", "~/x", "*.rs", "$1",
                "ls", "git", "a", "1", "2", "-x", "--y=z", "a=b", "'q r'", "\"s t\"", "''", " ", " ", " ", "\t", "&&", "||", "|", ";", ">",
                ">>", "2>", "2>&1", "&>", "<", "1>&2", "if", "time", "do", "^", "%", ":", ",", "./x", "@", "+", "&", "test", "export", "unset",
                "case", "in", "function", "-", "=", "\"a'b\"", "'a\"b'", "#", "!", "then", "declare", "select",
            ]),
            1..12,
        )
    ) {
        same(&parts.concat());
    }
}
