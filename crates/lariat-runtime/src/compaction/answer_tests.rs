//! Summaries as models write them.

use super::*;

#[test]
fn headings_of_any_kind_are_topics_and_words_around_them_are_not() {
    let answer = "Sure, here it is:\n```markdown\n# Parser\n- mended `a.rs`\n\n**Tests:**\n- 3 fail\nTopic: Next\n- go on\n```\n";
    let expected = "## Parser\n- mended `a.rs`\n## Tests\n- 3 fail\n## Next\n- go on";
    assert_eq!(topics(answer, 100).as_deref(), Some(expected));
}

#[test]
fn an_answer_without_headings_is_one_topic() {
    assert_eq!(topics("It went well.", 100).as_deref(), Some("## Earlier\nIt went well."));
}

#[test]
fn an_answer_without_content_or_without_end_is_no_summary() {
    for broken in ["", " \n ", "```\n```", "## Topic\n## Another", &"- on and on\n".repeat(500)] {
        assert_eq!(topics(broken, 100), None, "{broken:.40}");
    }
}
