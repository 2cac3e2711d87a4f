//! `apply_patch`: changes several files, all or nothing.
//!
//! [`lariat_core::patch`] parses both patch formats, `hunk` finds the positions and creates the new texts, `commit`
//! writes everything or undoes it.
//!
//! Invariant: all changes are checked and prepared before the first file is touched.

mod commit;
mod hunk;

use lariat_core::patch::{self, Change};
use lariat_core::tool::{ToolContext, ToolEffects, ToolError, ToolResult};
use lariat_host::files::FileError;
use lariat_host::files::text::Text;
use serde::Deserialize;
use serde_json::json;

use crate::Workbench;
use crate::arguments::{ArgumentKind, Field};
use crate::document::{ADDED, DELETED, Document, MODIFIED, details, encode, result};
use crate::file_error::failed;
use crate::file_tool::FileTool;
use commit::CommitStep;

/// The tool `apply_patch`.
pub(crate) struct ApplyPatch;

/// The arguments of a tool call.
#[derive(Clone, Deserialize)]
pub(crate) struct Arguments {
    patch: String,
}

impl FileTool for ApplyPatch {
    type Arguments = Arguments;
    const NAME: &'static str = "apply_patch";
    const LABEL: &'static str = "Patch";
    const DESCRIPTION: &'static str = "Add, change, delete and move files of the workspace with a patch. All changes are applied, or none. Two formats are supported. A unified diff \
        (`--- a/path`, `+++ b/path`, `@@ -1,3 +1,4 @@`, `/dev/null` for added and deleted files, `rename from`/`rename to`). Or:\n\
        *** Begin Patch\n*** Add File: path\n+line\n*** Update File: path\n*** Move to: new path\n@@ a line above the change\n context line\n-old line\n+new line\n\
        *** Delete File: path\n*** End Patch\n\
        Context lines must match the file. Line endings, encoding and mode of files are preserved.";
    const FIELDS: &'static [Field] = &[Field::required("patch", ArgumentKind::Text, "The whole patch.")];
    const EFFECTS: ToolEffects = ToolEffects::READS.and(ToolEffects::WRITES);

    fn subject(_: &Arguments) -> Option<&str> {
        None
    }

    fn changes(arguments: &Arguments) -> Vec<String> {
        let changes = patch::parse(&arguments.patch).unwrap_or_default();
        changes.iter().flat_map(Change::paths).map(str::to_owned).collect()
    }

    fn preview(bench: &Workbench, arguments: Arguments) -> Result<Option<String>, ToolError> {
        let (steps, summary) = steps(bench, &arguments)?;
        let diffs = steps.iter().filter_map(|step| Some(step.details().get("diff")?.as_str()?.to_owned()));
        let diffs: String = diffs.collect();
        Ok(Some(format!("{}\n{diffs}", summary.join("\n"))))
    }

    fn run(bench: &Workbench, arguments: Arguments, _: &ToolContext) -> Result<ToolResult, ToolError> {
        let (steps, summary) = steps(bench, &arguments)?;
        let shown: Vec<_> = steps.iter().map(CommitStep::details).collect();
        commit::commit(bench, steps)?;
        result(format!("Applied the patch:\n{}", summary.join("\n")), json!({ "files": shown }))
    }
}

/// Prepares all steps of a patch, and a summary line for each change.
fn steps(bench: &Workbench, arguments: &Arguments) -> Result<(Vec<CommitStep>, Vec<String>), ToolError> {
    let changes = patch::parse(&arguments.patch).map_err(|error| {
        ToolError::Failed(format!("Could not parse the patch: {error} Nothing was changed."))
    })?;
    let mut steps = Vec::new();
    let mut summary = Vec::new();
    let mut mistakes = Vec::new();
    for change in changes {
        match prepare(bench, change) {
            Ok((mut prepared, line)) => {
                steps.append(&mut prepared);
                summary.push(line);
            }
            Err(error) => mistakes.push(error.to_string()),
        }
    }
    if mistakes.is_empty() {
        return Ok((steps, summary));
    }
    let words = mistakes.join("\n- ");
    Err(ToolError::Failed(format!("Nothing was changed, because the patch does not apply:\n- {words}")))
}

/// Prepares the steps of a change, and its summary line.
fn prepare(bench: &Workbench, change: Change) -> Result<(Vec<CommitStep>, String), ToolError> {
    match change {
        Change::Add { path, text } => {
            must_be_absent(bench, &path)?;
            let text = Text::new(text);
            let bytes = encode(&path, &text)?;
            let line = format!("A {path}");
            let details = json!({ "path": path, "change": ADDED, "bytes": bytes.len(), "diff": crate::diff::unified(&path, "", text.as_str()) });
            Ok((vec![CommitStep::Write { path, bytes, before: None, details }], line))
        }
        Change::Delete { path, hunks } => {
            let document = match Document::open(bench, &path) {
                Ok(document) => document,
                // A binary file can be deleted without reading it.
                Err(_) if hunks.is_empty() => return delete_binary(bench, path),
                Err(error) => return Err(error),
            };
            hunk::apply(&path, &document.text, &hunks)?;
            let shown = details(&path, DELETED, Some((&document.text, &document.known)), None);
            let line = format!("D {path}");
            Ok((vec![CommitStep::Remove { path, known: document.known, details: shown }], line))
        }
        Change::Update { path, to, hunks } => {
            let document = Document::open(bench, &path)?;
            let text = hunk::apply(&path, &document.text, &hunks)?;
            let bytes = document.encode(&text)?;
            let before = document.encode(&document.text)?;
            let name = to.as_ref().unwrap_or(&path);
            let shown = json!({
                "path": name,
                "change": MODIFIED,
                "bytes": bytes.len(),
                "diff": crate::diff::unified(name, document.text.as_str(), text.as_str()),
            });
            let mut steps = Vec::new();
            let line = match &to {
                None => format!("M {path}"),
                Some(to) => {
                    must_be_absent(bench, to)?;
                    steps.push(CommitStep::Rename {
                        from: path.clone(),
                        to: to.clone(),
                        known: document.known.clone(),
                    });
                    format!("R {path} -> {to}")
                }
            };
            if bytes != before {
                let path = to.unwrap_or(path);
                steps.push(CommitStep::Write {
                    path,
                    bytes,
                    before: Some((before, document.known)),
                    details: shown,
                });
            }
            Ok((steps, line))
        }
    }
}

fn delete_binary(bench: &Workbench, path: String) -> Result<(Vec<CommitStep>, String), ToolError> {
    let content = bench.workspace().read(&path, crate::document::EDIT_LIMIT).map_err(failed)?;
    let known = lariat_host::files::FileVersion::of(content.stamp, &content.bytes);
    let (line, details) = (format!("D {path}"), json!({ "path": path, "change": DELETED, "bytes": 0 }));
    Ok((vec![CommitStep::Remove { path, known, details }], line))
}

fn must_be_absent(bench: &Workbench, path: &str) -> Result<(), ToolError> {
    match bench.workspace().kind(path) {
        Err(FileError::NotFound { .. }) => Ok(()),
        Ok(_) => Err(failed(FileError::Exists(path.to_owned()))),
        Err(error) => Err(failed(error)),
    }
}

#[cfg(test)]
mod tests;
