//! Suggests the known word that a misspelled word probably means.
//!
//! The comparison ignores case and separators and then counts edits; two swapped neighbours are one edit. A word
//! without a close match gets no suggestion.

use strsim::osa_distance;

/// Returns the known word that is closest to `written`, if it is close enough to be a typing error.
///
/// ```
/// use lariat_core::nearest::nearest;
///
/// assert_eq!(nearest("Old-String", ["old_string", "new_string"]), Some("old_string"));
/// assert_eq!(nearest("colour", ["path", "limit"]), None);
/// ```
pub fn nearest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest_within(written, known, plain(written).chars().count().div_ceil(3))
}

/// Returns the known word that is closest to `written` and at most `allowed` edits away. Of two equally close
/// words, the one with the same letters in another order wins, then the one of the same length.
///
/// ```
/// use lariat_core::nearest::nearest_within;
///
/// assert_eq!(nearest_within("modle", ["mode", "model"], 1), Some("model"));
/// assert_eq!(nearest_within("test", ["trust"], 1), None);
/// ```
pub fn nearest_within<'a>(
    written: &str,
    known: impl IntoIterator<Item = &'a str>,
    allowed: usize,
) -> Option<&'a str> {
    let written = plain(written);
    let rank = |known: &'a str| {
        let plain = plain(known);
        let length = plain.chars().count().abs_diff(written.chars().count());
        (osa_distance(&written, &plain), letters(&written) != letters(&plain), length, known)
    };
    let near = known.into_iter().map(rank).filter(|(distance, ..)| *distance <= allowed).min();
    near.map(|(.., known)| known)
}

fn plain(text: &str) -> String {
    text.to_lowercase().replace(['_', '-', ' '], "")
}

fn letters(text: &str) -> Vec<char> {
    let mut letters: Vec<char> = text.chars().collect();
    letters.sort_unstable();
    letters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swapped_letters_are_one_edit_and_beat_a_missing_letter() {
        assert_eq!(nearest("modle", ["mode", "model", "undo.enabled"]), Some("model"));
        assert_eq!(nearest("sesions", ["sessions", "permissions"]), Some("sessions"));
        assert_eq!(nearest_within("rnu", ["run", "man"], 1), Some("run"));
        assert_eq!(nearest_within("ab", ["ba"], 1), Some("ba"));
        assert_eq!(nearest_within("kitten", ["sitting"], 2), None);
    }
}
