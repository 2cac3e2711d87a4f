//! A text file that a tool edits: opened once, changed in memory, and written back in its own encoding.
//!
//! A file that changed after the agent read it is not touched. A file that the agent never read may be edited, because
//! the text to replace must match, but not overwritten.

use std::ops::Range;

use lariat_core::tool::{ToolError, ToolResult};
use lariat_host::files::text::Text;
use lariat_host::files::{FileContent, FileError, FileVersion, ReadState, Stamp, WriteCondition};
use serde_json::{Value, json};

use crate::Workbench;
use crate::diff::unified;
use crate::file_error::failed;

/// Maximum size of a file that can be edited, in bytes.
pub(crate) const EDIT_LIMIT: u64 = 16 * 1024 * 1024;

/// A text file and its state when it was opened.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) path: String,
    pub(crate) text: Text,
    pub(crate) known: FileVersion,
}

impl Document {
    /// Opens a file for editing.
    pub(crate) fn open(bench: &Workbench, path: &str) -> Result<Self, ToolError> {
        let FileContent { bytes, stamp } = bench.workspace().read(path, EDIT_LIMIT).map_err(failed)?;
        if let Some(text) = bench.unsaved(path) {
            return Self::unsaved(bench, path, text, stamp);
        }
        let known = FileVersion::of(stamp, &bytes);
        if let ReadState::Touched(before) = bench.memory().read_state(path, &stamp)
            && before.hash != known.hash
        {
            return Err(failed(FileError::Changed(path.to_owned())));
        }
        let size = bytes.len() as u64;
        let text = Text::from_bytes(bytes)
            .ok_or_else(|| failed(FileError::Binary { path: path.to_owned(), size }))?;
        Ok(Self { path: path.to_owned(), text, known })
    }

    /// The text that the editor shows. It can be compared, but not saved: no file on disk has this version.
    fn unsaved(bench: &Workbench, path: &str, text: &Text, stamp: Stamp) -> Result<Self, ToolError> {
        let known = FileVersion::unsaved(stamp, &encode(path, text)?);
        match bench.memory().read_state(path, &stamp) {
            ReadState::Unchanged(before) | ReadState::Touched(before) if before.hash != known.hash => {
                Err(failed(FileError::Changed(path.to_owned())))
            }
            _ => Ok(Self { path: path.to_owned(), text: text.clone(), known }),
        }
    }

    /// Encodes a changed version.
    pub(crate) fn encode(&self, text: &Text) -> Result<Vec<u8>, ToolError> {
        encode(&self.path, text)
    }

    /// The diff between the file and a changed version.
    pub(crate) fn difference(&self, text: &Text) -> String {
        unified(&self.path, self.text.as_str(), text.as_str())
    }

    /// Writes a changed version back. Returns the details for the result.
    pub(crate) fn save(self, bench: &Workbench, text: &Text) -> Result<Value, ToolError> {
        let bytes = self.encode(text)?;
        let expected = WriteCondition::Unchanged(self.known.clone());
        let written = bench.workspace().write(&self.path, &bytes, &expected).map_err(failed)?;
        bench.memory().remember(&self.path, written.known.clone());
        let before = Some((&self.text, &self.known));
        Ok(details(&self.path, MODIFIED, before, Some((text, &written.known))))
    }
}

/// Encodes a text in its own encoding.
pub(crate) fn encode(path: &str, text: &Text) -> Result<Vec<u8>, ToolError> {
    text.encode().map_err(|character| {
        let (path, encoding) = (path.to_owned(), text.encoding().name());
        failed(FileError::Unencodable { path, encoding, character })
    })
}

/// The value of `change` in a result's details for a new file.
pub(crate) const ADDED: &str = "added";
/// For a file with new content.
pub(crate) const MODIFIED: &str = "modified";
/// For a file that was removed.
pub(crate) const DELETED: &str = "deleted";

/// The details of a change, for front ends. `change` is null if the content did not change.
pub(crate) fn details(
    path: &str,
    change: &str,
    before: Option<(&Text, &FileVersion)>,
    after: Option<(&Text, &FileVersion)>,
) -> Value {
    let old = before.map_or("", |(text, _)| text.as_str());
    let new = after.map_or("", |(text, _)| text.as_str());
    let hash = |side: Option<(&Text, &FileVersion)>| {
        side.and_then(|(_, known)| known.hash).map(|hash| hash.to_hex().to_string())
    };
    let same = hash(before).is_some() && hash(before) == hash(after);
    json!({
        "path": path,
        "change": (!same).then_some(change),
        "bytes": after.map_or(0, |(_, known)| known.stamp.size()),
        "hash_before": hash(before),
        "hash_after": hash(after),
        "diff": unified(path, old, new),
    })
}

/// Formats lines with their numbers, as `cat -n` does.
pub(crate) fn numbered(lines: impl Iterator<Item = impl AsRef<str>>, first: usize) -> String {
    use std::fmt::Write as _;

    let mut shown = String::new();
    for (index, line) in lines.enumerate() {
        let _ = writeln!(shown, "{:>6}\t{}", first + index, line.as_ref());
    }
    shown
}

/// Formats the changed places of a text with three lines around each.
pub(crate) fn surroundings(text: &str, changed: &[Range<usize>]) -> String {
    const AROUND: usize = 3;
    const MAX_PLACES: usize = 3;
    const MAX_LINES: usize = 60;

    let line_of = |at: usize| text.get(..at).unwrap_or(text).matches('\n').count();
    let mut shown = String::new();
    let mut done = 0;
    for range in changed.iter().take(MAX_PLACES) {
        let first = line_of(range.start).saturating_sub(AROUND).max(done);
        let last = (line_of(range.end) + AROUND + 1).min(first + MAX_LINES);
        if last <= done {
            continue;
        }
        if !shown.is_empty() && first > done {
            shown.push_str("   ...\n");
        }
        shown.push_str(&numbered(text.lines().skip(first).take(last - first).map(shorten), first + 1));
        done = last;
    }
    shown
}

/// Maximum number of characters of a line to show.
pub(crate) const LINE_LIMIT: usize = 2_000;

/// Cuts a line at the limit and notes how much is missing.
pub(crate) fn shorten(line: &str) -> String {
    match line.char_indices().nth(LINE_LIMIT) {
        None => line.to_owned(),
        Some((end, _)) => {
            let rest = line.get(end..).unwrap_or_default().chars().count();
            format!("{}[… {rest} more characters]", line.get(..end).unwrap_or_default())
        }
    }
}

/// Creates a result with a text for the model and details for front ends.
pub(crate) fn result(text: String, details: Value) -> Result<ToolResult, ToolError> {
    Ok(ToolResult::text(text).with_details(details))
}

/// "1 line", "2 lines".
pub(crate) fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
