//! `multi_edit`: several texts of one file replaced, all or nothing.
//!
//! Owns the order: each replacement sees the file as the ones before it left it.

use lariat_core::tool::{ToolContext, ToolEffects, ToolError, ToolResult};
use lariat_host::files::text::Text;
use serde::Deserialize;

use crate::Workbench;
use crate::arguments::{Field, Kind};
use crate::document::{Document, counted, told};
use crate::file_tool::FileTool;
use crate::matching::{ALL, Edit, NEW, OLD, replacements};

/// Replacements of one call.
const MOST_EDITS: usize = 200;

/// The tool.
pub(crate) struct MultiEdit;

/// What a call says.
#[derive(Deserialize)]
pub(crate) struct Arguments {
    path: String,
    edits: Vec<Edit>,
}

impl FileTool for MultiEdit {
    type Arguments = Arguments;
    const NAME: &'static str = "multi_edit";
    const LABEL: &'static str = "Edit";
    const DESCRIPTION: &'static str = "Makes several replacements in one file of the workspace, one after the other, as `edit_file` does. All of them are made or none. Each sees \
        the file as the ones before it left it.";
    const FIELDS: &'static [Field] = &[
        Field::required("path", Kind::Text, "The file: relative to the workspace, or absolute beneath it."),
        Field::required(
            "edits",
            Kind::List(&Kind::Object(&[OLD, NEW, ALL]), 1, MOST_EDITS),
            "The replacements, in order.",
        ),
    ];
    const EFFECTS: ToolEffects = ToolEffects::READS.and(ToolEffects::WRITES);

    fn subject(arguments: &Arguments) -> Option<&str> {
        Some(&arguments.path)
    }

    fn preview(bench: &Workbench, arguments: Arguments) -> Result<Option<String>, ToolError> {
        let document = Document::open(bench, &arguments.path)?;
        let (text, _) = edited(&arguments, &document.text)?;
        Ok(Some(document.difference(&text)))
    }

    fn run(bench: &Workbench, arguments: Arguments, _: &ToolContext) -> Result<ToolResult, ToolError> {
        let document = Document::open(bench, &arguments.path)?;
        let (text, made) = edited(&arguments, &document.text)?;
        let details = document.save(bench, &text)?;
        let edits = counted(arguments.edits.len(), "edit");
        told(format!("Edited `{}`: {edits}, {}.", arguments.path, replacements(made)), details)
    }
}

/// A text after all edits, and how many replacements that took.
fn edited(arguments: &Arguments, text: &Text) -> Result<(Text, usize), ToolError> {
    let mut text = text.clone();
    let mut made = 0;
    for (index, edit) in arguments.edits.iter().enumerate() {
        let replaced = edit.apply(&arguments.path, &text).map_err(|error| {
            let rest = if index == 0 { "" } else { " (after the edits before it)" };
            ToolError::Failed(format!("Edit {} of {}{rest}: {error}", index + 1, arguments.edits.len()))
        })?;
        made += replaced.places.len();
        text = replaced.text;
    }
    Ok((text, made))
}
