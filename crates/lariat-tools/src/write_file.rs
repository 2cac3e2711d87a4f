//! `write_file`: writes a whole file.
//!
//! Replaces an existing file only if the agent has read its current content. An existing text file keeps its encoding,
//! byte-order mark and line endings.

use lariat_core::tool::{ToolContext, ToolEffects, ToolError, ToolResult};
use lariat_host::files::text::Text;
use lariat_host::files::{FileError, FileVersion, ReadState, WriteCondition};
use serde::Deserialize;

use crate::Workbench;
use crate::arguments::{ArgumentKind, Field};
use crate::document::{ADDED, Document, EDIT_LIMIT, MODIFIED, counted, details, encode, result};
use crate::file_error::failed;
use crate::file_tool::FileTool;

/// The tool `write_file`.
pub(crate) struct WriteFile;

/// The arguments of a tool call.
#[derive(Clone, Deserialize)]
pub(crate) struct Arguments {
    path: String,
    content: String,
}

impl FileTool for WriteFile {
    type Arguments = Arguments;
    const NAME: &'static str = "write_file";
    const LABEL: &'static str = "Write";
    const DESCRIPTION: &'static str = "Write a whole file of the workspace and create missing directories. You must have read an existing file before, and it must be \
        unchanged since; it keeps its mode, encoding and line endings. To change a part of a file, use `edit_file`.";
    const FIELDS: &'static [Field] = &[
        Field::required(
            "path",
            ArgumentKind::Text,
            "The file: relative to the workspace, or absolute inside it.",
        ),
        Field::required("content", ArgumentKind::Text, "The whole content."),
    ];
    const EFFECTS: ToolEffects = ToolEffects::READS.and(ToolEffects::WRITES);

    fn subject(arguments: &Arguments) -> Option<&str> {
        Some(&arguments.path)
    }

    fn preview(bench: &Workbench, arguments: Arguments) -> Result<Option<String>, ToolError> {
        let (old, text) = versions(bench, &arguments)?;
        let old = old.as_ref().and_then(|(text, _)| text.as_ref()).map_or("", Text::as_str);
        Ok(Some(crate::diff::unified(&arguments.path, old, text.as_str())))
    }

    fn run(bench: &Workbench, arguments: Arguments, _: &ToolContext) -> Result<ToolResult, ToolError> {
        let path = &arguments.path;
        let (old, text) = versions(bench, &arguments)?;
        let bytes = encode(path, &text)?;
        let expected = match &old {
            Some((_, known)) => WriteCondition::Unchanged(known.clone()),
            None => WriteCondition::Absent,
        };
        let written = bench.workspace().write(path, &bytes, &expected).map_err(failed)?;
        bench.memory().remember(path, written.known.clone());
        let lines = counted(text.as_str().lines().count(), "line");
        let (verb, change) = if old.is_some() { ("Replaced", MODIFIED) } else { ("Created", ADDED) };
        let before = old.as_ref().and_then(|(text, known)| Some((text.as_ref()?, known)));
        result(
            format!("{verb} `{path}`: {lines}, {}.", counted(bytes.len(), "byte")),
            details(path, change, before, Some((&text, &written.known))),
        )
    }
}

/// Returns the existing version, if any, and the new one.
fn versions(bench: &Workbench, arguments: &Arguments) -> Result<(Option<ExistingFile>, Text), ToolError> {
    let path = &arguments.path;
    let old = match bench.workspace().stamp(path) {
        Ok(stamp) => Some(read_before(bench, path, &bench.memory().read_state(path, &stamp))?),
        Err(FileError::NotFound { .. }) => None,
        Err(error) => return Err(failed(error)),
    };
    let text = match old.as_ref().and_then(|(text, _)| text.as_ref()) {
        Some(text) => text.with_text(&arguments.content),
        None => Text::new(arguments.content.as_str()),
    };
    Ok((old, text))
}

/// An existing file: its text, if it is text, and its state.
type ExistingFile = (Option<Text>, FileVersion);

/// Reads an existing file that the agent has read before.
fn read_before(bench: &Workbench, path: &str, standing: &ReadState) -> Result<ExistingFile, ToolError> {
    let known = match standing {
        ReadState::Unread => return Err(failed(FileError::Unread(path.to_owned()))),
        ReadState::Unchanged(known) | ReadState::Touched(known) => known.clone(),
    };
    if bench.unsaved(path).is_some() {
        let document = Document::open(bench, path)?;
        return Ok((Some(document.text), document.known));
    }
    match bench.workspace().read(path, EDIT_LIMIT) {
        Ok(content) => Ok((Text::decode(&content.bytes), known)),
        Err(FileError::TooLarge { .. }) => Ok((None, known)),
        Err(error) => Err(failed(error)),
    }
}
