//! Applies openings: additional access for one command that the user approved.
//!
//! Hidden paths stay hidden and protected paths stay protected, except for the repository's data; of that, only the
//! files that git executes or obeys stay protected.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lariat_core::opening::SandboxOpening;

use super::backend::Sandbox;
use super::policy::{Network, Policy};

/// Files of a repository that git executes or obeys, or that lead it to another repository.
const OBEYED: &[&str] =
    &["config", "config.worktree", "commondir", "gitdir", "hooks", "info/attributes", "modules", "worktrees"];

impl Sandbox {
    /// Returns the sandbox with these openings, for a command in a workspace; `None` if it runs unsandboxed.
    pub fn with_openings(&self, openings: &[SandboxOpening], workspace: &Path) -> Option<Self> {
        let mut policy = self.policy().clone();
        for opening in openings {
            match opening {
                SandboxOpening::Outside => return None,
                SandboxOpening::Network => policy.network = Network::On,
                SandboxOpening::Write(path) if Path::new(path).exists() => policy.writable.push(path.into()),
                SandboxOpening::Git => {
                    let more = self.policy().writable.iter().map(PathBuf::as_path);
                    for directory in std::iter::once(workspace).chain(more.filter(|more| *more != workspace))
                    {
                        open_repository(&mut policy, directory);
                    }
                }
                // A missing path cannot be opened, and an unknown opening changes nothing.
                _ => {}
            }
        }
        Some(Self { policy: Arc::new(policy), backend: self.backend.clone() })
    }

    /// Returns the sandbox with more hidden paths.
    pub fn with_hidden(&self, paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut policy = self.policy().clone();
        policy.hidden.extend(paths);
        Self { policy: Arc::new(policy), backend: self.backend.clone() }
    }
}

fn open_repository(policy: &mut Policy, workspace: &Path) {
    let Some(folders) = repository(workspace) else { return };
    for folder in folders {
        policy.protected.retain(|path| path.canonicalize().ok().as_ref() != Some(&folder));
        policy.protected.extend(OBEYED.iter().map(|name| folder.join(name)));
        policy.writable.push(folder);
    }
    // A work tree's own directory lies next to those of the others, which must stay protected one by one.
    let own: Vec<PathBuf> = policy.writable.clone();
    let trees = policy.protected.iter().filter(|path| path.ends_with("worktrees"));
    let shared: Vec<PathBuf> =
        trees.filter(|path| own.iter().any(|own| own != *path && own.starts_with(path))).cloned().collect();
    for trees in shared {
        policy.protected.retain(|path| *path != trees);
        let listed = trees.read_dir().into_iter().flatten().filter_map(Result::ok);
        let others = listed.map(|entry| entry.path()).filter(|path| !own.contains(path));
        policy.protected.extend(others);
    }
}

/// Directories of the repository that a workspace belongs to: one, or for a linked work tree its own and the shared
/// one. They are trusted only if they refer back to the workspace.
fn repository(workspace: &Path) -> Option<Vec<PathBuf>> {
    let tree = workspace.ancestors().find(|path| path.join(".git").symlink_metadata().is_ok())?;
    let entry = tree.join(".git");
    let kind = entry.symlink_metadata().ok()?.file_type();
    if kind.is_dir() {
        let folder = entry.canonicalize().ok()?;
        return is_repository(&folder).then(|| vec![folder]);
    }
    if !kind.is_file() {
        return None;
    }
    let folder = tree.join(line(&entry)?.strip_prefix("gitdir:")?.trim()).canonicalize().ok()?;
    let knows_us = line(&folder.join("gitdir"))
        .and_then(|path| folder.join(path).canonicalize().ok())
        .is_some_and(|path| Some(path) == entry.canonicalize().ok());
    let shared = folder.join(line(&folder.join("commondir"))?).canonicalize().ok()?;
    let is_linked = folder.parent() == Some(&shared.join("worktrees"));
    (knows_us && is_linked && is_repository(&shared)).then(|| vec![shared, folder])
}

fn is_repository(folder: &Path) -> bool {
    folder.join("HEAD").exists() && folder.join("objects").is_dir() && folder.join("refs").is_dir()
}

/// Reads the only line of a small file.
fn line(path: &Path) -> Option<String> {
    use std::io::Read as _;
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC | rustix::fs::OFlags::NONBLOCK;
    let file = rustix::fs::open(path, flags, rustix::fs::Mode::empty()).ok()?;
    let mut text = String::new();
    std::fs::File::from(file).take(8192).read_to_string(&mut text).ok()?;
    Some(text.trim_end_matches(['\n', '\r']).to_owned())
}

#[cfg(test)]
#[path = "opening_tests.rs"]
mod tests;
