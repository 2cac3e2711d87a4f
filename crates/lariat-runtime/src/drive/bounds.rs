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
    most: usize,
    recalls: bool,
    journal: &Journal,
) {
    match outcome {
        Ok(result) => {
            bound_rest(result);
            if text_bytes(&result.content) > most {
                let whole = joined_text(&result.content);
                let kept = keep(&whole, recalls, journal).await;
                show(result, &shortened(&whole, most, &kept));
            }
        }
        Err(
            ToolError::Failed(why)
            | ToolError::NotFound(why)
            | ToolError::InvalidArgs(why)
            | ToolError::Interrupted(why),
        ) if why.len() > most => {
            let kept = keep(why, recalls, journal).await;
            *why = shortened(why, most, &kept);
        }
        Err(_) => {}
    }
}

/// Shortens a partial result. Only observers see it, so the whole text is not stored.
pub(super) fn partial(result: &mut ToolResult, most: usize) {
    bound_rest(result);
    if text_bytes(&result.content) > most {
        let whole = joined_text(&result.content);
        show(result, &shortened(&whole, most, ""));
    }
}

/// Shortens a line of progress.
pub(super) fn progress(text: &mut String, most: usize) {
    text.truncate(text.floor_char_boundary(most));
}

fn text_bytes(content: &[Content]) -> usize {
    content.iter().filter_map(Content::as_text).map(str::len).sum()
}

/// Replaces all text blocks with one, at the position of the first.
fn show(result: &mut ToolResult, text: &str) {
    let mut shown = false;
    result.content.retain_mut(|block| match block {
        Content::Text { text: old } if !std::mem::replace(&mut shown, true) => {
            text.clone_into(old);
            true
        }
        Content::Text { .. } => false,
        _ => true,
    });
}

/// Stores the whole text. Returns the sentence for the note.
async fn keep(whole: &str, recalls: bool, journal: &Journal) -> String {
    match journal.keep(whole.as_bytes()).await {
        Ok(address) if recalls => format!(" Read the full text with `recall`, id `{}`.", address.0),
        Ok(address) => format!(" The full text is stored as `{}`.", address.0),
        Err(_) => " The rest could not be stored.".to_owned(),
    }
}

/// Returns the beginning and the end of a text, in whole lines if they are short, with a note between them.
fn shortened(whole: &str, most: usize, kept: &str) -> String {
    let room = most.saturating_sub(NOTE_BYTES);
    let head = whole.get(..whole.floor_char_boundary(room / 4 * 3)).unwrap_or_default();
    let tail =
        whole.get(whole.ceil_char_boundary(whole.len().saturating_sub(room / 4))..).unwrap_or_default();
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
    let gone = whole.len().saturating_sub(head.len() + tail.len());
    format!("{head}\n[{gone} of {} bytes left out here.{kept}]\n{tail}", whole.len())
}

/// Limits everything that is not text: images, blocks of unknown kinds, and metadata.
fn bound_rest(result: &mut ToolResult) {
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
    struct Counted(usize);
    impl std::io::Write for Counted {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut counted = Counted(0);
    match serde_json::to_writer(&mut counted, value) {
        Ok(()) => counted.0,
        Err(_) => usize::MAX,
    }
}

#[cfg(test)]
#[path = "bounds_tests.rs"]
mod tests;
