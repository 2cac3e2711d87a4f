//! Where paths really lead, as rules need to know it.

use std::path::{Component, Path, PathBuf};

use lariat_guard::Resolver;

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
}
