use super::*;

#[test]
fn diff_has_context_and_line_numbers() {
    let old: String = (1..=20).map(|line| format!("{line}\n")).collect();
    let new = old.replace("10\n", "ten\n").replace("20\n", "20");
    assert_eq!(
        unified("f", &old, &new),
        "--- a/f\n+++ b/f\n@@ -7,7 +7,7 @@\n 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13\n\
         @@ -17,4 +17,4 @@\n 17\n 18\n 19\n-20\n+20\n\\ No newline at end of file\n"
    );
}

#[test]
fn diff_of_new_and_emptied_files_has_one_side() {
    assert_eq!(unified("f", "", "a\n"), "--- a/f\n+++ b/f\n@@ -0,0 +1 @@\n+a\n");
    assert_eq!(unified("f", "a\nb\n", ""), "--- a/f\n+++ b/f\n@@ -1,2 +0,0 @@\n-a\n-b\n");
    assert_eq!(unified("f", "a", "a"), "");
}

#[test]
fn diff_is_limited() {
    let new = "x\n".repeat(100_000);
    assert!(unified("f", "", &new).len() < LIMIT + 100);
}
