//! From the text a model wrote to a root and a path relative to it.
//!
//! Owns the choice of the root, nothing about safety: whatever comes out is resolved beneath that root by the kernel.
//! A relative path belongs to the first root; an absolute one to the root with the longest path that begins it, as the
//! root was given or as it is called canonically.

use std::path::{Component, Path, PathBuf};

use super::error::{FileError, shortened};
use super::workspace::Root;

/// A root and a path beneath it, not looked at yet.
#[derive(Clone, Debug)]
pub(super) struct Mapped {
    pub(super) root: usize,
    pub(super) relative: PathBuf,
}

/// Maps a path of a model.
pub(super) fn map(roots: &[Root], text: &str) -> Result<Mapped, FileError> {
    if text.is_empty() {
        return Err(FileError::Malformed { path: String::new(), reason: "it is empty" });
    }
    if text.contains('\0') {
        let path = shortened(&text.replace('\0', "\u{fffd}"));
        return Err(FileError::Malformed { path, reason: "it has a NUL character" });
    }
    if text == "~" || text.starts_with("~/") {
        let reason = "`~` is not expanded; write the path relative to the workspace";
        return Err(FileError::Malformed { path: shortened(text), reason });
    }
    let path = Path::new(text);
    if path.is_relative() {
        return Ok(Mapped { root: 0, relative: path.to_owned() });
    }
    map_absolute(roots, path).ok_or_else(|| FileError::Outside { path: shortened(text), roots: names(roots) })
}

/// Maps an absolute path: as it is, else without its `.` and `..`. The second is a guess about links, and harmless: it
/// only chooses a root.
pub(super) fn map_absolute(roots: &[Root], path: &Path) -> Option<Mapped> {
    longest(roots, path).or_else(|| longest(roots, &lexically_plain(path)))
}

fn longest(roots: &[Root], path: &Path) -> Option<Mapped> {
    let beneath = |(root, named): (usize, &Path)| {
        let relative = path.strip_prefix(named).ok()?;
        Some((named.components().count(), Mapped { root, relative: relative.to_owned() }))
    };
    let named =
        roots.iter().enumerate().flat_map(|(index, root)| root.names().map(move |name| (index, name)));
    named.filter_map(beneath).max_by_key(|(length, _)| *length).map(|(_, mapped)| mapped)
}

fn lexically_plain(path: &Path) -> PathBuf {
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

/// The roots, for a message.
pub(super) fn names(roots: &[Root]) -> String {
    let names: Vec<_> = roots.iter().map(|root| format!("`{}`", root.path().display())).collect();
    names.join(" or ")
}
