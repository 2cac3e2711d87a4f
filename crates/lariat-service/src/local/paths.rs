//! Resolves real paths for permission rules.

use std::path::{Component, Path, PathBuf};

use lariat_guard::{Entry, EntryKind, Resolver};

/// Maximum entries of a directory, more than a permission check examines in total.
const MAX_ENTRIES: usize = 100_000;

/// Resolves paths with the links of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealPaths;

impl Resolver for RealPaths {
    fn real(&self, path: &Path) -> Option<PathBuf> {
        let mut missing = Vec::new();
        let mut there = path;
        loop {
            match there.canonicalize() {
                Ok(real) => {
                    return Some(missing.iter().rev().fold(real, |path, part| path.join(part)));
                }
                // A dangling link still has a target, so it is not a missing component.
                Err(_) if there.is_symlink() => return None,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    let Some(Component::Normal(name)) = there.components().next_back() else { return None };
                    missing.push(name);
                    there = there.parent()?;
                }
                Err(_) => return None,
            }
        }
    }

    fn list(&self, directory: &Path) -> Option<Vec<Entry>> {
        let entries = directory.read_dir().into_iter().flatten().filter_map(Result::ok).take(MAX_ENTRIES);
        let entry = |entry: std::fs::DirEntry| {
            let kind = match entry.file_type() {
                Ok(kind) if kind.is_dir() => EntryKind::Directory,
                Ok(kind) if !kind.is_symlink() => EntryKind::File,
                _ => EntryKind::Link,
            };
            Entry::new(entry.file_name(), kind)
        };
        Some(entries.map(entry).collect())
    }
}
