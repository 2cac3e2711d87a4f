//! Checks whether a link or a file reference points to something in the repository.
//!
//! A link is relative to its document. A code span is treated as a file reference if it is a path with a
//! known extension and either has a part after a colon (`xtask/src/main.rs:12`, `xtask/src/main.rs::perform`)
//! or starts with a top-level entry of the repository. Other spans may name files of a user's project and are
//! ignored.
//! Invariant: a referenced line or heading exists, and a referenced name is an item of the Rust file, or occurs in a file
//! of another kind, so that "proven by" stays true.

use super::headings;
use super::markdown::{Kind, Reference};
use crate::rust_tokens::{TokenKind, tokens};
use crate::workspace::Workspace;

/// Keywords that come before the name of an item.
const ITEMS: &[&str] = &["fn", "struct", "enum", "trait", "type", "mod", "const", "static", "macro_rules"];

/// Extensions that make a code span a file name.
const ENDINGS: &[&str] =
    &["html", "json", "jsonl", "lock", "md", "rs", "sh", "snap", "sql", "toml", "ts", "txt", "yml"];

/// Returns what is wrong with the reference; `None` if it is valid or not ours.
pub(crate) fn problem(workspace: &Workspace, document: &str, reference: &Reference) -> Option<String> {
    let text = reference.text.as_str();
    match reference.kind {
        Kind::Link => problem_of_link(workspace, document, text),
        Kind::Code => problem_of_code(workspace, document, text),
    }
}

fn problem_of_link(workspace: &Workspace, document: &str, link: &str) -> Option<String> {
    let path = link.split(['#', '?']).next().unwrap_or_default();
    if has_scheme(path) {
        return None;
    }
    let target = if path.is_empty() { Some(document.to_owned()) } else { resolve(document, path) };
    let Some(target) = target.filter(|target| path.is_empty() || workspace.exists(target)) else {
        return Some(format!(
            "link to `{link}`, which is not in the repository; fix the path or remove the link"
        ));
    };
    let (_, anchor) = link.split_once('#').filter(|_| target.ends_with(".md"))?;
    let text = workspace.read(&target).ok()?;
    (!headings::has_anchor(&text, anchor))
        .then(|| format!("link to `{link}`, but `{target}` has no such heading; fix the part after `#`"))
}

fn problem_of_code(workspace: &Workspace, document: &str, span: &str) -> Option<String> {
    let (path, place) = split_location(span)?;
    let from_top = path.split('/').next().is_some_and(|first| workspace.exists(first));
    if place == Location::Whole && !from_top {
        return None;
    }
    let candidates = [Some(path.to_owned()), resolve(document, path)];
    let Some(found) = candidates.into_iter().flatten().find(|path| workspace.exists(path)) else {
        return Some(format!("`{span}` names `{path}`, which is not in the repository; fix the path"));
    };
    let text = workspace.read(&found).ok()?;
    match place {
        Location::Whole => None,
        Location::Line(line) => (line == 0 || line > text.lines().count())
            .then(|| format!("`{span}` names a line that `{found}` does not have; name the item instead")),
        Location::Name("") => Some(format!("`{span}` has no name after the colons; add one or remove them")),
        Location::Name(name) if found.ends_with(".rs") => (!defines(&text, name))
            .then(|| format!("`{span}` names `{name}`, which `{found}` does not define; fix the name")),
        Location::Name(name) => (!has_word(&text, name))
            .then(|| format!("`{span}` names `{name}`, which does not occur in `{found}`; fix the name")),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Location<'a> {
    Whole,
    Line(usize),
    /// The last part of `file.rs::module::name`.
    Name(&'a str),
}

/// Splits a file reference into path and location; `None` if the span is not a file reference.
fn split_location(span: &str) -> Option<(&str, Location<'_>)> {
    let (path, rest) = span.split_once(':').unwrap_or((span, ""));
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let (_, ending) = path.rsplit_once('.')?;
    if !path.contains('/') || path.starts_with('/') || !path.chars().all(plain) || !ENDINGS.contains(&ending)
    {
        return None;
    }
    if rest.is_empty() {
        return Some((path, Location::Whole));
    }
    if let Some(name) = rest.strip_prefix(':') {
        let last = name.rsplit("::").next().unwrap_or(name);
        return Some((path, Location::Name(last.trim_end_matches("()"))));
    }
    // `12`, `12-30` and `12:4` all start with the line.
    let line = rest.split(['-', ':']).next().and_then(|digits| digits.parse().ok());
    Some((path, line.map_or(Location::Name(rest), Location::Line)))
}

fn has_scheme(link: &str) -> bool {
    let scheme = link.split_once(':').map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| {
        !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    })
}

/// Resolves `path` relative to the directory of `document`; `None` if it leaves the repository.
fn resolve(document: &str, path: &str) -> Option<String> {
    let folder = document.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Whether a Rust source defines an item of this name. A name in a comment or a call is not enough.
fn defines(source: &str, name: &str) -> bool {
    let mut follows_keyword = false;
    for token in tokens(source) {
        match token.kind {
            TokenKind::Comment => {}
            // The mark of `macro_rules!`.
            TokenKind::Mark if token.text == "!" => {}
            TokenKind::Word if follows_keyword && token.text == name => return true,
            _ => follows_keyword = token.kind == TokenKind::Word && ITEMS.contains(&token.text),
        }
    }
    false
}

fn has_word(text: &str, word: &str) -> bool {
    let part_of_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).unwrap_or_default();
        let after = text.get(at + word.len()..).unwrap_or_default();
        !before.ends_with(part_of_word) && !after.starts_with(part_of_word)
    })
}

#[cfg(test)]
#[path = "target_tests.rs"]
mod tests;
