//! The difference between two texts, line by line.
//!
//! Marks removed lines with `- ` and added lines with `+ `, after one line of context. Finds one changed
//! range between the common beginning and end, which is how facts usually change.

/// Returns the difference; empty if there is none.
pub(super) fn difference(before: &str, after: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let head = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let (old_rest, new_rest) = (old.get(head..).unwrap_or_default(), new.get(head..).unwrap_or_default());
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(old, new)| old == new).count();
    let removed = old_rest.get(..old_rest.len() - tail).unwrap_or_default();
    let added = new_rest.get(..new_rest.len() - tail).unwrap_or_default();
    let mut text = String::new();
    let mut push = |mark: &str, line: &str| {
        text.push_str(mark);
        text.push_str(line);
        text.push('\n');
    };
    if let Some(before) = head.checked_sub(1).and_then(|at| old.get(at)) {
        push("  ", before);
    }
    removed.iter().for_each(|line| push("- ", line));
    added.iter().for_each(|line| push("+ ", line));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn difference_contains_changed_lines_after_one_line_of_context() {
        assert_eq!(difference("a\nb\nc\nd\n", "a\nb\nx\ny\nd\n"), "  b\n- c\n+ x\n+ y\n");
        assert_eq!(difference("a\n", "a\nb\n"), "  a\n+ b\n");
        assert_eq!(difference("a\na\n", "a\n"), "  a\n- a\n");
        assert_eq!(difference("", "a\n"), "+ a\n");
        assert_eq!(difference("a\n", ""), "- a\n");
    }
}
