use proptest::prelude::*;

use super::*;

#[test]
fn parses_a_section_of_each_kind() {
    let patch = "*** Begin Patch\n*** Add File: a\n+1\n+\n*** Delete File: b\n*** Update File: c\n*** Move to: d\n@@ fn x\n-1\n+2\n*** End Patch";
    let changes = parse(patch).unwrap();
    assert_eq!(changes[0], Change::Add { path: "a".into(), text: "1\n\n".into() });
    assert_eq!(changes[1], Change::Delete { path: "b".into(), hunks: vec![] });
    let hunk = Hunk {
        anchors: vec!["fn x".into()],
        lines: vec![Line::Remove("1".into()), Line::Add("2".into())],
        ..Hunk::default()
    };
    assert_eq!(changes[2], Change::Update { path: "c".into(), to: Some("d".into()), hunks: vec![hunk] });
}

#[test]
fn errors_name_the_line_of_the_patch() {
    for (patch, words) in [
        ("hello", "neither"),
        ("*** Begin Patch\n*** Add File: a\nx\n*** End Patch", "line 3"),
        ("*** Begin Patch\n*** Update File: a\n@@\nx\n*** End Patch", "line 4"),
        ("*** Begin Patch\n*** Add File: a\n+x", "End Patch"),
        ("*** Begin Patch\n*** Create File: a\n*** End Patch", "line 2"),
        ("*** Begin Patch\n*** End Patch", "no file"),
        ("--- a/x\n+++ b/x\n@@ nonsense\n", "line 3"),
        ("--- a/x\n", "only one"),
        ("--- a/x\n+++ b/x\n", "no hunk"),
    ] {
        let error = parse(patch).unwrap_err().to_string();
        assert!(error.contains(words), "{patch:?}: {error}");
    }
}

/// The guard and the tool must not read different file names from one patch.
#[test]
fn rejects_a_second_header_of_a_file() {
    const HUNK: &str = "@@ -1 +1 @@\n-a\n+b\n";
    for (patch, words) in [
        (format!("--- a/k\n+++ zzz\n+++ b/other\n{HUNK}"), "line 3"),
        (format!("--- a/k\n+++ b/k\n{HUNK}+++ b/other\n"), "line 6"),
        (format!("+++ b/other\n--- a/k\n{HUNK}"), "line 1"),
        (format!("--- a/k\n--- a/x\n+++ b/x\n{HUNK}"), "only one"),
        (HUNK.to_owned() + "--- a/k\n+++ b/k\n", "line 1"),
        (format!("rename from a\nrename from b\nrename to c\n--- a/a\n+++ b/c\n{HUNK}"), "line 2"),
        (format!("rename from a\nrename to b\nrename to c\n--- a/a\n+++ b/c\n{HUNK}"), "line 3"),
        (format!("--- a/k\nrename from k\nrename to l\n+++ b/l\n{HUNK}"), "line 2"),
        (format!("--- a/k\n+++ b/k\n{HUNK}rename from k\nrename to l\n"), "line 6"),
        (format!("rename from a\nrename to b\n--- a/c\n+++ b/d\n{HUNK}"), "different files"),
        (format!("rename from a\nrename to b\n--- /dev/null\n+++ b/d\n{HUNK}"), "different files"),
        ("rename from a\n".to_owned(), "both"),
        (format!("copy from a\ncopy to b\n--- a/a\n+++ b/b\n{HUNK}"), "line 1"),
        (format!("--- a/k\n+++ b/k\n{HUNK}--- a/k\n+++ b/k\n{HUNK}"), "twice"),
        ("--- /dev/null\n+++ /dev/null\n@@ -0,0 +1 @@\n+a\n".to_owned(), "not a file name"),
        ("*** Begin Patch\n*** Delete File: \n*** End Patch".to_owned(), "not a file name"),
        (
            "*** Begin Patch\n*** Update File: a\n*** Move to: b\n*** Move to: c\n*** End Patch".to_owned(),
            "line 4",
        ),
    ] {
        match parse(&patch) {
            Err(error) => assert!(error.to_string().contains(words), "{patch:?}: {error}"),
            Ok(changes) => panic!("{patch:?} parsed as {changes:?}"),
        }
    }
}

#[test]
fn parses_names_with_and_without_git_prefixes() {
    let paths = |patch: &str| -> Vec<String> {
        parse(patch).unwrap().iter().flat_map(Change::paths).map(str::to_owned).collect()
    };
    let hunk = "@@ -1 +1 @@\n-a\n+b\n";
    assert_eq!(paths(&format!("--- a/x\t2026\n+++ b/x\n{hunk}")), ["x"]);
    assert_eq!(paths(&format!("--- a/x\n+++ a/x\n{hunk}")), ["a/x"]);
    assert_eq!(paths(&format!("--- y\n+++ z\n{hunk}")), ["y", "z"]);
    assert_eq!(paths("diff --git a/o b/q\nrename from o\nrename to \"q\"\n"), ["o", "q"]);
    assert_eq!(paths(&format!("rename from o\nrename to q\n--- a/o\n+++ b/q\n{hunk}")), ["o", "q"]);
    // A removed line that looks like a header is content as long as the hunk expects a line.
    assert_eq!(paths("--- a/f\n+++ b/f\n@@ -1,2 +1,1 @@\n a\n--- note\n"), ["f"]);
}

proptest! {
    /// A parsed patch names every file once, and the parser skips none of its headers.
    #[test]
    fn unified_diff_parser_skips_no_header(lines in prop::collection::vec(prop::sample::select(vec![
        "--- a/x", "--- a/y", "--- /dev/null", "+++ b/x", "+++ b/y", "+++ /dev/null", "+++ z", "--- z",
        "@@ -1 +1 @@", "@@ -0,0 +1 @@", "-a", "+b", " c", "", "rename from x", "rename to z", "diff --git a/x b/y",
    ]), 0..14)) {
        let Ok(changes) = parse(&lines.join("\n")) else { return Ok(()) };
        let mut named: Vec<&str> = changes.iter().flat_map(Change::paths).collect();
        let count = named.len();
        named.sort_unstable();
        named.dedup();
        prop_assert_eq!(named.len(), count);
        // Lines inside hunks start with a sign of their own, so what looks like a header there was counted as
        // content.
        let content: usize = changes.iter().map(|change| match change {
            Change::Add { text, .. } => text.lines().filter(|line| line.starts_with("++ ")).count(),
            Change::Delete { hunks, .. } | Change::Update { hunks, .. } => hunks.iter().flat_map(|hunk| &hunk.lines)
                .filter(|line| match line {
                    Line::Add(line) => line.starts_with("++ "),
                    Line::Remove(line) => line.starts_with("-- "),
                    Line::Keep(_) => false,
                }).count(),
        }).sum();
        let headers = lines.iter().filter(|line| line.starts_with("--- ") || line.starts_with("+++ ")).count();
        prop_assert!(headers - content <= 2 * changes.len(), "{:?}", changes);
    }
}
