//! A conversation as data for the model that summarises it.
//!
//! Owns its form: who said what, long outputs by their beginning and end, and nothing that could close the place where
//! the data stands.

use lariat_core::context::recalled_text;
use lariat_core::message::{Message, SharedMessage};

/// Bytes of a message and of a tool's output that are shown.
const MOST_BYTES: usize = 8_000;
const MOST_OUTPUT_BYTES: usize = 1_500;

/// A message as data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Excerpt {
    pub(super) text: String,
}

/// A message as data; `None` where there is nothing to tell.
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

/// The excerpts in pieces of at most so many bytes; one that is longer is a piece of its own.
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

/// A text by its beginning and its end, where it is too long.
fn ends(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(most * 2 / 3);
    let tail = text.ceil_char_boundary(text.len() - most / 3);
    let (begin, end) = (text.get(..head).unwrap_or_default(), text.get(tail..).unwrap_or_default());
    format!("{begin}\n[… {} bytes …]\n{end}", tail - head)
}
