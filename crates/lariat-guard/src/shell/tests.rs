use super::*;

/// Returns every command, its words joined by a blank.
fn commands_of(text: &str) -> Vec<String> {
    let words =
        |command: &Command| command.words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
    analyse(text).commands.iter().map(words).collect()
}

#[test]
fn lists_every_simple_command() {
    let cases: &[(&str, &[&str])] = &[
        ("a && b || c; d | e & f", &["a", "b", "c", "d", "e", "f"]),
        ("a\nb", &["a", "b"]),
        ("echo $(a $(b)) \"$(c)\" `d`", &["echo $(a $(b)) \"$(c)\" `d`", "a $(b)", "b", "c", "d"]),
        ("x <(a) > >(b)", &["x <(a)", "a", "b"]),
        ("cat <<'E'\n$(a) `b`\nE", &["cat"]),
        ("cat <<E | b > f\nx\nE\nc", &["cat", "b", "c"]),
        ("cat <<< $(a)", &["cat", "a"]),
        ("if a; then b; elif c; then d; else e; fi", &["a", "b", "c", "d", "e"]),
        ("for i in $(a); do b; done", &["a", "b"]),
        ("while a; do b; done < f", &["a", "b"]),
        ("case $(a) in x) b;; *) c;; esac", &["a", "b", "c"]),
        ("(a; b); { c; }", &["a", "b", "c"]),
        ("! a", &["a"]),
        ("[[ -f $(a) ]] && b", &["a", "b"]),
        ("x=$(a) b", &["b", "a"]),
        ("echo ${x:-$(a)}", &["echo ${x:-$(a)}", "a"]),
        ("export X=$(a)", &["export X=$(a)", "a"]),
        ("x=(1 $(a))", &["", "a"]),
        ("[ -f a ] && b", &["[ -f a ]", "b"]),
        ("a \\\n b", &["a b"]),
        ("a # b; c", &["a"]),
        ("a b#c", &["a b#c"]),
        ("for ((i=0; i<3; i++)); do a; done", &["a"]),
        ("a < f b", &["a b"]),
        ("< f a", &["a"]),
    ];
    for (text, expected) in cases {
        assert_eq!(commands_of(text), *expected, "{text}");
        assert_eq!(analyse(text).doubts, [], "{text}");
    }
}

#[test]
fn uncertain_scripts_have_a_doubt() {
    let cases = [
        "$X",
        "$(a)",
        "`a` b",
        "\"$X\" a",
        "~/a",
        "/bin/r?",
        "{rm,x}",
        "eval a",
        "coproc a",
        "time -p { a; }",
        "f() { a; }; f",
        "function f { a; }",
        "a 'b",
        "a $(b",
        "a && ",
        "echo ${!x}",
        "echo ${x@P}",
        "echo $((x))",
        "((x))",
        "x='a[$(b)]'; echo $((x))",
        "[[ $x -eq 1 ]]",
        "[[ -v a[$(b)] ]]",
        "echo ${a[$(b)]}",
        "a[$(b)]=1",
        "a\rb",
        "a\u{a0}b",
        "a\u{200b}b",
        "a\0b",
        "a \u{202e}b",
        "cat <<E\n`a`\nE",
        "cat <<E\n$(a)\nE",
        "echo `a \\`b\\``",
        "echo hi > /dev/tcp/1.2.3.4/80",
        "a <<E\nb",
        "((i++))",
        "echo ${x%%>(a)}",
        "A=(1 2)= a b",
        "echo $(a # )\n)",
        "_=x\\\n chmod",
        "ls {fd}>f",
        "echo ${x:i}",
    ];
    for text in cases {
        assert!(!analyse(text).doubts.is_empty(), "{text:?}");
    }
}

#[test]
fn lists_files_of_redirections() {
    let files = |text: &str| -> Vec<(String, bool)> {
        let script = analyse(text);
        assert_eq!(script.doubts, [], "{text}");
        script.files.into_iter().map(|file| (file.path.text, file.is_written)).collect()
    };
    for operator in [">", ">>", ">|", "&>", "&>>", "2>", ">&"] {
        assert_eq!(files(&format!("a {operator} f")), [("f".to_owned(), true)], "{operator}");
    }
    assert_eq!(files("a < f"), [("f".to_owned(), false)]);
    assert_eq!(files("a 2>&1 >&2 <&3 2>&-"), []);
    assert_eq!(files("echo $(< f)").len(), 1);
    assert_eq!(files("{ a; } > f"), [("f".to_owned(), true)]);
    assert_eq!(files("> f"), [("f".to_owned(), true)]);
    assert_eq!(files("a > 'b c'"), [("b c".to_owned(), true)]);
}

