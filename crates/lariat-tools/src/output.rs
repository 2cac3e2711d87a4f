//! Text with a bound: what a tool gives back never grows past its limit, and says what is missing.
//!
//! Owns cutting (head and tail kept, at character boundaries, at line ends where one is near) and the line that says
//! how much was cut and how to get it.

/// Bytes of text that one call gives back to the model, unless the tool has its own bound.
pub const LIMIT: usize = 32 * 1024;

/// Keeps the start and the end of a text that is longer than `limit` bytes; between them a line says how much is
/// missing and `how` to get it.
pub fn cut(text: &str, limit: usize, how: &str) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let head = head(text, limit / 2);
    let tail = tail(text, limit - limit / 2);
    // The line end that closes the head is not missing.
    let missing = text.get(head.len()..text.len() - tail.len()).unwrap_or_default();
    let missing = missing.strip_prefix('\n').unwrap_or(missing);
    let (bytes, lines) = (missing.len(), missing.matches('\n').count());
    format!("{head}\n[… {bytes} bytes, {lines} lines cut here. {how}]\n{tail}")
}

/// The longest start of at most `limit` bytes, up to a line end when one is in its last quarter.
fn head(text: &str, limit: usize) -> &str {
    let start = text.get(..text.floor_char_boundary(limit)).unwrap_or_default();
    match start.rfind('\n') {
        Some(end) if end >= limit - limit / 4 => start.get(..end).unwrap_or(start),
        _ => start,
    }
}

/// The longest end of at most `limit` bytes, from a line start when one is in its first quarter.
fn tail(text: &str, limit: usize) -> &str {
    let end = text.get(text.ceil_char_boundary(text.len().saturating_sub(limit))..).unwrap_or_default();
    match end.find('\n') {
        Some(start) if start <= limit / 4 => end.get(start + 1..).unwrap_or(end),
        _ => end,
    }
}

#[cfg(test)]
#[path = "output_tests.rs"]
mod tests;
