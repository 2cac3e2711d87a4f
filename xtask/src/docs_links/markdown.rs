//! Finds the links and file references in a markdown text.
//!
//! Understands just enough markdown: inline links and images, link definitions and code spans. Fenced blocks
//! are skipped.

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    /// Line number, from 1.
    pub(crate) line: usize,
    pub(crate) kind: Kind,
    pub(crate) text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `[words](text)` or `[label]: text`.
    Link,
    /// A code span.
    Code,
}

pub(crate) fn references(markdown: &str) -> Vec<Reference> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    for (number, line) in (1..).zip(markdown.lines()) {
        let start = line.trim_start();
        match fence {
            Some(mark) => {
                if start.starts_with(mark) {
                    fence = None;
                }
                continue;
            }
            None => fence = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark)),
        }
        if fence.is_some() {
            continue;
        }
        let (prose, spans) = without_code(line);
        let reference = |kind| move |text: &str| Reference { line: number, kind, text: text.to_owned() };
        found.extend(links(&prose).into_iter().map(reference(Kind::Link)));
        found.extend(spans.into_iter().map(reference(Kind::Code)));
    }
    found
}

/// Returns the line with its code spans emptied, and the spans.
fn without_code(line: &str) -> (String, Vec<&str>) {
    let mut prose = String::new();
    let mut spans = Vec::new();
    let mut rest = line;
    while let Some(at) = rest.find('`') {
        let (before, from) = rest.split_at(at);
        prose.push_str(before);
        let inside = from.trim_start_matches('`');
        let (ticks, _) = from.split_at(from.len() - inside.len());
        let Some((span, after)) = inside.split_once(ticks) else {
            rest = inside;
            continue;
        };
        spans.push(span.trim());
        prose.push_str("``");
        rest = after;
    }
    prose.push_str(rest);
    (prose, spans)
}

fn links(prose: &str) -> Vec<&str> {
    let mut found: Vec<&str> =
        prose.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(text, _)| text).collect();
    let definition = prose.trim_start().strip_prefix('[').and_then(|rest| rest.split_once("]: "));
    // A footnote, `[^1]: words`, looks the same but is prose.
    found.extend(definition.filter(|(label, _)| !label.starts_with('^')).map(|(_, text)| text));
    found.into_iter().filter_map(address).collect()
}

/// Returns the address without its title: `page.md "A title"` becomes `page.md`.
fn address(text: &str) -> Option<&str> {
    text.split_whitespace().next().map(|word| word.trim_start_matches('<').trim_end_matches('>'))
}

#[cfg(test)]
mod tests {
    use super::{Kind, references};

    fn of_kind(markdown: &str, kind: Kind) -> Vec<(usize, String)> {
        let all = references(markdown).into_iter().filter(|reference| reference.kind == kind);
        all.map(|reference| (reference.line, reference.text)).collect()
    }

    fn owned(expected: &[(usize, &str)]) -> Vec<(usize, String)> {
        expected.iter().map(|(line, text)| (*line, (*text).to_owned())).collect()
    }

    #[test]
    fn finds_links_images_and_definitions() {
        let text =
            "[a](one.md) and ![b](two.png \"B\")\n\n[c]: three.md\n[^1]: a footnote\n[`code`](four.md)\n";
        let expected = [(1, "one.md"), (1, "two.png"), (3, "three.md"), (5, "four.md")];
        assert_eq!(of_kind(text, Kind::Link), owned(&expected));
    }

    #[test]
    fn finds_code_spans_but_no_links_inside_them() {
        let text = "see `src/a.rs:3` and ``[x](`y`)`` and an odd ` tick\n";
        assert_eq!(of_kind(text, Kind::Code), owned(&[(1, "src/a.rs:3"), (1, "[x](`y`)")]));
        assert_eq!(of_kind(text, Kind::Link), []);
    }

    #[test]
    fn skips_fenced_blocks_until_their_own_mark() {
        let text = "```rust\n[a](gone.md)\n~~~\n```\n[b](here.md)\n";
        assert_eq!(of_kind(text, Kind::Link), owned(&[(5, "here.md")]));
    }
}
