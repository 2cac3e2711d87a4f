//! `edit_file`: replaces a text in a file.
//!
//! `matching` finds the text; `document` writes the file.

use lariat_core::tool::{ToolContext, ToolEffects, ToolError, ToolResult};
use serde::Deserialize;

use crate::Workbench;
use crate::arguments::{ArgumentKind, Field};
use crate::document::{Document, result, surroundings};
use crate::file_tool::FileTool;
use crate::matching::{ALL, NEW, OLD, TextEdit, replacements};

/// The tool `edit_file`.
pub(crate) struct EditFile;

/// The arguments of a tool call.
#[derive(Clone, Deserialize)]
pub(crate) struct Arguments {
    path: String,
    #[serde(flatten)]
    edit: TextEdit,
}

impl FileTool for EditFile {
    type Arguments = Arguments;
    const NAME: &'static str = "edit_file";
    const LABEL: &'static str = "Edit";
    const DESCRIPTION: &'static str = "Replace a text in a file of the workspace. `old_string` must occur exactly once in the file, including white space, unless `replace_all` is \
        set. Line endings, encoding and mode of the file are preserved; write `\\n` for every line ending. For several changes to one file use `multi_edit`; for several \
        files use `apply_patch`.";
    const FIELDS: &'static [Field] = &[
        Field::required(
            "path",
            ArgumentKind::Text,
            "The file: relative to the workspace, or absolute inside it.",
        ),
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
        let shown = surroundings(replaced.text.as_str(), &replaced.places);
        let count = replacements(replaced.places.len());
        result(format!("Edited `{}`: {count}.\n{shown}", arguments.path), details)
    }
}
