//! `edit_file`: one text replaced by another.
//!
//! Owns the call and its answer; matching is in `matching`, the way back to the disk in `document`.

use lariat_core::tool::{ToolContext, ToolEffects, ToolError, ToolResult};
use serde::Deserialize;

use crate::Workbench;
use crate::arguments::{Field, Kind};
use crate::document::{Document, neighbourhood, told};
use crate::file_tool::FileTool;
use crate::matching::{ALL, Edit, NEW, OLD, replacements};

/// The tool.
pub(crate) struct EditFile;

/// What a call says.
#[derive(Deserialize)]
pub(crate) struct Arguments {
    path: String,
    #[serde(flatten)]
    edit: Edit,
}

impl FileTool for EditFile {
    type Arguments = Arguments;
    const NAME: &'static str = "edit_file";
    const LABEL: &'static str = "Edit";
    const DESCRIPTION: &'static str = "Replaces a text in a file of the workspace. `old_string` must be in the file exactly once, white space and all, unless `replace_all` is \
        set. Line ends, encoding and mode of the file stay as they are; write `\\n` for every line end. Several changes of one file: `multi_edit`; of several \
        files: `apply_patch`.";
    const FIELDS: &'static [Field] = &[
        Field::required("path", Kind::Text, "The file: relative to the workspace, or absolute beneath it."),
        OLD,
        NEW,
        ALL,
    ];
    const EFFECTS: ToolEffects = ToolEffects::READS.and(ToolEffects::WRITES);

    fn subject(arguments: &Arguments) -> Option<&str> {
        Some(&arguments.path)
    }

    fn preview(bench: &Workbench, arguments: Arguments) -> Result<Option<String>, ToolError> {
        let document = Document::open(bench, &arguments.path)?;
        let replaced = arguments.edit.apply(&arguments.path, &document.text)?;
        Ok(Some(document.difference(&replaced.text)))
    }

    fn run(bench: &Workbench, arguments: Arguments, _: &ToolContext) -> Result<ToolResult, ToolError> {
        let document = Document::open(bench, &arguments.path)?;
        let replaced = arguments.edit.apply(&arguments.path, &document.text)?;
        let details = document.save(bench, &replaced.text)?;
        let shown = neighbourhood(replaced.text.as_str(), &replaced.places);
        let count = replacements(replaced.places.len());
        told(format!("Edited `{}`: {count}.\n{shown}", arguments.path), details)
    }
}