#[test]
fn long_chain_is_listed_with_a_doubt() {
    let text = vec!["echo a"; 10_000].join(" && ");
    let script = analyse(&text);
    assert_eq!(script.commands.len(), 10_000);
    assert_eq!(script.doubts, [Doubt::TooLong]);
    let text = vec!["echo $a"; 3_000].join(" && ");
    assert_eq!(analyse(&text).commands.len(), 3_000);
    let text = "a;".repeat(MAX_BYTES);
    assert_eq!(analyse(&text).doubts, [Doubt::TooLong]);
}

#[test]
fn nested_texts_do_not_overflow_the_stack() {
    for piece in [
        "(",
        "{ ",
        "$(",
        "\"$(",
        "`",
        "${x:-",
        "if ",
        "! ",
        "[[ ( ",
        "case x in x) ",
        "<(",
        "((",
        "while ",
        "time ",
        "a=(",
        "f() { ",
    ] {
        let text = piece.repeat(MAX_CHARS / piece.len());
        assert!(!analyse(&text).doubts.is_empty(), "{piece}");
    }
}

/// Needs a build without default features.
#[cfg(not(feature = "second-parser"))]
#[test]
fn build_with_one_parser_doubts_all_but_simple_commands() {
    for text in ["ls -l", "a && b | c > f", "cargo test 2>&1 | tail -20"] {
        assert_eq!(analyse(text).doubts, [], "{text}");
    }
    for text in ["(ls)", "for i in 1 2; do a; done", "echo $(ls)", "if a; then b; fi", "cat <<E\nx\nE\n"] {
        assert!(analyse(text).doubts.contains(&Doubt::OneParser), "{text}");
    }
}

#[cfg(feature = "second-parser")]
#[test]
fn panic_of_the_second_parser_is_caught() {
    let caught = second_parser::contained(|| panic!("a fault of the parser"));
    assert!(format!("{:?}", caught.doubts).contains("gave up"), "{:?}", caught.doubts);
    // Texts that its grammar turns into numbers. Whatever the parser does, the analysis returns.
    let texts = [
        "echo $(a # )",
        "echo ${99999999999999999999}",
        "a ~99999999999999999999",
        "a {1..99999999999999999999}",
    ];
    texts.iter().for_each(|text| drop(analyse(text)));
}

/// A panic would be caught, but the program would report it.
#[cfg(feature = "second-parser")]
#[test]
fn redirection_of_a_huge_number_is_refused_without_a_panic() {
    for text in ["a 99999999999999999999>f", "x=$(b 2147483648<g)", "eval 'c 9999999999>>h'"] {
        let doubts = format!("{:?}", second_parser::read(text).doubts);
        assert!(!doubts.contains("gave up"), "{text}: {doubts}");
        assert!(!analyse(text).doubts.is_empty(), "{text}");
    }
    assert_eq!(second_parser::read("a 2>f 1234567890").doubts, []);
}

#[test]
fn doubts_are_limited_with_many_commands() {
    let parts: Vec<String> = (0..20_000).map(|index| format!("$x{index} $((y{index}))")).collect();
    let script = analyse(&parts.join(";"));
    assert_eq!(script.commands.len(), 20_000);
    assert_eq!(script.doubts.len(), MAX_DOUBTS);
}

#[test]
fn detects_loops_and_functions_in_every_spelling() {
    for text in [
        "for\ti in 1 2; do a; done",
        "for i in 1; do a; done",
        "for i\ndo a; done",
        "while\ttrue; do a; done",
        "while\\\n true; do a; done",
        "until\nfalse; do a; done",
        "for((i=0;i<2;i++)); do a; done",
        "f()\t{ a; }",
        "function f { a; }",
        "f ( ) ( a )",
        "bash -c 'while\ttrue; do a; done'",
        "if a; then { for\ti in 1; do b; done; } fi",
    ] {
        assert!(analyse(text).repeats, "{text:?}");
    }
    for text in ["a; b", "echo 'for i in'", "if a; then b; fi", "echo while x", "(a)", "{ a; }"] {
        assert!(!analyse(text).repeats, "{text:?}");
    }
}
