//! Performs the prepared steps of a patch, or undoes them if one fails.
//!
//! A deleted file is first renamed within its directory, so that undoing the deletion keeps its mode, owner and links;
//! it is removed after all other steps succeeded. A moved file is also renamed first, and then checked to be the
//! expected one. Undoing a step also removes the directories that it created.

use std::path::Path;

use lariat_core::tool::ToolError;
use lariat_host::files::{AsideFile, FileError, FileVersion, WriteCondition};
use serde_json::Value;

use crate::Workbench;
use crate::file_error::failed;

/// One step of a patch.
#[derive(Debug)]
pub(super) enum CommitStep {
    Write { path: String, bytes: Vec<u8>, before: Option<(Vec<u8>, FileVersion)>, details: Value },
    Remove { path: String, known: FileVersion, details: Value },
    Rename { from: String, to: String, known: FileVersion },
}

/// One step that was performed.
enum PerformedStep {
    Added { path: String, known: FileVersion },
    Replaced { path: String, before: Vec<u8>, known: FileVersion },
    Aside { path: String, aside: AsideFile },
    Renamed { from: String, to: String, known: FileVersion },
}

impl CommitStep {
    /// The details that a front end shows.
    pub(super) fn details(&self) -> Value {
        match self {
            Self::Write { details, .. } | Self::Remove { details, .. } => details.clone(),
            Self::Rename { from, to, .. } => serde_json::json!({ "path": to, "renamed_from": from }),
        }
    }
}

/// Performs all steps, or none.
pub(super) fn commit(bench: &Workbench, steps: Vec<CommitStep>) -> Result<(), ToolError> {
    let mut done = Vec::new();
    let made = missing_folders(bench, &steps);
    for step in steps {
        match perform(bench, step) {
            Ok(step) => done.push(step),
            Err(error) => return Err(undo_steps(bench, done, &made, &error)),
        }
    }
    let workspace = bench.workspace();
    for step in done {
        match step {
            PerformedStep::Added { path, known } | PerformedStep::Replaced { path, known, .. } => {
                bench.memory().remember(&path, known)
            }
            PerformedStep::Aside { path, aside } => {
                bench.memory().forget(&path);
                workspace.discard(aside).map_err(failed)?;
            }
            PerformedStep::Renamed { from, to, known } => {
                bench.memory().forget(&from);
                bench.memory().remember(&to, known);
            }
        }
    }
    Ok(())
}

fn perform(bench: &Workbench, step: CommitStep) -> Result<PerformedStep, FileError> {
    let workspace = bench.workspace();
    match step {
        CommitStep::Write { path, bytes, before: None, .. } => {
            let known = workspace.write(&path, &bytes, &WriteCondition::Absent)?.known;
            Ok(PerformedStep::Added { path, known })
        }
        CommitStep::Write { path, bytes, before: Some((before, known)), .. } => {
            let known = workspace.write(&path, &bytes, &WriteCondition::Unchanged(known))?.known;
            Ok(PerformedStep::Replaced { path, before, known })
        }
        CommitStep::Remove { path, known, .. } => {
            let aside = workspace.set_aside(&path, &known)?;
            Ok(PerformedStep::Aside { path, aside })
        }
        CommitStep::Rename { from, to, known } => {
            let aside = workspace.set_aside(&from, &known)?;
            workspace.move_aside(aside, &to)?;
            Ok(PerformedStep::Renamed { from, to, known })
        }
    }
}

/// The directories that the steps will create, outermost first.
fn missing_folders(bench: &Workbench, steps: &[CommitStep]) -> Vec<String> {
    let mut missing = Vec::new();
    for step in steps {
        let (CommitStep::Write { path, before: None, .. } | CommitStep::Rename { to: path, .. }) = step
        else {
            continue;
        };
        let folders = Path::new(path).ancestors().skip(1).map(|folder| folder.to_string_lossy().into_owned());
        let is_missing = |folder: &String| {
            !folder.is_empty() && matches!(bench.workspace().kind(folder), Err(FileError::NotFound { .. }))
        };
        missing.extend(folders.take_while(is_missing));
    }
    missing.sort_unstable();
    missing.dedup();
    missing
}

/// Undoes the performed steps, last first. Returns what went wrong, and which steps could not be undone.
fn undo_steps(bench: &Workbench, done: Vec<PerformedStep>, made: &[String], error: &FileError) -> ToolError {
    let workspace = bench.workspace();
    let mut failures = Vec::new();
    for step in done.into_iter().rev() {
        let undone = match step {
            PerformedStep::Added { path, known } => {
                workspace.remove(&path, &WriteCondition::Unchanged(known))
            }
            PerformedStep::Replaced { path, before, known } => {
                let written = workspace.write(&path, &before, &WriteCondition::Unchanged(known));
                written.map(|written| bench.memory().remember(&path, written.known))
            }
            PerformedStep::Aside { aside, .. } => workspace.put_back(aside),
            PerformedStep::Renamed { from, to, .. } => workspace.rename(&to, &from),
        };
        if let Err(error) = undone {
            failures.push(error.to_string());
        }
    }
    for folder in made.iter().rev() {
        // Directories that were never created, or are not empty, stay as they are.
        let _ = workspace.remove_folder(folder);
    }
    if failures.is_empty() {
        return ToolError::Failed(format!("Nothing was changed, because one step failed: {error}"));
    }
    ToolError::Failed(format!(
        "One step failed: {error}\nUndoing the other steps failed in part. Check these files:\n- {}",
        failures.join("\n- ")
    ))
}
