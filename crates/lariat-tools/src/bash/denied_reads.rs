//! Finds the files that permission rules deny reading, before a command starts, so that its sandbox can hide them.
//!
//! The search begins where the rules begin, follows no links and is bounded. If it reaches a bound, the command does
//! not run, because files that were not found would not be hidden.

use std::path::{Path, PathBuf};

use lariat_core::tool::ToolError;

use crate::workbench::HiddenReads;

/// Maximum number of entries to check before a command.
const MAX_ENTRIES: usize = 200_000;
/// Maximum number of paths that one sandbox hides.
const MAX_HIDDEN: usize = 512;
/// Directories that builds and package managers fill. Rules that match at any depth are not applied inside them.
const GENERATED: &[&str] = &["node_modules", "target", ".venv", ".git/objects"];

/// Returns the paths to hide. For a directory that is denied as a whole, returns only the directory.
pub(super) fn paths(hidden: &HiddenReads, workspace: &Path) -> Result<Vec<PathBuf>, ToolError> {
    let mut walk = Walk { hidden, found: Vec::new(), left: MAX_ENTRIES };
    for start in hidden.starts() {
        // A rule for the whole machine is applied in the workspace.
        let start = if workspace.starts_with(&start) { workspace } else { &start };
        walk.visit(start, true)?;
    }
    walk.found.sort();
    walk.found.dedup();
    Ok(walk.found)
}

struct Walk<'a> {
    hidden: &'a HiddenReads,
    found: Vec<PathBuf>,
    left: usize,
}

impl Walk<'_> {
    fn visit(&mut self, path: &Path, is_start: bool) -> Result<(), ToolError> {
        let Ok(state) = path.symlink_metadata() else { return Ok(()) };
        if self.hidden.denies(path) {
            self.found.push(path.to_owned());
            return if self.found.len() > MAX_HIDDEN { Err(too_many()) } else { Ok(()) };
        }
        let is_generated = GENERATED.iter().any(|filled| path.ends_with(filled));
        if !state.is_dir() || (is_generated && !is_start) {
            return Ok(());
        }
        let Ok(listed) = path.read_dir() else { return Ok(()) };
        for entry in listed.filter_map(Result::ok) {
            self.left = self.left.checked_sub(1).ok_or_else(too_many)?;
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.visit(&path, false)?;
            } else if self.hidden.denies(&path) {
                self.found.push(path);
                if self.found.len() > MAX_HIDDEN {
                    return Err(too_many());
                }
            }
        }
        Ok(())
    }
}

fn too_many() -> ToolError {
    ToolError::Failed(
        "The command was not run: permission rules deny reading more files than the sandbox can hide. Ask the user to deny whole directories instead."
            .to_owned(),
    )
}
