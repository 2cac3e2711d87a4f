//! Files that rules deny to read, found before a command starts, so that its sandbox hides them.
//!
//! Owns the walk. It begins where the rules begin, follows no links and is bounded; where the bound is reached the command
//! does not run, because what was not found would not be hidden.

use std::path::{Path, PathBuf};

use lariat_core::tool::ToolError;

use crate::workbench::Hidden;

/// Entries that are looked at before one command.
const MOST: usize = 200_000;
/// Paths that one sandbox hides.
const MOST_HIDDEN: usize = 512;
/// Folders that builds and package managers fill. What a rule names at any depth is not looked for in them.
const FILLED: &[&str] = &["node_modules", "target", ".venv", ".git/objects"];

/// The paths to hide: of a folder that is denied as a whole, only the folder.
pub(super) fn paths(hidden: &Hidden, workspace: &Path) -> Result<Vec<PathBuf>, ToolError> {
    let mut walk = Walk { hidden, found: Vec::new(), left: MOST };
    for start in hidden.starts() {
        // A rule about the whole machine is looked for where the agent works.
        let start = if workspace.starts_with(&start) { workspace } else { &start };
        walk.visit(start, true)?;
    }
    walk.found.sort();
    walk.found.dedup();
    Ok(walk.found)
}

struct Walk<'a> {
    hidden: &'a Hidden,
    found: Vec<PathBuf>,
    left: usize,
}

impl Walk<'_> {
    fn visit(&mut self, path: &Path, is_start: bool) -> Result<(), ToolError> {
        let Ok(state) = path.symlink_metadata() else { return Ok(()) };
        if self.hidden.denies(path) {
            self.found.push(path.to_owned());
            return if self.found.len() > MOST_HIDDEN { Err(too_many()) } else { Ok(()) };
        }
        let is_filled = FILLED.iter().any(|filled| path.ends_with(filled));
        if !state.is_dir() || (is_filled && !is_start) {
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
                if self.found.len() > MOST_HIDDEN {
                    return Err(too_many());
                }
            }
        }
        Ok(())
    }
}

fn too_many() -> ToolError {
    ToolError::Failed(
        "The command was not run: rules deny reading more files than the sandbox can hide. Ask the user to deny whole folders instead."
            .to_owned(),
    )
}
