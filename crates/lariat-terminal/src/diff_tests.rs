use similar::TextDiff;

use super::*;

const OLD: &str = "fn main() {\n    let count = 1;\n    -- not a header\n    call(count);\n}\n";
const NEW: &str = "fn main() {\n    let total = 1;\n    call(total);\n    more();\n}\n";

/// Renders the difference of two texts.
fn between(path: &str, old: &str, new: &str, most: usize, theme: &Theme) -> String {
    let diff = TextDiff::from_lines(old, new);
    let (from, to) = (format!("a/{path}"), format!("b/{path}"));
    unified(&diff.unified_diff().header(&from, &to).to_string(), most, theme)
}

#[test]
fn change_has_numbers_signs_and_marked_words() {
    insta::assert_snapshot!(between("src/main.rs", OLD, NEW, 100, &Theme::plain(60)), @r#"
    src/main.rs
    1   fn main() {
    2 -     let count = 1;
    3 -     -- not a header
    4 -     call(count);
    2 +     let total = 1;
    3 +     call(total);
    4 +     more();
    5   }
    "#);
    let coloured = between("src/main.rs", OLD, NEW, 100, &Theme::full(60));
    insta::assert_snapshot!(coloured.replace('\u{1b}', "␛"), @r#"
    ␛[1m  src/main.rs␛[0m
    ␛[2m  1 ␛[0m  fn main() {
    ␛[2m  2 ␛[0m␛[31m- ␛[0m␛[31m    let ␛[0m␛[1;7;31mcount␛[0m␛[31m = 1;␛[0m
    ␛[2m  3 ␛[0m␛[31m- ␛[0m␛[31m    -- not a header␛[0m
    ␛[2m  4 ␛[0m␛[31m- ␛[0m␛[31m    call(count);␛[0m
    ␛[2m  2 ␛[0m␛[32m+ ␛[0m␛[32m    let ␛[0m␛[1;7;32mtotal␛[0m␛[32m = 1;␛[0m
    ␛[2m  3 ␛[0m␛[32m+ ␛[0m␛[32m    call(total);␛[0m
    ␛[2m  4 ␛[0m␛[32m+ ␛[0m␛[32m    more();␛[0m
    ␛[2m  5 ␛[0m  }
    "#);
    assert_eq!(between("a", OLD, OLD, 100, &Theme::plain(60)), "");
}

#[test]
fn separates_hunks_and_counts_omitted_lines() {
    let old: String = (1..=40).map(|n| format!("line {n}\n")).collect();
    let new = old.replace("line 3\n", "line three\n").replace("line 33\n", "");
    insta::assert_snapshot!(between("a", &old, &new, 100, &Theme::plain(60)), @r#"
    a
     1   line 1
     2   line 2
     3 - line 3
     3 + line three
     4   line 4
     5   line 5
     6   line 6
    ⋮
    30   line 30
    31   line 31
    32   line 32
    33 - line 33
    33   line 34
    34   line 35
    35   line 36
    "#);
    insta::assert_snapshot!(between("a", &old, &new, 4, &Theme::plain(60)), @r#"
    a
     1   line 1
     2   line 2
     3 - line 3
    … 12 more lines
    "#);
}

#[test]
fn marks_new_and_deleted_files() {
    let new = "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n";
    assert_eq!(unified(new, 9, &Theme::plain(60)), "  x (new)\n  1 + a\n");
    let gone = "--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n--- a\n";
    assert_eq!(unified(gone, 9, &Theme::plain(60)), "  x (deleted)\n  1 - -- a\n");
    assert_eq!(changed_lines(new), (1, 0));
    assert_eq!(changed_lines(gone), (0, 1));
}

#[test]
fn neutralises_text_that_is_not_a_diff() {
    let theme = Theme::plain(20);
    assert_eq!(unified("run \u{1b}[2J this and that and more", 9, &theme), "  run ⟨U+001B⟩[2J t…\n");
    assert_eq!(unified("", 9, &theme), "");
    let hostile = "--- a/x\n+++ b/\u{1b}]0;x\u{7}\n@@ -1 +1 @@\n-a\u{202e}b\n+\u{9b}31m\n";
    let shown = unified(hostile, 9, &Theme::full(60));
    let ours = shown.replace("\u{1b}[", "");
    assert!(!ours.chars().any(|letter| letter.is_control() && letter != '\n') && !ours.contains('\u{202e}'));
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let new = NEW.replace("call", &"漢字".repeat(60));
    for width in 12..60 {
        for line in between("src/main.rs", OLD, &new, 100, &Theme::plain(width)).lines() {
            assert!(text::width(line) <= width, "{width}: {line}");
        }
    }
}

#[test]
fn wide_terminal_shows_both_sides() {
    let shown = between("src/main.rs", OLD, NEW, 100, &Theme::plain(140));
    insta::assert_snapshot!(shown);
    assert!(!between("src/main.rs", OLD, NEW, 100, &Theme::plain(139)).contains('│'));
    assert!(
        !between("src/main.rs", "", NEW, 100, &Theme::plain(140)).contains('│'),
        "a new file has one side"
    );
    let file = Theme { is_terminal: false, ..Theme::plain(140) };
    assert!(!between("src/main.rs", OLD, NEW, 100, &file).contains('│'));
    let few = between("src/main.rs", OLD, NEW, 3, &Theme::plain(140));
    assert!(few.ends_with("… 5 more lines\n"), "{few}");
}

#[test]
fn two_sides_for_approval_are_complete_and_fit() {
    let long = format!("call({});", "漢字 and words ".repeat(20));
    let new = NEW.replace("call(total);", &long);
    let diff = TextDiff::from_lines(OLD, &new).unified_diff().header("a/x", "b/x").to_string();
    for width in 140..170 {
        let shown = exact(&diff, 100, &Theme::plain(width));
        let rows: Vec<&str> = shown.lines().filter(|line| line.contains('│')).collect();
        assert!(rows.iter().all(|row| text::width(row) <= width), "{width}: {shown}");
        let right: String =
            rows.iter().filter_map(|row| row.split_once('│')).map(|(_, right)| right).collect();
        assert_eq!(right.matches('漢').count(), 20, "{width}: {shown}");
    }
}
