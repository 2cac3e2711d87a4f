//! Formats a conversation as data for a model that summarises or judges it.
//!
//! Marks who wrote each message, shortens long outputs to their beginning and end, and escapes text that
//! could close the `<conversation>` block.

use lariat_core::context::recalled_text;
use lariat_core::message::{Message, SharedMessage};

/// Maximum bytes of a message and of a tool result.
const MAX_BYTES: usize = 8_000;
const MAX_OUTPUT_BYTES: usize = 1_500;

/// A message formatted as data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Excerpt {
    pub(crate) text: String,
}

/// Formats a message; `None` if it is empty.
pub(crate) fn of(message: &SharedMessage) -> Option<Excerpt> {
    let (author, max_bytes) = match message.as_llm()? {
        Message::User(_) => ("user".to_owned(), MAX_BYTES),
        Message::Assistant(_) => ("agent".to_owned(), MAX_BYTES),
        Message::ToolResult(result) => (format!("output of {}", result.tool_name), MAX_OUTPUT_BYTES),
    };
    let text = recalled_text(message);
    let text = text.trim();
    if text.is_empty() {
        return None;
    }
    let text = shorten(text, max_bytes).replace("</conversation", "<\\/conversation");
    Some(Excerpt { text: format!("[{author}]\n{text}\n\n") })
}

/// Joins excerpts into chunks of at most `max_bytes`; a longer excerpt is shortened to a chunk of its own.
pub(crate) fn chunks(excerpts: &[Excerpt], max_bytes: usize) -> Vec<String> {
    let mut chunks: Vec<String> = Vec::new();
    for excerpt in excerpts {
        let cut = shorten(&excerpt.text, max_bytes);
        match chunks.last_mut().filter(|chunk| chunk.len() + cut.len() <= max_bytes) {
            Some(chunk) => chunk.push_str(&cut),
            None => chunks.push(cut),
        }
    }
    chunks
}

/// Shortens a text to its beginning and end if it is longer than `max_bytes` bytes.
pub(crate) fn shorten(text: &str, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(max_bytes * 2 / 3);
    let tail = text.ceil_char_boundary(text.len() - max_bytes / 3);
    let (begin, end) = (text.get(..head).unwrap_or_default(), text.get(tail..).unwrap_or_default());
    format!("{begin}\n[… {} bytes …]\n{end}", tail - head)
}
