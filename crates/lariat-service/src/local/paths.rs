//! Where paths really lead, as rules need to know it.

use std::path::{Component, Path, PathBuf};

use lariat_guard::Resolver;

/// Names that are looked at for links beneath a pattern; with more of them it is asked.
const MOST_NAMES: usize = 5_000;
/// Levels that a pattern of any depth is followed.
const MOST_LEVELS: usize = 32;

/// Where paths really lead, by this machine's links.
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
                // A link that leads to nothing leads somewhere all the same, so it is not what is missing.
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

    fn leads_out(&self, directory: &Path, levels: Option<usize>) -> bool {
        let Ok(root) = directory.canonicalize() else { return false };
        let mut ahead = vec![(root.clone(), levels.unwrap_or(MOST_LEVELS))];
        let mut left = MOST_NAMES;
        while let Some((folder, levels)) = ahead.pop() {
            for entry in folder.read_dir().into_iter().flatten().filter_map(Result::ok) {
                left -= 1;
                if left == 0 {
                    return true;
                }
                let path = entry.path();
                let kind = entry.file_type().ok();
                if kind.is_none_or(|kind| kind.is_symlink()) {
                    // One that leads to nothing is nothing to read.
                    if path.canonicalize().is_ok_and(|real| !real.starts_with(&root)) {
                        return true;
                    }
                } else if levels > 1 && kind.is_some_and(|kind| kind.is_dir()) {
                    ahead.push((path, levels - 1));
                }
            }
        }
        false
    }
}
