//! Finds repositories inside a workspace: submodules and nested checkouts.
//!
//! Git obeys the configuration of each, so a sandboxed command must not write it. The search is limited to directories near
//! the top, where such checkouts usually are.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// Maximum directory depth.
const MAX_DEPTH: usize = 4;
/// Maximum number of directories, about 10 µs each.
const MAX_DIRECTORIES: usize = 500;
/// Maximum entries per directory.
const MAX_ENTRIES: usize = 2_000;
/// Directories with build output or dependencies, which are skipped.
const SKIPPED: &[&str] = &["node_modules", "target", "dist", "build", ".venv", "venv", "__pycache__", ".git"];

/// The `.git` of every repository inside a workspace, except its own.
pub(crate) fn nested_repositories(workspace: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut queue = VecDeque::from([(workspace.to_owned(), 0)]);
    let mut left = MAX_DIRECTORIES;
    while let Some((folder, level)) = queue.pop_front() {
        if left == 0 {
            break;
        }
        left -= 1;
        let Ok(entries) = folder.read_dir() else { continue };
        for entry in entries.filter_map(Result::ok).take(MAX_ENTRIES) {
            let name = entry.file_name();
            if name == ".git" && level > 0 {
                found.push(entry.path());
            }
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && level < MAX_DEPTH && !SKIPPED.iter().any(|skipped| name == *skipped) {
                queue.push_back((entry.path(), level + 1));
            }
        }
    }
    found
}
