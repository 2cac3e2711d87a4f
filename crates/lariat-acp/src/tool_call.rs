//! Describes tool calls for an editor: title, kind, places and content.
//!
//! Invariant: text of the model or of a tool is shown as it is. It cannot end the code block it is in, and titles have no
//! invisible characters, because the user approves by them.

use std::path::Path;

use lariat_core::content::{Content, ToolCall as Call};
use lariat_core::{display, patch};
use serde_json::Value;

use crate::diff;
use crate::wire::{ContentBlock, Location, ToolCall, ToolContent, ToolKind, ToolStatus};

/// Maximum number of characters of a title.
const MAX_TITLE: usize = 300;
/// Maximum number of bytes of a tool's text that an editor receives. The journal has all of it.
const MAX_TEXT: usize = 64 * 1024;

/// A tool call that the model requested.
pub(crate) fn requested(call: &Call, directory: &Path) -> ToolCall {
    ToolCall {
        status: Some(ToolStatus::Pending),
        raw_input: Some(call.arguments.clone()),
        ..described(call.id.as_str(), &call.name, &call.arguments, directory)
    }
}

/// Title, kind and places of a tool call.
pub(crate) fn described(id: &str, tool: &str, arguments: &Value, directory: &Path) -> ToolCall {
    let (kind, title) = kind_and_title(tool, arguments);
    let locations = locations(tool, arguments, directory);
    ToolCall {
        tool_call_id: id.to_owned(),
        title: Some(shortened(&display::line(&title), MAX_TITLE)),
        name: Some(tool.to_owned()),
        kind: Some(kind),
        locations: (!locations.is_empty()).then_some(locations),
        ..ToolCall::default()
    }
}

fn kind_and_title(tool: &str, arguments: &Value) -> (ToolKind, String) {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let of = |verb: &str, name: &str| {
        let value = text(name);
        if value.is_empty() { verb.to_owned() } else { format!("{verb} {value}") }
    };
    match tool {
        "read_file" => (ToolKind::Read, of("Read", "path")),
        "list_files" => (ToolKind::Read, of("List", "path")),
        "recall" => (ToolKind::Read, of("Recall", "id")),
        "write_file" => (ToolKind::Edit, of("Write", "path")),
        "edit_file" | "multi_edit" => (ToolKind::Edit, of("Edit", "path")),
        "apply_patch" => (ToolKind::Edit, format!("Edit {}", patched(text("patch")).join(", "))),
        "search" => (ToolKind::Search, of("Search", "pattern")),
        "glob" => (ToolKind::Search, of("Find", "pattern")),
        "repo_map" => (ToolKind::Search, "Map the repository".to_owned()),
        "bash" => (ToolKind::Execute, of("Run", "command")),
        "bash_output" | "bash_input" | "bash_stop" => (ToolKind::Execute, tool.replace('_', " ")),
        "fetch" => (ToolKind::Fetch, of("Fetch", "url")),
        "todo" => (ToolKind::Think, "Update the task list".to_owned()),
        "ask_user" => (ToolKind::Other, of("Ask", "question")),
        _ => match tool.strip_prefix("mcp__").and_then(|name| name.split_once("__")) {
            Some((server, name)) => (ToolKind::Other, format!("{server}: {name}")),
            None => (ToolKind::Other, tool.to_owned()),
        },
    }
}

/// The files of a patch.
fn patched(text: &str) -> Vec<String> {
    let changes = patch::parse(text).unwrap_or_default();
    changes.iter().flat_map(patch::Change::paths).map(str::to_owned).collect()
}

fn locations(tool: &str, arguments: &Value, directory: &Path) -> Vec<Location> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let at = |path: &str, line| Location { path: directory.join(path).display().to_string(), line };
    match tool {
        "read_file" | "write_file" | "edit_file" | "multi_edit" => {
            let line = arguments.get("offset").and_then(Value::as_u64);
            let line = line.and_then(|line| u32::try_from(line).ok());
            text("path").map(|path| at(path, line)).into_iter().collect()
        }
        "apply_patch" => {
            let paths = text("patch").map(patched).unwrap_or_default();
            paths.iter().map(|path| at(path, None)).collect()
        }
        _ => Vec::new(),
    }
}

/// The end of a tool call: its diffs, or else its text and images.
pub(crate) fn finished(
    id: &str,
    result: &[Content],
    details: &Value,
    is_error: bool,
    directory: &Path,
) -> ToolCall {
    let changed = changed_files(details, directory);
    let has_diffs = !changed.is_empty() && !is_error;
    let (content, locations): (Vec<_>, Vec<_>) = changed.into_iter().unzip();
    let raw_output = (!has_diffs && !details.is_null()).then(|| details.clone());
    ToolCall {
        tool_call_id: id.to_owned(),
        status: Some(if is_error { ToolStatus::Failed } else { ToolStatus::Completed }),
        content: Some(if has_diffs { content } else { shown(result) }),
        locations: has_diffs.then_some(locations),
        raw_output,
        ..ToolCall::default()
    }
}

/// The changes that the details of a result name: one file, or a list of them.
fn changed_files(details: &Value, directory: &Path) -> Vec<(ToolContent, Location)> {
    let files = match details.get("files") {
        Some(Value::Array(files)) => files.iter().collect(),
        _ => vec![details],
    };
    let diffs = files.into_iter().filter_map(|file| file.get("diff").and_then(Value::as_str));
    diffs.flat_map(|text| diff::changes(text, directory)).collect()
}

/// What a tool returned, for reading.
pub(crate) fn shown(content: &[Content]) -> Vec<ToolContent> {
    let show = |block: &Content| match block {
        Content::Text { text } if text.trim().is_empty() => None,
        Content::Text { text } => Some(ContentBlock::text(code_block("", &display::output(text)))),
        Content::Image { data, mime_type } => {
            Some(ContentBlock::Image { data: data.clone(), mime_type: mime_type.clone() })
        }
        _ => None,
    };
    content.iter().filter_map(show).map(|content| ToolContent::Content { content }).collect()
}

/// A paragraph in the content of a tool call.
pub(crate) fn paragraph(text: &str) -> ToolContent {
    ToolContent::Content { content: ContentBlock::text(display::block(text)) }
}

/// A Markdown code block that the text cannot end. `language` may be empty.
pub(crate) fn code_block(language: &str, text: &str) -> String {
    let text = cut(text.trim_end_matches('\n'));
    let mut longest = 0;
    for line in text.lines() {
        let line = line.trim_start();
        longest = longest.max(line.len() - line.trim_start_matches('`').len());
    }
    let fence = "`".repeat((longest + 1).max(3));
    format!("{fence}{language}\n{text}\n{fence}")
}

fn cut(text: &str) -> std::borrow::Cow<'_, str> {
    if text.len() <= MAX_TEXT {
        return text.into();
    }
    let end = text.floor_char_boundary(MAX_TEXT);
    let rest = text.len() - end;
    format!("{}\n[… {rest} more bytes]", text.get(..end).unwrap_or_default()).into()
}

fn shortened(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

#[cfg(test)]
#[path = "tool_call_tests.rs"]
mod tests;
