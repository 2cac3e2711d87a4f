//! The anchors of a Markdown text, as GitHub makes them from its headings.

use std::collections::BTreeMap;

/// Whether a heading of the text has this anchor.
pub(crate) fn has_anchor(markdown: &str, anchor: &str) -> bool {
    let mut used: BTreeMap<String, usize> = BTreeMap::new();
    let mut fence: Option<&str> = None;
    for line in markdown.lines() {
        let start = line.trim_start();
        if let Some(mark) = fence {
            if start.starts_with(mark) {
                fence = None;
            }
            continue;
        }
        fence = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark));
        let Some(heading) = heading(line) else { continue };
        let slug = slug(heading);
        let before = used.entry(slug.clone()).or_default();
        let name = if *before == 0 { slug } else { format!("{slug}-{before}") };
        *before += 1;
        if name == anchor {
            return true;
        }
    }
    false
}

/// The words of a heading, `## Words`.
fn heading(line: &str) -> Option<&str> {
    let words = line.trim_start_matches('#');
    (words.len() < line.len()).then_some(words).and_then(|words| words.strip_prefix(' '))
}

fn slug(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::has_anchor;

    #[test]
    fn headings_have_the_anchors_of_github() {
        let text = "# One, `two`: three\n\n```sh\n# not this\n```\n## A & B\n## Again\n## Again\n#hash\n";
        for anchor in ["one-two-three", "a--b", "again", "again-1"] {
            assert!(has_anchor(text, anchor), "{anchor}");
        }
        for anchor in ["not-this", "again-2", "hash", "One-two-three"] {
            assert!(!has_anchor(text, anchor), "{anchor}");
        }
    }
}
