//! Formats a conversation as data for the model that summarises it.
//!
//! Marks who wrote each message, shortens long outputs to their beginning and end, and escapes text that
//! could close the `<conversation>` block.

use lariat_core::context::recalled_text;
use lariat_core::message::{Message, SharedMessage};

/// Maximum bytes of a message and of a tool result.
const MOST_BYTES: usize = 8_000;
const MOST_OUTPUT_BYTES: usize = 1_500;

/// A message formatted as data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Excerpt {
    pub(super) text: String,
}

/// Formats a message; `None` if it is empty.
pub(super) fn of(message: &SharedMessage) -> Option<Excerpt> {
    let (who, most) = match message.as_llm()? {
        Message::User(_) => ("user".to_owned(), MOST_BYTES),
        Message::Assistant(_) => ("agent".to_owned(), MOST_BYTES),
        Message::ToolResult(result) => (format!("output of {}", result.tool_name), MOST_OUTPUT_BYTES),
    };
    let said = recalled_text(message);
    let said = said.trim();
    if said.is_empty() {
        return None;
    }
    let said = ends(said, most).replace("</conversation", "<\\/conversation");
    Some(Excerpt { text: format!("[{who}]\n{said}\n\n") })
}

/// Joins excerpts into chunks of at most `most` bytes; a longer excerpt is shortened to a chunk of its own.
pub(super) fn pieces(excerpts: &[Excerpt], most: usize) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    for excerpt in excerpts {
        let cut = ends(&excerpt.text, most);
        match pieces.last_mut().filter(|piece| piece.len() + cut.len() <= most) {
            Some(piece) => piece.push_str(&cut),
            None => pieces.push(cut),
        }
    }
    pieces
}

/// Shortens a text to its beginning and end if it is longer than `most` bytes.
fn ends(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(most * 2 / 3);
    let tail = text.ceil_char_boundary(text.len() - most / 3);
    let (begin, end) = (text.get(..head).unwrap_or_default(), text.get(tail..).unwrap_or_default());
    format!("{begin}\n[… {} bytes …]\n{end}", tail - head)
}
