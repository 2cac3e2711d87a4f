//! What changed between two texts, line by line.
//!
//! Owns the form: lines that went with `- `, lines that came with `+ `, a line before each change so that it can be found.
//! Finds one changed stretch between what both texts begin and end with, which is what changes of facts look like.

/// The difference, when there is one.
pub(super) fn difference(before: &str, after: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let head = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let (old_rest, new_rest) = (old.get(head..).unwrap_or_default(), new.get(head..).unwrap_or_default());
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(old, new)| old == new).count();
    let gone = old_rest.get(..old_rest.len() - tail).unwrap_or_default();
    let come = new_rest.get(..new_rest.len() - tail).unwrap_or_default();
    let mut told = String::new();
    let mut line = |mark: &str, text: &str| {
        told.push_str(mark);
        told.push_str(text);
        told.push('\n');
    };
    if let Some(before) = head.checked_sub(1).and_then(|at| old.get(at)) {
        line("  ", before);
    }
    gone.iter().for_each(|text| line("- ", text));
    come.iter().for_each(|text| line("+ ", text));
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changed_is_told_after_the_line_before_it() {
        assert_eq!(difference("a\nb\nc\nd\n", "a\nb\nx\ny\nd\n"), "  b\n- c\n+ x\n+ y\n");
        assert_eq!(difference("a\n", "a\nb\n"), "  a\n+ b\n");
        assert_eq!(difference("a\na\n", "a\n"), "  a\n- a\n");
        assert_eq!(difference("", "a\n"), "+ a\n");
        assert_eq!(difference("a\n", ""), "- a\n");
    }
}
