//! Whether a link or a file reference leads to something in the repository.
//!
//! A link is relative to its document. A code span counts as a file reference when it is a path with a known
//! ending and either goes on after a colon (`xtask/src/main.rs:12`, `xtask/src/main.rs::perform`) or starts
//! at a top-level entry of the repository. Other spans may name files of a user's project and are left alone.
//! Invariant: a referenced line exists and a referenced name occurs in the file, so that "proven by" stays
//! true.

use super::markdown::{Kind, Reference};
use crate::workspace::Workspace;

/// Endings that make a code span a file name.
const ENDINGS: &[&str] =
    &["html", "json", "jsonl", "lock", "md", "rs", "sh", "snap", "sql", "toml", "ts", "txt", "yml"];

/// What is wrong with the reference, if it is one of ours and leads nowhere.
pub(crate) fn fault(workspace: &Workspace, document: &str, reference: &Reference) -> Option<String> {
    let text = reference.text.as_str();
    match reference.kind {
        Kind::Link => fault_of_link(workspace, document, text),
        Kind::Code => fault_of_code(workspace, document, text),
    }
}

fn fault_of_link(workspace: &Workspace, document: &str, link: &str) -> Option<String> {
    let path = link.split(['#', '?']).next().unwrap_or_default();
    if path.is_empty() || has_scheme(path) {
        return None;
    }
    let exists = beside(document, path).is_some_and(|path| workspace.exists(&path));
    (!exists)
        .then(|| format!("link to `{link}`, which is not in the repository; fix the path or remove the link"))
}

fn fault_of_code(workspace: &Workspace, document: &str, span: &str) -> Option<String> {
    let (path, place) = split_place(span)?;
    let from_top = path.split('/').next().is_some_and(|first| workspace.exists(first));
    if place == Place::Whole && !from_top {
        return None;
    }
    let candidates = [Some(path.to_owned()), beside(document, path)];
    let Some(found) = candidates.into_iter().flatten().find(|path| workspace.exists(path)) else {
        return Some(format!("`{span}` names `{path}`, which is not in the repository; fix the path"));
    };
    let text = workspace.read(&found).ok()?;
    match place {
        Place::Whole => None,
        Place::Line(line) => (line == 0 || line > text.lines().count())
            .then(|| format!("`{span}` names a line that `{found}` does not have; name the item instead")),
        Place::Name(name) => (!has_word(&text, name))
            .then(|| format!("`{span}` names `{name}`, which does not occur in `{found}`; fix the name")),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Place<'a> {
    Whole,
    Line(usize),
    /// The last part of `file.rs::module::name`.
    Name(&'a str),
}

/// The path and the place in it, when the span is a file reference at all.
fn split_place(span: &str) -> Option<(&str, Place<'_>)> {
    let (path, rest) = span.split_once(':').unwrap_or((span, ""));
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let (_, ending) = path.rsplit_once('.')?;
    if !path.contains('/') || path.starts_with('/') || !path.chars().all(plain) || !ENDINGS.contains(&ending)
    {
        return None;
    }
    if rest.is_empty() {
        return Some((path, Place::Whole));
    }
    if let Some(name) = rest.strip_prefix(':') {
        let last = name.rsplit("::").next().unwrap_or(name);
        return Some((path, Place::Name(last.trim_end_matches("()"))));
    }
    // `12`, `12-30` and `12:4` all begin with the line.
    let line = rest.split(['-', ':']).next().and_then(|digits| digits.parse().ok());
    Some((path, line.map_or(Place::Name(rest), Place::Line)))
}

fn has_scheme(link: &str) -> bool {
    let scheme = link.split_once(':').map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| {
        !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    })
}

/// `path` as seen from the folder of `document`; nothing when it leaves the repository.
fn beside(document: &str, path: &str) -> Option<String> {
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
