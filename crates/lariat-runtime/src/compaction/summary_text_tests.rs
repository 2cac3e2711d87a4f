//! Summaries as models write them.

use super::*;

#[test]
fn headings_of_any_style_are_topics_and_surrounding_text_is_dropped() {
    let answer = "Sure, here it is:\n```markdown\n# Parser\n- fixed `a.rs`\n\n**Tests:**\n- 3 fail\nTopic: Next\n- continue\n```\n";
    let expected = "## Parser\n- fixed `a.rs`\n## Tests\n- 3 fail\n## Next\n- continue";
    assert_eq!(topics(answer, 100).as_deref(), Some(expected));
}

#[test]
fn summary_without_headings_is_one_topic() {
    assert_eq!(topics("It went well.", 100).as_deref(), Some("## Earlier\nIt went well."));
}

#[test]
fn rejects_empty_and_endless_summaries() {
    for broken in ["", " \n ", "```\n```", "## Topic\n## Another", &"- on and on\n".repeat(500)] {
        assert_eq!(topics(broken, 100), None, "{broken:.40}");
    }
}
