//! Knows the files that instruct agents: their names, and the files they import with `@path`.
//!
//! Trust and prompts share this code, so that what the user sees before trusting a project is what the model reads later.
//! An `@path` in code is not an import.

/// The instruction files of a directory for Claude Code, in the order in which the model reads them.
pub const CLAUDE: [&str; 3] = ["CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"];
/// The instruction files of a directory for other agents.
pub const AGENTS: [&str; 2] = ["AGENTS.md", ".claude/AGENTS.md"];
/// The directory of rules for paths: every Markdown file below it.
pub const RULES: &str = ".claude/rules";
/// Maximum length of a chain of imports.
pub const MOST_HOPS: usize = 4;

/// Whether a path relative to a directory names a file that instructs agents.
pub fn is_instruction(path: &str) -> bool {
    CLAUDE.contains(&path)
        || AGENTS.contains(&path)
        || (path.starts_with(".claude/rules/") && path.ends_with(".md"))
}

/// Returns the lines of a Markdown text, each with whether it is inside a code block.
pub fn lines(text: &str) -> impl Iterator<Item = (&str, bool)> {
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

/// Removes comments that start a line: they are for human readers.
pub fn without_comments(text: &str) -> String {
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

/// Returns the paths that a text imports: `@path` at the start of a word, outside code.
pub fn imports(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (line, _) in lines(text).filter(|(_, code)| !code) {
        // Every second segment between backticks is code.
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

/// Resolves an import relative to the directory that instructions may not leave; `None` if it leads out of it.
pub fn import_target(file: &str, import: &str) -> Option<String> {
    if import.starts_with(['/', '~']) {
        return None;
    }
    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(import.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_comments_that_start_a_line() {
        let text = "a\n<!-- one -->\nb\n<!-- two\nlines\n-->\nc <!-- stays -->\n```\n<!-- code -->\n```\n";
        assert_eq!(without_comments(text), "a\nb\nc <!-- stays -->\n```\n<!-- code -->\n```\n");
        assert_eq!(without_comments("<!-- never closed\ntext"), "");
    }

    #[test]
    fn imports_are_at_words_outside_code() {
        let text = "See @docs/a.md, and @b.md.\nMail me@x.org or @ada. `@code.md`\n```\n@fenced.md\n```\n(@no) @docs/a.md\n@~/own.md";
        assert_eq!(imports(text), ["docs/a.md", "b.md", "~/own.md"]);
    }

    #[test]
    fn import_cannot_leave_the_project() {
        assert_eq!(import_target("CLAUDE.md", "docs/a.md").as_deref(), Some("docs/a.md"));
        assert_eq!(import_target("docs/x/a.md", "../b.md").as_deref(), Some("docs/b.md"));
        for out in ["../b.md", "/etc/passwd", "~/.aws/credentials", "docs/../../b.md", "~", "."] {
            assert_eq!(import_target("CLAUDE.md", out), None, "{out}");
        }
    }
}
