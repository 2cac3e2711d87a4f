//! Shortens long text for a conversation.

/// Keeps the start and the end of a text that is longer than `most` bytes, and says how much is missing between them.
///
/// ```
/// assert_eq!(lariat_sessions::bounded_text("short", 10), "short");
/// assert_eq!(lariat_sessions::bounded_text("0123456789", 4), "01\n[… 6 bytes omitted …]\n89");
/// ```
pub fn bounded_text(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let start = text.floor_char_boundary(most / 2);
    let end = text.ceil_char_boundary(text.len() - most / 2);
    let part = |range| text.get(range).unwrap_or_default();
    format!("{}\n[… {} bytes omitted …]\n{}", part(0..start), end - start, part(end..text.len()))
}
