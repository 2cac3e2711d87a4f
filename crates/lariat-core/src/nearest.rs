//! Suggests the known word that a misspelled word probably means.
//!
//! The comparison ignores case and separators and then measures edits. A word without a close match gets no
//! suggestion.

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
        (distance(&written, &plain), letters(&written) != letters(&plain), length, known)
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

/// Counts the edits (insert, remove, replace, swap two neighbours) from one word to the other.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    // The row before the last one (for swaps), the last row, and the letter of the last row.
    let mut earlier: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=right.len()).collect();
    let mut previous = None;
    for (index, letter) in left.chars().enumerate() {
        let mut row = vec![index + 1];
        for (at, other) in right.iter().enumerate() {
            let cell = |row: &[usize], at: usize| row.get(at).copied().unwrap_or(usize::MAX / 2);
            let replaced = cell(&last, at) + usize::from(letter != *other);
            let mut best = replaced.min(cell(&last, at + 1) + 1).min(cell(&row, at) + 1);
            let swapped = at
                .checked_sub(1)
                .filter(|before| right.get(*before) == Some(&letter) && previous == Some(*other));
            if let Some(before) = swapped {
                best = best.min(cell(&earlier, before) + 1);
            }
            row.push(best);
        }
        earlier = std::mem::replace(&mut last, row);
        previous = Some(letter);
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swapped_letters_are_one_edit_and_beat_a_missing_letter() {
        assert_eq!(nearest("modle", ["mode", "model", "undo.enabled"]), Some("model"));
        assert_eq!(nearest("sesions", ["sessions", "permissions"]), Some("sessions"));
        assert_eq!(nearest_within("rnu", ["run", "man"], 1), Some("run"));
        assert_eq!(distance("ab", "ba"), 1);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
