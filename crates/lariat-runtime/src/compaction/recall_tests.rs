//! Which lines of a text `recall` returns.

use super::*;

fn recalled(text: &str, first: usize, limit: usize, pattern: Option<&str>) -> String {
    let mut lines = LineCollector::new(first, limit, pattern.map(str::to_owned));
    // In whole lines, as in a real session.
    text.split_inclusive('\n').for_each(|chunk| lines.add(chunk));
    lines.finish()
}

#[test]
fn range_of_lines_names_the_next_offset() {
    let text = "a\nb\nc\nd";
    assert_eq!(recalled(text, 2, 2, None), "b\nc\n[More lines follow. Continue with `offset` 4.]\n");
    assert_eq!(recalled(text, 4, 2, None), "d\n[End of text.]\n");
    assert_eq!(recalled(text, 9, 2, None), "No lines from line 9 on.\n");
}

#[test]
fn matching_lines_have_line_numbers() {
    assert_eq!(recalled("x = 1\ny = 2\nx = 3", 1, 9, Some("x =")), "1: x = 1\n3: x = 3\n[End of text.]\n");
    assert_eq!(recalled("x", 1, 9, Some("z")), "No line from line 1 on contains that text.\n");
}
