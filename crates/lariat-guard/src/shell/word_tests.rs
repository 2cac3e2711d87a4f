use super::*;

fn known(raw: &str) -> Option<String> {
    remove_quotes(raw).unwrap().as_known().map(str::to_owned)
}

#[test]
fn removes_quotes_as_bash_does() {
    let cases = [
        ("rm", "rm"),
        (r"r\m", "rm"),
        (r#"r"m""#, "rm"),
        ("r''m", "rm"),
        (r"$'\x72\155'", "rm"),
        (r"$'\u0072m'", "rm"),
        (r#"$"rm""#, "rm"),
        ("r\\\nm", "rm"),
        ("\"r\\\nm\"", "rm"),
        (r#""a\b\"c\$""#, r#"a\b"c$"#),
        ("'a\\'", "a\\"),
        ("a$", "a$"),
        (r#""a$""#, "a$"),
        ("HEAD@{1}", "HEAD@{1}"),
        ("{}", "{}"),
        ("[", "["),
        ("a=b", "a=b"),
        (r"\$x", "$x"),
    ];
    for (raw, expected) in cases {
        assert_eq!(known(raw).as_deref(), Some(expected), "{raw}");
    }
}

#[test]
fn words_that_bash_would_expand_are_unknown() {
    let cases = [
        "$x", "${x}", "$(x)", "`x`", "\"$x\"", "\"`x`\"", "*", "a?", "[ab]", "~", "~/x", "a=~/x", "{a,b}",
        "{1..3}", "a{b,c}d", "$@", "$1", "$((1))", "$[1]", "<(x)", r"$'a\0b'", r"$'\xff'", "$-", "a=(1)",
    ];
    for raw in cases {
        assert_eq!(known(raw), None, "{raw}");
        assert_eq!(remove_quotes(raw).unwrap().text, raw);
    }
}

#[test]
fn rejects_texts_that_are_not_one_word() {
    for raw in ["a b", "a;b", "'a", "\"a", "$'a", "a|b", "a\nb", "a>b", "(a"] {
        assert_eq!(remove_quotes(raw), Err(NotAWord), "{raw}");
    }
}
