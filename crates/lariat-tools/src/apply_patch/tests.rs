use lariat_core::patch::{Hunk, parse};

use super::hunk::apply;
use super::*;

fn patched(text: &str, hunks: &[Hunk]) -> String {
    apply("f", &Text::new(text), hunks)
        .map_or_else(|error| error.to_string(), |text| text.as_str().to_owned())
}

fn hunks(patch: &str) -> Vec<Hunk> {
    match parse(patch).unwrap().into_iter().next() {
        Some(Change::Update { hunks, .. }) => hunks,
        other => panic!("{other:?}"),
    }
}

#[test]
fn applies_a_hunk_at_the_nearest_match() {
    let text = "a\nx\nb\nx\nc\nx\n";
    let at = |line: usize| hunks(&format!("--- a/f\n+++ b/f\n@@ -{line},1 +{line},1 @@\n-x\n+y\n"));
    assert_eq!(patched(text, &at(2)), "a\ny\nb\nx\nc\nx\n");
    assert_eq!(patched(text, &at(4)), "a\nx\nb\ny\nc\nx\n");
    assert_eq!(patched(text, &at(60)), "a\nx\nb\nx\nc\ny\n");
}

#[test]
fn shifted_hunks_stay_together() {
    let text = "new\nnew\na\nx\nb\nx\n";
    let both = hunks("--- a/f\n+++ b/f\n@@ -2,1 +2,1 @@\n-x\n+y\n@@ -4,1 +4,1 @@\n-x\n+z\n");
    assert_eq!(patched(text, &both), "new\nnew\na\ny\nb\nz\n");
}

#[test]
fn keeps_the_final_newline_unless_the_patch_changes_it() {
    let update =
        |body: &str| hunks(&format!("*** Begin Patch\n*** Update File: f\n@@\n{body}\n*** End Patch"));
    assert_eq!(patched("a\nb", &update("-b\n+c")), "a\nc");
    assert_eq!(patched("a\nb", &update(" b\n+c")), "a\nb\nc");
    assert_eq!(patched("a\nb", &update(" a\n-b")), "a");
    assert_eq!(patched("a\nb\n", &update(" b\n+c")), "a\nb\nc\n");
    let unified = |body: &str| hunks(&format!("--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n{body}\n"));
    assert_eq!(patched("a\nb", &unified("-b\n\\ No newline at end of file\n+c")), "a\nc\n");
    assert_eq!(patched("a\nb\n", &unified("-b\n+c\n\\ No newline at end of file")), "a\nc");
    assert_eq!(
        patched("a\nb", &unified("-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file")),
        "a\nc"
    );
}

#[test]
fn context_keeps_the_white_space_of_the_file() {
    let update = hunks("*** Begin Patch\n*** Update File: f\n@@\n if x:\n-  old\n+    new\n*** End Patch");
    assert_eq!(patched("\tif x:  \n\t  old\nend\n", &update), "\tif x:  \n    new\nend\n");
}

#[test]
fn inserts_lines_without_context() {
    let end = hunks("*** Begin Patch\n*** Update File: f\n@@\n+z\n*** End Patch");
    assert_eq!(patched("a\n", &end), "a\nz\n");
    let after = hunks("*** Begin Patch\n*** Update File: f\n@@ a\n+z\n*** End Patch");
    assert_eq!(patched("a\nb\n", &after), "a\nz\nb\n");
    let numbered = hunks("--- a/f\n+++ b/f\n@@ -1,0 +2,1 @@\n+z\n");
    assert_eq!(patched("a\nb\n", &numbered), "a\nz\nb\n");
}

#[test]
fn removed_line_that_looks_like_a_file_header_is_a_line() {
    let sql = hunks("--- a/f\n+++ b/f\n@@ -1,2 +1,1 @@\n a\n--- note\n");
    assert_eq!(patched("a\n-- note\nb\n", &sql), "a\nb\n");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test creates its own files")]
fn does_not_move_a_file_that_changed_after_the_check() {
    use lariat_host::files::{FileVersion, Workspace};

    let folder = std::env::temp_dir().join(format!("lariat-move-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("a"), "one\n").unwrap();
    let bench = Workbench::new(Workspace::open(&folder).unwrap());
    let content = bench.workspace().read("a", 100).unwrap();
    let known = FileVersion::of(content.stamp, &content.bytes);
    std::fs::write(folder.join("a"), "two and more\n").unwrap();
    let step = CommitStep::Rename { from: "a".into(), to: "new/b".into(), known };
    let error = commit::commit(&bench, vec![step]).unwrap_err().to_string();
    assert!(error.contains("has changed since it was read"), "{error}");
    assert_eq!(std::fs::read_to_string(folder.join("a")).unwrap(), "two and more\n");
    assert!(!folder.join("new").exists());
    std::fs::remove_dir_all(folder).unwrap();
}
