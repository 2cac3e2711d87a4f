use super::*;

#[test]
fn keeps_alignment_and_reveals_hidden_characters() {
    assert_eq!(line("name          count"), "name          count");
    assert_eq!(line("a\tb"), "a    b");
    assert_eq!(line("idée\u{a0}: oui"), "idée : oui");
    assert_eq!(line("a\u{1b}[2Jb"), "a⟨U+001B⟩[2Jb");
    assert_eq!(line("a\u{202e}b"), "a⟨U+202E⟩b");
    assert_eq!(line("a\rb\nc"), "a⟨U+000D⟩b⟨U+000A⟩c");
    assert_eq!(line("👩‍💻 done"), "👩‍💻 done");
    assert_eq!(line("1\u{fe0f}\u{20e3}"), "1\u{20e3}");
}

#[test]
fn cuts_by_columns_with_ellipsis() {
    let theme = Theme::plain(80);
    assert_eq!(cut("abcdef", 6, &theme), "abcdef");
    assert_eq!(cut("abcdefg", 6, &theme), "abcde…");
    assert_eq!(cut("漢字漢字", 6, &theme), "漢字…");
    assert_eq!(cut("abc", 0, &theme), "");
    let ascii = Theme { unicode: false, ..theme };
    assert_eq!(cut("abcdefg", 6, &ascii), "abc...");
    assert_eq!(cut("abcdefg", 2, &ascii), "ab");
}

#[test]
fn wraps_words_and_breaks_long_ones() {
    assert_eq!(wrap("one two three", 7), ["one two", "three"]);
    assert_eq!(wrap("abcdefghij", 4), ["abcd", "efgh", "ij"]);
    assert_eq!(wrap("", 4), [""]);
    assert_eq!(wrap("漢字漢字", 1), ["漢", "字", "漢", "字"]);
    assert_eq!(chunks("a  b  c", 2), ["a ", " b", "  ", "c"]);
}

#[test]
fn finds_first_nonempty_line() {
    assert_eq!(first_line("\n  \n error: x\nmore"), "error: x");
    assert_eq!(first_line(""), "");
    assert_eq!(lines("a\r\nb").collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn rows_keep_all_text() {
    let pieces = [(Style::Plain, "ab cd".to_owned()), (Style::Strong, "漢字e".to_owned())];
    for most in 1..12 {
        let rows = rows(&pieces, most);
        let joined: String = rows.iter().flatten().map(|(_, text)| text.as_str()).collect();
        assert_eq!(joined, "ab cd漢字e");
        let widest = rows.iter().map(|row| row.iter().map(|(_, text)| width(text)).sum::<usize>()).max();
        assert!(widest <= Some(most.max(2)), "{most}: {rows:?}");
    }
    assert_eq!(rows(&[], 5).len(), 1);
}

#[test]
fn quotes_shell_words() {
    for (word, quoted) in [
        ("Bash(make)", "'Bash(make)'"),
        ("plain-word_1.txt", "plain-word_1.txt"),
        ("", "''"),
        ("it's", r"'it'\''s'"),
        ("a $(b) `c` \"d\"", "'a $(b) `c` \"d\"'"),
    ] {
        assert_eq!(shell_word(word), quoted);
    }
}
