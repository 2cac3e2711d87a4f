//! Repositories inside of a workspace: submodules, checkouts beside each other.
//!
//! Git obeys the configuration of each, so a sandboxed command must not write it, as little as that of the workspace's own
//! repository. Owns the search, which is bounded: it looks at the folders near the top, where people keep such checkouts.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// Levels of folders that are looked at.
const LEVELS: usize = 4;
/// Folders that are looked at. About 10 µs each.
const FOLDERS: usize = 500;
/// Names of one folder that are looked at.
const NAMES: usize = 2_000;
/// Folders of what is built or fetched.
const PASSED: &[&str] = &["node_modules", "target", "dist", "build", ".venv", "venv", "__pycache__", ".git"];

/// The `.git` of every repository beneath a workspace, without its own.
pub(crate) fn nested_repositories(workspace: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut ahead = VecDeque::from([(workspace.to_owned(), 0)]);
    let mut left = FOLDERS;
    while let Some((folder, level)) = ahead.pop_front() {
        if left == 0 {
            break;
        }
        left -= 1;
        let Ok(entries) = folder.read_dir() else { continue };
        for entry in entries.filter_map(Result::ok).take(NAMES) {
            let name = entry.file_name();
            if name == ".git" && level > 0 {
                found.push(entry.path());
            }
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && level < LEVELS && !PASSED.iter().any(|passed| name == *passed) {
                ahead.push_back((entry.path(), level + 1));
            }
        }
    }
    found
}
