//! `multi_edit`: makes several replacements in one file, all or nothing.
//!
//! Each replacement applies to the result of the previous ones.

use lariat_core::tool::{ToolContext, ToolEffects, ToolError, ToolResult};
use lariat_host::files::text::Text;
use serde::Deserialize;

use crate::Workbench;
use crate::arguments::{ArgumentKind, Field};
use crate::document::{Document, counted, result};
use crate::file_tool::FileTool;
use crate::matching::{ALL, NEW, OLD, TextEdit, replacements};

/// Maximum number of replacements per call.
const MAX_EDITS: usize = 200;

/// The tool `multi_edit`.
pub(crate) struct MultiEdit;

/// The arguments of a tool call.
#[derive(Clone, Deserialize)]
pub(crate) struct Arguments {
    path: String,
    edits: Vec<TextEdit>,
}

impl FileTool for MultiEdit {
    type Arguments = Arguments;
    const NAME: &'static str = "multi_edit";
    const LABEL: &'static str = "Edit";
    const DESCRIPTION: &'static str = "Make several replacements in one file of the workspace, one after the other, like `edit_file`. All of them are made, or none. Each applies \
        to the result of the previous ones.";
    const FIELDS: &'static [Field] = &[
        Field::required(
            "path",
            ArgumentKind::Text,
            "The file: relative to the workspace, or absolute inside it.",
        ),
        Field::required(
            "edits",
            ArgumentKind::List(&ArgumentKind::Object(&[OLD, NEW, ALL]), 1, MAX_EDITS),
            "The replacements, in order.",
        ),
    ];
    const EFFECTS: ToolEffects = ToolEffects::READS.and(ToolEffects::WRITES);

    fn subject(arguments: &Arguments) -> Option<&str> {
        Some(&arguments.path)
    }

    fn preview(bench: &Workbench, arguments: Arguments) -> Result<Option<String>, ToolError> {
        let document = Document::open(bench, &arguments.path)?;
        let (text, _) = apply_edits(&arguments, &document.text)?;
        Ok(Some(document.difference(&text)))
    }

    fn run(bench: &Workbench, arguments: Arguments, _: &ToolContext) -> Result<ToolResult, ToolError> {
        let document = Document::open(bench, &arguments.path)?;
        let (text, made) = apply_edits(&arguments, &document.text)?;
        let details = document.save(bench, &text)?;
        let edits = counted(arguments.edits.len(), "edit");
        result(format!("Edited `{}`: {edits}, {}.", arguments.path, replacements(made)), details)
    }
}

/// Applies all edits. Returns the new text and the number of replacements.
fn apply_edits(arguments: &Arguments, text: &Text) -> Result<(Text, usize), ToolError> {
    let mut text = text.clone();
    let mut made = 0;
    for (index, edit) in arguments.edits.iter().enumerate() {
        let replaced = edit.apply(&arguments.path, &text).map_err(|error| {
            let rest = if index == 0 { "" } else { " (after the previous edits)" };
            ToolError::Failed(format!("Edit {} of {}{rest}: {error}", index + 1, arguments.edits.len()))
        })?;
        made += replaced.places.len();
        text = replaced.text;
    }
    Ok((text, made))
}
