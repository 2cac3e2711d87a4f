//! Creates unified diffs for users.
//!
//! The output is bounded. The common start and end are skipped before anything is compared, so that a small change in a
//! large file costs little.

use similar::{Algorithm, DiffOp, capture_diff_slices, group_diff_ops};

/// Number of context lines around a change.
const CONTEXT: usize = 3;
/// Maximum size of a diff in bytes.
const LIMIT: usize = 64 * 1024;
/// Maximum number of lines to compare; a larger change is shown as one replacement.
const MAX_COMPARED: usize = 20_000;

/// Returns the unified diff of two versions of a file; empty if they are equal.
pub fn unified(path: &str, old: &str, new: &str) -> String {
    if old == new {
        return String::new();
    }
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    let start = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let most = old.len().min(new.len()) - start;
    let end = old.iter().rev().zip(new.iter().rev()).take(most).take_while(|(old, new)| old == new).count();
    let middle = |lines: &[&str]| start..lines.len() - end;
    let (from, to) = (middle(&old), middle(&new));
    let mut ops = vec![DiffOp::Equal { old_index: 0, new_index: 0, len: start }];
    if from.len() + to.len() > MAX_COMPARED {
        ops.push(DiffOp::Replace {
            old_index: start,
            old_len: from.len(),
            new_index: start,
            new_len: to.len(),
        });
    } else {
        let (from, to) = (old.get(from).unwrap_or_default(), new.get(to).unwrap_or_default());
        ops.extend(capture_diff_slices(Algorithm::Myers, from, to).into_iter().map(|op| shift_op(op, start)));
    }
    ops.push(DiffOp::Equal { old_index: old.len() - end, new_index: new.len() - end, len: end });
    ops.retain(|op| !op.old_range().is_empty() || !op.new_range().is_empty());

    let mut text = format!("--- a/{path}\n+++ b/{path}\n");
    for hunk in group_diff_ops(ops, CONTEXT) {
        let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else { continue };
        let old_range = first.old_range().start..last.old_range().end;
        let new_range = first.new_range().start..last.new_range().end;
        text.push_str(&format!("@@ -{} +{} @@\n", header(&old_range), header(&new_range)));
        for op in &hunk {
            let (before, after) = (op.old_range(), op.new_range());
            match op {
                DiffOp::Equal { .. } => put(&mut text, ' ', old.get(before)),
                _ => {
                    put(&mut text, '-', old.get(before));
                    put(&mut text, '+', new.get(after));
                }
            }
        }
        if text.len() > LIMIT {
            text.truncate(text.floor_char_boundary(LIMIT));
            text.push_str("\n[… diff cut here]\n");
            break;
        }
    }
    text
}

fn shift_op(op: DiffOp, by: usize) -> DiffOp {
    match op {
        DiffOp::Equal { old_index, new_index, len } => {
            DiffOp::Equal { old_index: old_index + by, new_index: new_index + by, len }
        }
        DiffOp::Delete { old_index, old_len, new_index } => {
            DiffOp::Delete { old_index: old_index + by, old_len, new_index: new_index + by }
        }
        DiffOp::Insert { old_index, new_index, new_len } => {
            DiffOp::Insert { old_index: old_index + by, new_index: new_index + by, new_len }
        }
        DiffOp::Replace { old_index, old_len, new_index, new_len } => {
            DiffOp::Replace { old_index: old_index + by, old_len, new_index: new_index + by, new_len }
        }
    }
}

fn header(range: &std::ops::Range<usize>) -> String {
    let start = if range.is_empty() { range.start } else { range.start + 1 };
    if range.len() == 1 { start.to_string() } else { format!("{start},{}", range.len()) }
}

fn put(text: &mut String, sign: char, lines: Option<&[&str]>) {
    for line in lines.unwrap_or_default() {
        text.push(sign);
        text.push_str(line);
        if !line.ends_with('\n') {
            text.push_str("\n\\ No newline at end of file\n");
        }
    }
}

#[cfg(test)]
mod tests {
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
}
