//! What of a memory file is shown, and what it imports.
//!
//! Comments that stand by themselves are for people and taken out. In code nothing is a comment or an import.

/// The lines of a Markdown text, with whether they are inside of a code block.
fn lines(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let mut fence: Option<&str> = None;
    text.lines().map(move |line| {
        let start = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => {
                fence = Some(mark);
                (line, true)
            }
            (Some(open), Some(mark)) if open == mark => {
                fence = None;
                (line, true)
            }
            (fence, _) => (line, fence.is_some()),
        }
    })
}

/// The text without comments that stand by themselves.
pub(super) fn shown(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut shown = String::with_capacity(text.len());
    let mut inside = false;
    for (line, code) in lines(text) {
        let mut rest = line;
        if !code && !inside && line.trim_start().starts_with("<!--") {
            inside = true;
            rest = line.trim_start().get(4..).unwrap_or_default();
        }
        if inside && !code {
            let Some((_, after)) = rest.split_once("-->") else { continue };
            inside = false;
            if after.trim().is_empty() {
                continue;
            }
            rest = after;
        }
        shown.push_str(rest);
        shown.push('\n');
    }
    shown
}

/// The paths that a text imports: `@path`, at the beginning of a word, outside of code.
pub(super) fn imports(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (line, _) in lines(text).filter(|(_, code)| !code) {
        // Every second piece between backticks is code.
        for prose in line.split('`').step_by(2) {
            let words = prose.split_whitespace().filter_map(|word| word.strip_prefix('@'));
            for word in words {
                let path = word.trim_end_matches(['.', ',', ';', ':', ')', '!', '?', '"', '\'']);
                if path.contains(['/', '.']) && !found.iter().any(|known| known == path) {
                    found.push(path.to_owned());
                }
            }
        }
    }
    found
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
