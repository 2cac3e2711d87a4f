//! Reads a summary that a model wrote.
//!
//! Lenient: accepts headings of any style, code fences and surrounding text. Rejects a text that has no
//! content or is longer than a summary may be.

use lariat_core::context::estimate_tokens;

/// Extracts the topics of a summary; `None` if it has no content or is much longer than `max_tokens`.
pub(super) fn topics(reply: &str, max_tokens: u64) -> Option<String> {
    let lines: Vec<&str> = reply.lines().map(str::trim_end).filter(|line| !line.starts_with("```")).collect();
    let first = lines.iter().position(|line| heading(line).is_some());
    let mut text = String::new();
    if first.is_none() {
        text.push_str("## Earlier\n");
    }
    let mut facts = 0;
    for line in lines.iter().skip(first.unwrap_or(0)) {
        match heading(line) {
            Some(topic) => text.push_str(&format!("## {topic}\n")),
            None if line.trim().is_empty() => {}
            None => {
                facts += 1;
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    // Half as much again: a summary that is a little too long is better than none.
    let fits = estimate_tokens(&text) <= max_tokens + max_tokens / 2;
    (facts > 0 && fits).then(|| text.trim_end().to_owned())
}

/// Returns the topic if the line is a heading.
fn heading(line: &str) -> Option<&str> {
    let line = line.trim();
    let bold = || line.strip_prefix("**")?.strip_suffix("**").map(|topic| topic.trim_end_matches(':'));
    let marked = || line.strip_prefix('#').map(|rest| rest.trim_start_matches('#'));
    let named = || line.strip_prefix("Topic:");
    let topic = marked().or_else(bold).or_else(named)?.trim();
    (!topic.is_empty()).then_some(topic)
}

#[cfg(test)]
mod tests {
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
}
