//! Limits how much of a tool's output reaches the journal and the model.
//!
//! Keeps the beginning and the end of a long text, stores the whole text beside the journal, and inserts a
//! note with the id for `recall`. Does not touch the output of tools that limit it themselves. Invariant: the
//! result has at most the given number of bytes of text.

use lariat_core::content::{Content, joined_text};
use lariat_core::tool::{ToolError, ToolResult};
use serde_json::{Value, json};

use super::journal::Journal;

/// Default limit on the text of a tool result that the model receives, in bytes: about 32,000 tokens.
pub const MAX_TOOL_OUTPUT: usize = 128 * 1024;

/// Space for the note between the beginning and the end, in bytes.
const NOTE_BYTES: usize = 512;

/// Maximum size of an image in base64, in bytes: enough for the largest file that the built-in tools show, 20
/// MiB.
const IMAGE_BYTES: usize = 28 * 1024 * 1024;

/// Maximum size of a result's metadata, as JSON, in bytes.
const DETAILS_BYTES: usize = 1024 * 1024;

/// Shortens a tool result, and stores the whole text.
pub(super) async fn outcome(
    outcome: &mut Result<ToolResult, ToolError>,
    max_bytes: usize,
    recalls: bool,
    journal: &Journal,
) {
    match outcome {
        Ok(result) => {
            limit_other_content(result);
            if text_bytes(&result.content) > max_bytes {
                let full = joined_text(&result.content);
                let note = store_full_text(&full, recalls, journal).await;
                replace_text(result, &shorten(&full, max_bytes, &note));
            }
        }
        Err(
            ToolError::Failed(why)
            | ToolError::NotFound(why)
            | ToolError::InvalidArgs(why)
            | ToolError::Interrupted(why),
        ) if why.len() > max_bytes => {
            let note = store_full_text(why, recalls, journal).await;
            *why = shorten(why, max_bytes, &note);
        }
        Err(_) => {}
    }
}

/// Shortens a partial result. Only observers see it, so the whole text is not stored.
pub(super) fn partial(result: &mut ToolResult, max_bytes: usize) {
    limit_other_content(result);
    if text_bytes(&result.content) > max_bytes {
        let full = joined_text(&result.content);
        replace_text(result, &shorten(&full, max_bytes, ""));
    }
}

/// Shortens a line of progress.
pub(super) fn progress(text: &mut String, max_bytes: usize) {
    text.truncate(text.floor_char_boundary(max_bytes));
}

fn text_bytes(content: &[Content]) -> usize {
    content.iter().filter_map(Content::as_text).map(str::len).sum()
}

/// Replaces all text blocks with one, at the position of the first.
fn replace_text(result: &mut ToolResult, text: &str) {
    let mut replaced = false;
    result.content.retain_mut(|block| match block {
        Content::Text { text: old } if !std::mem::replace(&mut replaced, true) => {
            text.clone_into(old);
            true
        }
        Content::Text { .. } => false,
        _ => true,
    });
}

/// Stores the whole text. Returns the sentence for the note.
async fn store_full_text(full: &str, recalls: bool, journal: &Journal) -> String {
    match journal.store_blob(full.as_bytes()).await {
        Ok(address) if recalls => format!(" Read the full text with `recall`, id `{}`.", address.0),
        Ok(address) => format!(" The full text is stored as `{}`.", address.0),
        Err(_) => " The rest could not be stored.".to_owned(),
    }
}

/// Returns the beginning and the end of a text, in whole lines if they are short, with a note between them.
fn shorten(full: &str, max_bytes: usize, note: &str) -> String {
    let room = max_bytes.saturating_sub(NOTE_BYTES);
    let head = full.get(..full.floor_char_boundary(room / 4 * 3)).unwrap_or_default();
    let tail = full.get(full.ceil_char_boundary(full.len().saturating_sub(room / 4))..).unwrap_or_default();
    // A line that is longer than half of the part is split.
    let head = head
        .rsplit_once('\n')
        .map(|(lines, _)| lines)
        .filter(|lines| lines.len() * 2 > head.len())
        .unwrap_or(head);
    let tail = tail
        .split_once('\n')
        .map(|(_, lines)| lines)
        .filter(|lines| lines.len() * 2 > tail.len())
        .unwrap_or(tail);
    let omitted = full.len().saturating_sub(head.len() + tail.len());
    format!("{head}\n[{omitted} of {} bytes left out here.{note}]\n{tail}", full.len())
}

/// Limits everything that is not text: images, blocks of unknown kinds, and metadata.
fn limit_other_content(result: &mut ToolResult) {
    for block in &mut result.content {
        let bytes = match &*block {
            Content::Image { data, .. } if data.len() > IMAGE_BYTES => data.len(),
            Content::Unknown(map) => match json_bytes(&Value::Object(map.clone())) {
                bytes if bytes > IMAGE_BYTES => bytes,
                _ => continue,
            },
            _ => continue,
        };
        *block = Content::text(format!("[A block of {bytes} bytes was left out because it is too large.]"));
    }
    if !result.details.is_null() {
        let bytes = json_bytes(&result.details);
        if bytes > DETAILS_BYTES {
            result.details = json!({"left_out_bytes": bytes});
        }
    }
}

fn json_bytes(value: &Value) -> usize {
    struct ByteCounter(usize);
    impl std::io::Write for ByteCounter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut counter = ByteCounter(0);
    match serde_json::to_writer(&mut counter, value) {
        Ok(()) => counter.0,
        Err(_) => usize::MAX,
    }
}

#[cfg(test)]
#[path = "output_limit_tests.rs"]
mod tests;
