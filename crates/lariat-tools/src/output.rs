//! Cuts the text of a result to a limit and says what is missing.
//!
//! Keeps the head and the tail, cut at character boundaries, and at line ends where one is near. A note says how much
//! was cut and how to get it.

/// Default limit for the text of one result, in bytes.
pub const LIMIT: usize = 32 * 1024;

/// Keeps the start and the end of a text that is longer than `limit` bytes. Between them, a note says how much is
/// missing and `how` to get it.
pub fn cut(text: &str, limit: usize, how: &str) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let head = head(text, limit / 2);
    let tail = tail(text, limit - limit / 2);
    // The newline at the end of the head is not missing.
    let missing = text.get(head.len()..text.len() - tail.len()).unwrap_or_default();
    let missing = missing.strip_prefix('\n').unwrap_or(missing);
    let (bytes, lines) = (missing.len(), missing.matches('\n').count());
    format!("{head}\n[… {bytes} bytes, {lines} lines cut here. {how}]\n{tail}")
}

/// The longest start of at most `limit` bytes; ends at a line end if one is in its last quarter.
fn head(text: &str, limit: usize) -> &str {
    let start = text.get(..text.floor_char_boundary(limit)).unwrap_or_default();
    match start.rfind('\n') {
        Some(end) if end >= limit - limit / 4 => start.get(..end).unwrap_or(start),
        _ => start,
    }
}

/// The longest end of at most `limit` bytes; begins at a line start if one is in its first quarter.
fn tail(text: &str, limit: usize) -> &str {
    let end = text.get(text.ceil_char_boundary(text.len().saturating_sub(limit))..).unwrap_or_default();
    match end.find('\n') {
        Some(start) if start <= limit / 4 => end.get(start + 1..).unwrap_or(end),
        _ => end,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_text_is_not_cut() {
        assert_eq!(cut("abc", 3, ""), "abc");
    }

    #[test]
    fn long_text_keeps_both_ends_and_notes_the_cut() {
        let text: String = (0..100).map(|line| format!("line {line}\n")).collect();
        let short = cut(&text, 100, "Request less.");
        assert!(short.starts_with("line 0\nline 1\n"), "{short}");
        assert!(short.ends_with("line 98\nline 99\n"), "{short}");
        assert!(short.contains("Request less.]"), "{short}");
        let kept: usize = short.lines().filter(|line| line.starts_with("line ")).count();
        assert!(short.contains(&format!("{} lines cut", 100 - kept)), "{short}");
    }

    #[test]
    fn never_cuts_inside_a_character() {
        let text = "ü".repeat(1000);
        for limit in 0..64 {
            let short = cut(&text, limit, "");
            assert!(short.chars().all(|char| char == 'ü' || char.is_ascii() || char == '…'), "{short}");
        }
    }
}
