use proptest::prelude::*;

use super::*;

/// The classified words of code.
fn words<'a>(language: &str, code: &'a str) -> Vec<(&'a str, Token)> {
    highlight(language, code).into_iter().map(|(range, token)| (&code[range], token)).collect()
}

#[test]
fn every_grammar_classifies_common_tokens() {
    for (language, code, keyword, function, string) in [
        ("rust", "// c\nfn main() { run(\"s\", 1); }", "fn", "main", "\"s\""),
        ("python", "# c\ndef main():\n    return run('s', 1)", "def", "main", "'s'"),
        ("js", "// c\nfunction main() { return run('s', 1); }", "function", "main", "'s'"),
        ("ts", "// c\nfunction main(): void { run('s', 1); }", "function", "main", "'s'"),
        ("tsx", "// c\nfunction main() { return run('s', 1); }", "function", "main", "'s'"),
        ("go", "// c\nfunc main() { run(\"s\", 1) }", "func", "main", "\"s\""),
        ("java", "// c\nclass A { void main() { run(\"s\", 1); } }", "class", "main", "\"s\""),
        ("c", "// c\nint main() { return run(\"s\", 1); }", "return", "main", "\"s\""),
        ("cpp", "// c\nint main() { return run(\"s\", 1); }", "return", "main", "\"s\""),
    ] {
        let found = words(language, code);
        for expected in [
            (keyword, Token::Keyword),
            (function, Token::Function),
            ("run", Token::Function),
            (string, Token::String),
            ("1", Token::Number),
        ] {
            assert!(found.contains(&expected), "{language}: no {expected:?} in {found:?}");
        }
        assert_eq!(found[0].1, Token::Comment, "{language}");
    }
}

#[test]
fn classifies_types_and_called_members() {
    let found = words("Rust", "struct A; impl A { fn f(&self) -> u32 { self.b.go(); std::mem::take(x) } }");
    for expected in
        [("A", Token::Type), ("u32", Token::Type), ("go", Token::Function), ("take", Token::Function)]
    {
        assert!(found.contains(&expected), "{expected:?} in {found:?}");
    }
    assert!(words("python", "class A(B): pass").contains(&("A", Token::Type)));
    assert!(words("py", "f'a {name} b'").iter().all(|(text, _)| !text.contains("name")));
}

#[test]
fn lexes_languages_without_a_grammar() {
    assert_eq!(
        words("json", r#"{"a\"b": [1.5, true, null]}"#),
        [
            (r#""a\"b""#, Token::String),
            ("1.5", Token::Number),
            ("true", Token::Number),
            ("null", Token::Number)
        ]
    );
    assert_eq!(
        words("toml", "a = 'x' # why\nb = 2026-01-02"),
        [("'x'", Token::String), ("# why", Token::Comment), ("2026-01-02", Token::Number)]
    );
    assert_eq!(
        words("sh", "if [ $# -gt 0 ]; then echo \"a #b\"; fi # c"),
        [
            ("if", Token::Keyword),
            ("0", Token::Number),
            ("then", Token::Keyword),
            ("\"a #b\"", Token::String),
            ("fi", Token::Keyword),
            ("# c", Token::Comment)
        ]
    );
    assert_eq!(
        words("sql", "SELECT 1 -- one"),
        [("SELECT", Token::Keyword), ("1", Token::Number), ("-- one", Token::Comment)]
    );
    assert_eq!(words("yaml", "url: https://x.y # it's\nb: don't"), [("# it's", Token::Comment)]);
    assert_eq!(words("brainfuck", "if 1"), []);
}

#[test]
fn does_not_classify_code_that_is_too_long() {
    assert_eq!(highlight("rust", &"fn ".repeat(LIMIT)), []);
    assert!(is_known("Rust") && is_known("yml") && !is_known("brainfuck") && !is_known(""));
}

proptest! {
    #[test]
    fn ranges_are_in_order_and_at_character_boundaries(code in "(\\PC|[\"'#/\n\t{}()-]|fn |let |1\\.5|é){0,60}", at in 0usize..13) {
        let language = ["rust", "py", "js", "ts", "tsx", "go", "java", "c", "cpp", "json", "toml", "sh", "sql"][at];
        let mut end = 0;
        for (range, token) in highlight(language, &code) {
            prop_assert!(range.start >= end && range.end > range.start, "{language} {code:?} {range:?} {token:?}");
            prop_assert!(code.get(range.clone()).is_some());
            end = range.end;
        }
    }
}
