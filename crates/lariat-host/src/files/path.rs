//! Maps the text of a path that a model wrote to a root and a path relative to it.
//!
//! This only selects the root and provides no safety: the kernel resolves the result beneath that root. A relative path
//! belongs to the first root. An absolute path belongs to the root with the longest matching prefix, compared with the
//! root's path as given and its canonical path.

use std::path::{Component, Path, PathBuf};

use super::error::{FileError, shorten};
use super::workspace::Root;

/// A root and a path relative to it, not resolved yet.
#[derive(Clone, Debug)]
pub(super) struct MappedPath {
    pub(super) root: usize,
    pub(super) relative: PathBuf,
}

/// Maps a path that a model wrote.
pub(super) fn map(roots: &[Root], text: &str) -> Result<MappedPath, FileError> {
    if text.is_empty() {
        return Err(FileError::Malformed { path: String::new(), reason: "it is empty" });
    }
    if text.contains('\0') {
        let path = shorten(&text.replace('\0', "\u{fffd}"));
        return Err(FileError::Malformed { path, reason: "it has a NUL character" });
    }
    if text == "~" || text.starts_with("~/") {
        let reason = "`~` is not expanded; write the path relative to the workspace";
        return Err(FileError::Malformed { path: shorten(text), reason });
    }
    let path = Path::new(text);
    if path.is_relative() {
        return Ok(MappedPath { root: 0, relative: path.to_owned() });
    }
    map_absolute(roots, path)
        .ok_or_else(|| FileError::Outside { path: shorten(text), roots: root_names(roots) })
}

/// Maps an absolute path as it is, otherwise without its `.` and `..`. Removing them ignores links, which is harmless,
/// because the result only selects a root.
pub(super) fn map_absolute(roots: &[Root], path: &Path) -> Option<MappedPath> {
    longest_prefix(roots, path).or_else(|| longest_prefix(roots, &without_dots(path)))
}

fn longest_prefix(roots: &[Root], path: &Path) -> Option<MappedPath> {
    let beneath = |(root, named): (usize, &Path)| {
        let relative = path.strip_prefix(named).ok()?;
        Some((named.components().count(), MappedPath { root, relative: relative.to_owned() }))
    };
    let named =
        roots.iter().enumerate().flat_map(|(index, root)| root.names().map(move |name| (index, name)));
    named.filter_map(beneath).max_by_key(|(length, _)| *length).map(|(_, mapped)| mapped)
}

fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

/// The paths of the roots, for a message.
pub(super) fn root_names(roots: &[Root]) -> String {
    let names: Vec<_> = roots.iter().map(|root| format!("`{}`", root.path().display())).collect();
    names.join(" or ")
}
