//! Which lines of a text are shown.

use super::*;

fn shown(text: &str, first: usize, most: usize, pattern: Option<&str>) -> String {
    let mut page = Page::new(first, most, pattern.map(str::to_owned));
    // Whole lines at a time, as they come.
    text.split_inclusive('\n').for_each(|piece| page.take(piece));
    page.shown()
}

#[test]
fn a_range_of_lines_says_where_to_go_on() {
    let text = "a\nb\nc\nd";
    assert_eq!(shown(text, 2, 2, None), "b\nc\n[More follow. Go on with `offset` 4.]\n");
    assert_eq!(shown(text, 4, 2, None), "d\n[That was the end.]\n");
    assert_eq!(shown(text, 9, 2, None), "There are no lines from line 9 on.\n");
}

#[test]
fn lines_that_contain_a_text_have_their_numbers() {
    assert_eq!(shown("x = 1\ny = 2\nx = 3", 1, 9, Some("x =")), "1: x = 1\n3: x = 3\n[That was the end.]\n");
    assert_eq!(shown("x", 1, 9, Some("z")), "No line contains that from line 1 on.\n");
}
