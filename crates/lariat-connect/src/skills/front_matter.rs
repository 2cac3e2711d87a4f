//! Parses the front matter of a Markdown file, which skills and rules begin with.
//!
//! It is YAML, and read as such if it is valid. Many authors write it without the quotes that YAML requires (a colon or a
//! leading `*` in a value), so a lenient reader takes over where it is not. That reader never fails: it understands
//! `key: value`, quoted values, values that continue in indented lines, block scalars (`|`, `>`) and lists. Deeper nesting
//! stays as text under the top-level key.

use lariat_core::permission::split_rules;

use super::yaml;

/// The keys of a front matter and their values, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrontMatter {
    entries: Vec<(String, FrontMatterField)>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FrontMatterField {
    pub(super) text: String,
    pub(super) items: Vec<String>,
}

/// The line before and after a front matter.
const FENCE: &str = "---";

impl FrontMatter {
    /// Parses the front matter of `text`; empty if there is none.
    pub fn of(text: &str) -> Self {
        Self::split(text).0
    }

    /// Splits `text` into its front matter and the body after it.
    pub fn split(text: &str) -> (Self, &str) {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let none = (Self::default(), text);
        let mut lines = text.split_inclusive('\n');
        let Some(first) = lines.next().filter(|line| line.trim_end() == FENCE) else { return none };
        let mut at = first.len();
        let mut inside = Vec::new();
        for line in lines {
            at += line.len();
            if line.trim_end() == FENCE {
                let front = match yaml::entries(&inside.join("\n")) {
                    Some(entries) => Self { entries },
                    None => Self::parse_leniently(&inside),
                };
                return (front, text.get(at..).unwrap_or_default());
            }
            inside.push(line.trim_end());
        }
        none
    }

    /// Returns whether there is such a key.
    pub fn has(&self, key: &str) -> bool {
        self.entry(key).is_some()
    }

    /// Returns the value of `key`.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.entry(key).map(|entry| entry.text.as_str())
    }

    /// Returns the values of `key`: the items of a list, or the parts of a comma-separated text.
    pub fn list(&self, key: &str) -> Vec<String> {
        let Some(entry) = self.entry(key) else { return Vec::new() };
        if !entry.items.is_empty() {
            return entry.items.clone();
        }
        let inner = entry.text.trim().trim_start_matches('[').trim_end_matches(']');
        split_outside_braces(inner)
            .iter()
            .map(|item| unquoted(item))
            .filter(|item| !item.is_empty())
            .collect()
    }

    /// Returns the permission rules or tool names of `key`: a list, or one text such as `Read, Bash(git add:*)`.
    pub fn rules(&self, key: &str) -> Vec<String> {
        match self.get(key) {
            Some(text) if !text.is_empty() => split_rules(text.trim_start_matches('[').trim_end_matches(']')),
            _ => self.list(key),
        }
    }

    /// Returns the `model`; `None` if it is the one of the session.
    pub fn model(&self) -> Option<&str> {
        self.get("model").map(str::trim).filter(|name| !matches!(*name, "" | "inherit" | "default"))
    }

    fn entry(&self, key: &str) -> Option<&FrontMatterField> {
        self.entries.iter().find(|(known, _)| known == key).map(|(_, entry)| entry)
    }

    fn parse_leniently(lines: &[&str]) -> Self {
        let mut front = Self::default();
        let mut block = BlockStyle::Plain;
        for line in lines {
            let is_inside = line.starts_with([' ', '\t']) || line.trim().is_empty();
            let item = line.trim_start().strip_prefix("- ").or((line.trim() == "-").then_some(""));
            if !is_inside && item.is_none() {
                if line.starts_with('#') {
                    continue;
                }
                let Some((key, value)) = line.split_once(':') else { continue };
                let value = value.trim();
                block = BlockStyle::of(value);
                let text = if block == BlockStyle::Plain { unquoted(value) } else { String::new() };
                front.entries.push((key.trim().to_owned(), FrontMatterField { text, items: Vec::new() }));
                continue;
            }
            let Some((_, entry)) = front.entries.last_mut() else { continue };
            match item.filter(|_| block == BlockStyle::Plain && entry.text.is_empty()) {
                Some(item) => entry.items.push(unquoted(item)),
                None => block.append_line(&mut entry.text, line),
            }
        }
        front.entries.iter_mut().for_each(|(_, entry)| entry.text.truncate(entry.text.trim_end().len()));
        front
    }
}

/// How the indented lines after a key extend its value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BlockStyle {
    /// Lines are joined with spaces.
    Plain,
    /// Lines are preserved.
    Literal,
    /// Lines are joined with spaces; an empty line is a line break.
    Folded,
}

impl BlockStyle {
    fn of(value: &str) -> Self {
        match value.chars().next() {
            Some('|') if value.len() <= 3 => Self::Literal,
            Some('>') if value.len() <= 3 => Self::Folded,
            _ => Self::Plain,
        }
    }

    fn append_line(self, text: &mut String, line: &str) {
        let words = line.trim();
        match self {
            Self::Literal => {
                text.push_str(words);
                text.push('\n');
            }
            Self::Plain | Self::Folded if words.is_empty() => text.push('\n'),
            Self::Plain | Self::Folded => {
                if !text.is_empty() && !text.ends_with('\n') {
                    text.push(' ');
                }
                text.push_str(words);
            }
        }
    }
}

/// Returns `value` without its quotes and without a trailing comment.
fn unquoted(value: &str) -> String {
    let value = value.trim();
    for quote in ['"', '\''] {
        if let Some(inner) = value.strip_prefix(quote)
            && let Some(end) = inner.rfind(quote)
        {
            let inner = inner.get(..end).unwrap_or_default();
            return if quote == '"' {
                inner.replace("\\\"", "\"").replace("\\n", "\n").replace("\\\\", "\\")
            } else {
                inner.replace("''", "'")
            };
        }
    }
    value.split(" #").next().unwrap_or_default().trim_end().to_owned()
}

/// Splits at commas, except in braces, where a comma belongs to a glob.
fn split_outside_braces(text: &str) -> Vec<String> {
    let mut items = vec![String::new()];
    let mut depth = 0_usize;
    for c in text.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                items.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(item) = items.last_mut() {
            item.push(c);
        }
    }
    items
}

#[cfg(test)]
#[path = "front_matter_tests.rs"]
mod tests;
